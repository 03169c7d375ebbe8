"""JSON Lines from chunks."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from foreword.client.lines import Lines
from foreword.errors import ServerError

_TEXT = st.text(st.characters(exclude_categories=["Cs"])) | st.sampled_from(
    ["\u2028", "a\x85b", "\x0b\x0c\x1c"]
)


@given(st.lists(st.fixed_dictionaries({"content": _TEXT})), st.integers(1, 7), st.booleans())
def test_any_chunking_gives_every_line_once(items: list[dict[str, str]], size: int, ends: bool) -> None:
    """Objects come out whole and in order, whatever the chunks and the line-like characters in them."""
    body = b"\n".join(json.dumps(item, ensure_ascii=False).encode() for item in items)
    body += b"\n" if ends else b""
    lines = Lines(ServerError)
    found = [item for at in range(0, len(body), size) for item in lines.feed(body[at : at + size])]
    assert found + lines.finish() == items


@pytest.mark.parametrize("line", [b"{", b"[]", b'"text"', b"\xff"])
def test_a_line_that_is_no_object_is_named(line: bytes) -> None:
    """What is not a JSON object is refused with the number of its line and none of its text."""
    with pytest.raises(ServerError, match=r"^Line 2 is not") as refused:
        Lines(ServerError).feed(b"{}\n" + line + b"\n")
    assert "text" not in refused.value.message
