"""A text as the patterns see it: one byte per code point, so that every offset is a code point."""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import cached_property

_OTHER = "\x80"
_MASK = "\x81"
_TYPOGRAPHIC = {
    '"': "“”„‟«»「」『』＂",
    "'": "‘’‚‛＇",
    " ": "\u00a0\u2000\u2001\u2002\u2003\u2004\u2005\u2006\u2007\u2008\u2009\u200a\u202f\u3000",
    "\n": "\u0085\u2028\u2029",
    ":": "：",
    "=": "＝",
    ",": "，、",
    ";": "；",
    ".": "。．｡",
    "(": "（",
    ")": "）",
}
_BEYOND_ASCII = re.compile(r"[^\x00-\x7f]+")
_ESCAPED_BLANK = re.compile(r"\\[nrt]")


class _Flat(dict[int, str]):
    def __missing__(self, point: int) -> str:
        return chr(point) if point < 0x80 else _OTHER


_FLAT = _Flat({ord(char): plain for plain, chars in _TYPOGRAPHIC.items() for char in chars})


class Shadow:
    """Letters outside ASCII become one neutral byte (typographic quotes, blanks and colons their plain
    forms), escaped blanks (a backslash and n, r or t) become blanks, guarded stretches a byte no pattern
    of a token accepts. Lengths never change."""

    def __init__(self, text: str, guarded: Sequence[tuple[int, int]] = ()) -> None:
        self.plain = text.isascii()
        flat = text if self.plain else _BEYOND_ASCII.sub(lambda m: m[0].translate(_FLAT), text)
        if guarded:
            flat = _masked(flat, guarded)
        if "\\" in flat:
            flat = _ESCAPED_BLANK.sub(lambda m: " \n" if m[0] == "\\n" else "  ", flat)
        self.text = flat
        self.data = flat.encode("latin-1")

    @cached_property
    def lower(self) -> str:
        return self.text.lower()


def _masked(flat: str, guarded: Sequence[tuple[int, int]]) -> str:
    parts: list[str] = []
    at = 0
    for start, end in guarded:
        parts += (flat[at:start], _MASK * (end - start))
        at = end
    parts.append(flat[at:])
    return "".join(parts)
