"""Ids."""

import uuid

from foreword import instant
from foreword.ids import uuid7


def test_an_id_is_a_uuid_of_version_7_and_of_now() -> None:
    """An id has version 7, the RFC's variant and this millisecond in front."""
    before = instant.now_ms()
    made = uuid.UUID(uuid7())
    assert made.version == 7
    assert made.variant == uuid.RFC_4122
    assert before <= made.int >> 80 <= instant.now_ms()


def test_ids_differ() -> None:
    """Ten thousand ids made in a row are ten thousand ids."""
    assert len({uuid7() for _ in range(10_000)}) == 10_000
