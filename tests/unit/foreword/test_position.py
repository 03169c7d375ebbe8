"""Positions and cursors: opaque, and only good for the memory and the read they come from."""

import base64
import struct

import pytest
from hypothesis import given
from hypothesis import strategies as st

from foreword.errors import ValidationError
from foreword.position import Cursor, read_cursor, read_position, write_cursor, write_position
from foreword.scope import Scope

SCOPES = st.builds(Scope, st.integers(1, 2**31 - 1), st.text(max_size=20))
NUMBERS = st.integers(0, 2**63 - 1)
SCOPE = Scope(1, "a")


@given(SCOPES, NUMBERS, NUMBERS, st.text(max_size=10))
def test_a_token_says_what_it_was_given(scope: Scope, one: int, two: int, filters: str) -> None:
    """Both tokens are read back in their own scope, and hold nothing a URL would have to escape."""
    position, cursor = write_position(scope, one), write_cursor(scope, filters, Cursor(one, two))
    assert read_position(scope, position) == one
    assert read_cursor(scope, filters, cursor) == Cursor(one, two)
    assert (position + cursor).replace("-", "").replace("_", "").isalnum()


@given(SCOPES, SCOPES, NUMBERS)
def test_a_token_is_good_in_its_scope_alone(scope: Scope, other: Scope, number: int) -> None:
    """Another scope, or a read with other filters, refuses the token by its option's name."""
    if scope == other:
        return
    with pytest.raises(ValidationError) as caught:
        read_position(other, write_position(scope, number))
    assert caught.value.fields[0].field == "after"
    with pytest.raises(ValidationError) as caught:
        read_cursor(other, "", write_cursor(scope, "", Cursor(number, 0)))
    assert caught.value.fields[0].field == "cursor"
    with pytest.raises(ValidationError):
        read_cursor(scope, "f", write_cursor(scope, "", Cursor(number, 0)))


@given(st.text())
def test_any_text_is_a_token_or_refused(text: str) -> None:
    """No text at all raises anything but a refusal."""
    for read in (lambda: read_position(SCOPE, text), lambda: read_cursor(SCOPE, "", text)):
        with pytest.raises(ValidationError):
            read()


@pytest.mark.parametrize("number", [2**63, 2**64 - 1])
def test_a_number_the_ledger_cannot_hold_is_refused(number: int) -> None:
    """A token made by hand, with the right tag and a number beyond the ledger's, is refused."""
    tag = base64.urlsafe_b64decode(write_position(SCOPE, 1) + "==")[8:]
    forged = base64.urlsafe_b64encode(struct.pack(">Q", number) + tag).decode().rstrip("=")
    with pytest.raises(ValidationError):
        read_position(SCOPE, forged)
