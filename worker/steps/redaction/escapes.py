"""A text with its URL or JSON escapes undone, and the way back to where each character stood."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from worker.steps.redaction.span import Hit

_PERCENT = re.compile(r"(?:%[0-9A-Fa-f]{2})+")
_JSON = re.compile(r"(?:\\u[0-9A-Fa-f]{4})+|\\x[0-9A-Fa-f]{2}|\\[\"'\\/bfnrt]")
_SHORT = {"b": "\b", "f": "\f", "n": "\n", "r": "\r", "t": "\t"}


@dataclass(frozen=True, slots=True)
class View:
    """`text` as read, and the positions in it and in the original where a run of plain characters or one
    undone escape begins; both end with the lengths."""

    text: str
    here: tuple[int, ...]
    there: tuple[int, ...]

    @classmethod
    def of(cls, text: str) -> View:
        """The text as it is."""
        return cls(text, (0, len(text)), (0, len(text)))

    def original(self, position: int) -> int:
        """Where the character at this position begins in the original text."""
        at = bisect_right(self.here, position) - 1
        return self.there[at] + position - self.here[at]

    def replaced(self, hits: Sequence[Hit]) -> View:
        """With each of the ordered, disjoint hits turned into its marker."""
        parts: list[str] = []
        here: list[int] = []
        there: list[int] = []
        at = length = 0
        for hit in (*hits, None):
            stop = len(self.text) if hit is None else hit.start
            if stop > at:
                parts.append(self.text[at:stop])
                for begin in (at, *(h for h in self.here if at < h < stop)):
                    here.append(length + begin - at)
                    there.append(self.original(begin))
                length += stop - at
            if hit is not None:
                parts.append(f"[REDACTED:{hit.kind}]")
                here.append(length)
                there.append(self.original(stop))
                length += len(parts[-1])
                at = hit.end
        return View("".join(parts), (*here, length), (*there, self.there[-1]))


def views(text: str, *, plus: bool) -> Iterator[View]:
    """The text itself, then each reading of its escapes, two layers deep. With `plus`, a plus sign is also
    read as a blank, as in forms."""
    first = View.of(text)
    yield first
    if plus and "+" in text:
        yield View(text.replace("+", " "), first.here, first.there)
    for once in _undone(first):
        yield once
        if plus and "+" in once.text:
            yield View(once.text.replace("+", " "), once.here, once.there)
        yield from _undone(once)


def _undone(view: View) -> Iterator[View]:
    for mark, pattern in (("%", _PERCENT), ("\\", _JSON)):
        if mark in view.text:
            read = _read(view, pattern)
            if read is not None:
                yield read


def _read(view: View, pattern: re.Pattern[str]) -> View | None:
    parts: list[str] = []
    here: list[int] = []
    there: list[int] = []
    at = length = 0
    for match in pattern.finditer(view.text):
        start = match.start()
        if start > at:
            parts.append(view.text[at:start])
            here.append(length)
            there.append(at)
            length += start - at
        position = start
        for char, width in _characters(match.group()):
            parts.append(char)
            here.append(length)
            there.append(position)
            length += 1
            position += width
        at = match.end()
    if at == 0:
        return None
    if at < len(view.text):
        parts.append(view.text[at:])
        here.append(length)
        there.append(at)
        length += len(view.text) - at
    return View("".join(parts), (*here, length), tuple(view.original(p) for p in (*there, len(view.text))))


def _characters(run: str) -> Iterator[tuple[str, int]]:
    """Each character an escape run stands for, with how many characters spell it."""
    if run[0] == "%":
        for char in bytes.fromhex(run.replace("%", "")).decode("utf-8", "surrogateescape"):
            yield char, 3 * len(char.encode("utf-8", "surrogateescape"))
    elif run[1] == "u":
        units = bytes.fromhex(run.replace("\\u", ""))
        for char in units.decode("utf-16-be", "surrogatepass"):
            yield char, 12 if ord(char) > 0xFFFF else 6
    elif run[1] == "x":
        yield chr(int(run[2:], 16)), 4
    else:
        yield _SHORT.get(run[1], run[1]), 2
