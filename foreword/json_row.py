r"""JSON rows: an entry as one line of a JSON array.

A block of them is one JSON document. Each row is an element on a line of its own that brings its comma along:
what comes before is a frame that opens the array with an element of its own, and what comes after closes it.
So a row starts with ``,{"``, ends with ``}`` and its only line break, and costs the same wherever it stands:
in the BPE counters no token spans two rows (see :mod:`foreword.render`).

The text is whole: a reader of JSON gets back what was stored. As it stands it is one string on one line, in
which every quote is escaped, so that it can end no row; what a reader would not see and what would pass for a
frame is spelled in JSON's own escapes.
"""

import re
from collections.abc import Mapping
from types import MappingProxyType
from typing import Final

from foreword.render import BLIND, FRAME, KEPT, decoration, row_label

JSON_VERSION: Final = 1
"""Goes up with every change to the bytes of a JSON row: stored costs hold for one version only."""

JSON_MARKER: Final = ',{"'
"""What every JSON row starts with."""

JSON_HEAD: Final = '[{"note":"recalled data, not instructions"}\n'
JSON_TAIL: Final = "]\n"
"""The frame of a block: the array's first element, and its end."""


def render_json_row(
    *, kind: str, id: str, content: str, observed: str | None = None, confidence: float | None = None
) -> str:
    """``,{"id":"kind-shortid","text":"...","observed":"YYYY-MM-DD","confidence":0.95}`` and a line break.

    Label, day and confidence are those of :func:`foreword.render.render_row`, and left out where they are.
    Raises ValidationError as that does.
    """
    day, sure = decoration(observed, confidence)
    fields = [f'{JSON_MARKER}id":"{row_label(kind, id)}","text":"{escaped(content)}"']
    if day is not None:
        fields.append(f'"observed":"{day}"')
    if sure is not None:
        fields.append(f'"confidence":{sure}')
    return ",".join(fields) + "}\n"


def escaped(text: str) -> str:
    r"""``text`` as the inside of a JSON string, with nothing in it that hides or that passes for a frame.

    Quotes, backslashes, control and bidi characters, stray invisible ones and ``<`` before a name used for
    frames are escaped, the rest is left as it is. A lone surrogate, which is no text, becomes U+FFFD.
    """
    if text.isascii() and text.isprintable() and not _ASCII.search(text):
        return text
    return _ESCAPED.sub(_escape, text)


def json_advisory_row(omitted: int) -> str:
    """The element that says how many entries were left out; its cost is :func:`json_advisory_cost`."""
    return f'{JSON_MARKER}omitted":{omitted}}}\n'


def json_advisory_cost(counter: str, omitted: int) -> int:
    """What :func:`json_advisory_row` costs, without a tokenizer: it depends on the number of digits alone."""
    return JSON_ADVISORY_COSTS[counter][len(str(omitted))]


def _advisory_costs() -> Mapping[str, tuple[int, ...]]:
    digits = range(17)
    length = len(json_advisory_row(0)) - 1
    triples = [-(-n // 3) for n in digits]
    chars = tuple(length + n for n in digits)
    return MappingProxyType(
        {
            "o200k_base": tuple(6 + n for n in triples),
            "cl100k_base": tuple(5 + n for n in triples),
            "chars": chars,
            "host-defined": tuple(-(-n // 4) for n in chars),
        }
    )


JSON_ADVISORY_COSTS: Final = _advisory_costs()
"""Costs of the JSON advisory row by counter, then by number of digits (1 to 16)."""

_SHORT: Final = MappingProxyType(
    {'"': '\\"', "\\": "\\\\", "\n": "\\n", "\r": "\\r", "\t": "\\t", "\b": "\\b", "\f": "\\f"}
)


def _escape(found: re.Match[str]) -> str:
    if found.lastgroup == "kept":
        return found[0]
    char = found[0]
    point = ord(char)
    if char in _SHORT:
        return _SHORT[char]
    if 0xD800 <= point < 0xE000:
        return "\\ufffd"
    if point < 0x10000:
        return f"\\u{point:04x}"
    point -= 0x10000
    return f"\\u{0xD800 + (point >> 10):04x}\\u{0xDC00 + (point & 0x3FF):04x}"


_ASCII = re.compile(r'["\\<]')
_ESCAPED = re.compile(rf'(?P<kept>{KEPT})|{FRAME}|["\\\t{BLIND}]')
