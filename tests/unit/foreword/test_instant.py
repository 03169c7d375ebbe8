"""Instants: what the wire says is what was meant, to the millisecond."""

from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from foreword.instant import from_datetime, from_wire, to_datetime, to_wire

FIRST, LAST = "0001-01-02T00:00:00.000Z", "9999-12-30T23:59:59.999Z"


@given(st.integers(from_wire(FIRST), from_wire(LAST)))
def test_every_instant_survives_the_wire(ms: int) -> None:
    """An instant is told in 24 characters that sort as it does and read back as itself."""
    told = to_wire(ms)
    assert (len(told), from_wire(told), from_datetime(to_datetime(ms))) == (24, ms, ms)
    assert FIRST <= told <= LAST


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("2026-11-30T08:15:00Z", "2026-11-30T08:15:00.000Z"),
        ("2026-11-30T08:15:00.1239999Z", "2026-11-30T08:15:00.123Z"),
        ("2026-11-30T00:15:00.5+01:00", "2026-11-29T23:15:00.500Z"),
        ("2024-02-29T23:59:59.999999999-23:59", "2024-03-01T23:58:59.999Z"),
        ("1969-12-31T23:59:59.9999Z", "1969-12-31T23:59:59.999Z"),
    ],
)
def test_zones_and_fractions(text: str, told: str) -> None:
    """Any zone is read; what is finer than a millisecond is cut."""
    assert to_wire(from_wire(text)) == told


@pytest.mark.parametrize(
    "text",
    [
        *("", "now", "2026-11-30", "2026-11-30T08:15Z", "2026-11-30T08:15:00", "2026-11-30 08:15:00Z"),
        *("2026-11-30T08:15:00z", "2026-02-30T08:15:00Z", "2026-11-30T24:00:00Z", "2026-11-30T08:15:60Z"),
        *("2026-11-30T08:15:00+24:00", "2026-11-30T08:15:00.Z", "٢٠٢٦-11-30T08:15:00Z", "20261130T081500Z"),
        *(
            "0001-01-01T23:59:59.999Z",
            "9999-12-31T00:00:00Z",
            "0001-01-01T00:00:00+14:00",
            " 2026-11-30T08:15:00Z",
        ),
    ],
)
def test_what_is_no_instant(text: str) -> None:
    """Anything but a full RFC 3339 instant with a zone, in years every zone has, is refused."""
    with pytest.raises(ValueError):  # noqa: PT011 - several reasons, one kind
        from_wire(text)


def test_rounding_is_down() -> None:
    """Microseconds are cut, before the epoch too."""
    assert from_datetime(datetime(1969, 12, 31, 23, 59, 59, 999_999, tzinfo=UTC)) == -1
