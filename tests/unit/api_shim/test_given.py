"""The query of a request: read byte by byte, refused all at once."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from api_shim.given import Given, query_pairs
from foreword.budget import MAX_BUDGET
from foreword.errors import Field, ValidationError
from foreword.scope import is_readable_ref

KNOWN = ("a", "b", "memoryRef")


def refused(found: Given) -> dict[str, str]:
    """What ``close`` refuses."""
    with pytest.raises(ValidationError) as caught:
        found.close()
    return {field.field: field.reason for field in caught.value.fields}


@given(st.lists(st.tuples(st.text(min_size=1), st.text())))
def test_a_query_is_read_as_it_was_written(pairs: list[tuple[str, str]]) -> None:
    """Names and values, of any text and in any number, come back as they were encoded."""
    from urllib.parse import urlencode

    assert query_pairs(urlencode(pairs).encode()) == pairs


@given(st.binary())
def test_any_bytes_are_a_query(raw: bytes) -> None:
    """No bytes at all make reading a query fail."""
    for name, value in query_pairs(raw):
        Given([(name, value)], KNOWN)


@pytest.mark.parametrize("raw", [b"%ff", b"\xff", b"%ed%a0%80", b"%c3%28", b"\xc3%28", b"a%80"])
def test_what_is_not_utf8_passes_no_check(raw: bytes) -> None:
    """Bytes that are not UTF-8 are no text, no choice, no number, and no readable ref."""
    found = Given(query_pairs(b"a=" + raw + b"&memoryRef=" + raw), KNOWN)
    assert not is_readable_ref(found.memory_ref())
    found.text("a", 100)
    found.choice("a", ("x",), None)
    found.integer("a", least=0)
    found.number("a", least=0, most=1)
    assert [field.field for field in found.bad] == ["a"] * 4


def test_what_is_unknown_or_repeated_is_refused() -> None:
    """An unknown name is told only when it cannot be a value in the wrong place."""
    found = Given([("a", "1"), ("a", "2"), ("other", ""), ("sk-123", ""), ("é", ""), ("x" * 33, "")], KNOWN)
    assert refused(found) == {
        "a": "is given more than once",
        "other": "is not an option of this call",
        "(unnamed)": "is not an option of this call",
    }
    assert found.values == {"a": "1"}


@pytest.mark.parametrize("text", ["0", "1", "7", str(MAX_BUDGET)])
def test_whole_numbers(text: str) -> None:
    """Plain digits up to 2^53 - 1 are an integer."""
    found = Given([("a", text)], KNOWN)
    assert found.integer("a", least=0) == int(text)
    found.close()


@pytest.mark.parametrize(
    "text", ["", "-0", "+1", "01", "1.0", "1e0", " 1", "1\n", "٣", "1_0", "0x1", str(MAX_BUDGET + 1)]
)
def test_what_is_no_whole_number(text: str) -> None:
    """Anything else is refused, also what Python's int would take."""
    found = Given([("a", text)], KNOWN)
    assert found.integer("a", least=0) is None
    assert refused(found) == {"a": "must be an integer from 0 to 2^53 - 1"}


@given(st.floats(-1, 1))
def test_numbers_as_json_writes_them(number: float) -> None:
    """Every double in range is read as itself."""
    found = Given([("a", repr(number))], KNOWN)
    assert found.number("a", least=-1, most=1) == number
    found.close()


@pytest.mark.parametrize("text", ["", "nan", "inf", "1e999", "1.01", "0x1", ".5", "1.", "٠", "1" * 400, "1e"])
def test_what_is_no_number(text: str) -> None:
    """What JSON does not write, or what is out of range, is refused."""
    found = Given([("a", text)], KNOWN)
    assert found.number("a", least=-1, most=1) is None
    assert refused(found) == {"a": "must be a number from -1 to 1"}


def test_everything_is_refused_at_once() -> None:
    """``finish`` tells what its own check refuses together with all that was refused before."""

    def read() -> str:
        raise ValidationError([Field("body", "is bad")])

    found = Given([("a", "")], KNOWN)
    found.memory_ref()
    found.text("a", 1)
    assert found.take(read) is None
    with pytest.raises(ValidationError) as caught:
        found.finish(read)
    assert [field.field for field in caught.value.fields] == ["memoryRef", "a", "body"]
    with pytest.raises(ValidationError):
        found.finish(lambda: "good")
    assert Given([], KNOWN).finish(lambda: "good") == "good"
