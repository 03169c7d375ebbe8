"""A text with its URL or JSON escapes undone, and the way back to where each character stood."""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
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
        made = _Making(self)
        at = 0
        for hit in hits:
            made.keep(at, hit.start)
            made.put(f"[REDACTED:{hit.kind}]", hit.start)
            at = hit.end
        return made.done(at)


class _Making:
    """A view being written from another one, left to right."""

    def __init__(self, view: View) -> None:
        self._view = view
        self._parts: list[str] = []
        self._here: list[int] = []
        self._there: list[int] = []
        self._length = 0

    def keep(self, start: int, end: int) -> None:
        """Takes a stretch over as it is."""
        if start >= end:
            return
        known = self._view.here
        first, last = bisect_right(known, start), bisect_left(known, end)
        for begin in (start, *known[first:last]):
            self._here.append(self._length + begin - start)
            self._there.append(self._view.original(begin))
        self._parts.append(self._view.text[start:end])
        self._length += end - start

    def put(self, text: str, start: int) -> None:
        """Writes something in the place of what begins there."""
        self._here.append(self._length)
        self._there.append(self._view.original(start))
        self._parts.append(text)
        self._length += len(text)

    def done(self, start: int) -> View:
        """The view, with the rest taken over as it is."""
        self.keep(start, len(self._view.text))
        return View("".join(self._parts), (*self._here, self._length), (*self._there, self._view.there[-1]))


def views(text: str, *, plus: bool) -> Iterator[View]:
    """The text itself, then each reading of its escapes, two layers deep. With `plus`, a plus sign is also
    read as a blank, as in forms."""
    first = View.of(text)
    readings = [first]
    if plus and "+" in text:
        readings.append(View(text.replace("+", " "), first.here, first.there))
    for reading in readings:
        yield reading
        for once in _undone(reading):
            yield once
            yield from _undone(once)


def _undone(view: View) -> Iterator[View]:
    for mark, pattern in (("%", _PERCENT), ("\\", _JSON)):
        if mark in view.text:
            read = _read(view, pattern)
            if read is not None:
                yield read


def _read(view: View, pattern: re.Pattern[str]) -> View | None:
    made = _Making(view)
    at = 0
    for match in pattern.finditer(view.text):
        made.keep(at, match.start())
        at = match.start()
        for char, width in _characters(match.group()):
            made.put(char, at)
            at += width
    return made.done(at) if at else None


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
