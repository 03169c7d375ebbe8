"""The marker that stands for what was hidden, and the foreign spelling of it that becomes ours."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from worker.steps.redaction.span import Hit

_MARKER = re.compile(r"\[REDACTED:([^\[\]\s]{1,64})\]")
_ANGLED = re.compile(r"<REDACTED:([^<>\[\]\n]{1,256})>", re.IGNORECASE)
_WORD = r"(?:[a-z]{1,24}|[A-Z]{1,24}|[A-Z][a-z]{1,23})\d{0,4}|\d{1,4}"
_LABEL = re.compile(rf"(?=.{{1,64}}$)(?:{_WORD})(?:[._-](?:{_WORD}))*")


@dataclass(frozen=True, slots=True)
class Marker:
    """A marker in a text, with the id or kind it carries."""

    name: str
    start: int
    end: int
    foreign: bool = False

    def holds(self, hit: Hit) -> bool:
        """Whether the hit lies within the id."""
        return self.start + len("[REDACTED:") <= hit.start and hit.end < self.end


def markers(text: str) -> Iterator[Marker]:
    """Every marker, in order."""
    if "[REDACTED:" in text:
        for match in _MARKER.finditer(text):
            yield Marker(match[1], *match.span())


def is_label(name: str) -> bool:
    """Whether a name is made of words and short numbers, joined: what people call a secret, not a secret."""
    return _LABEL.fullmatch(name) is not None


def foreign_markers(text: str) -> Iterator[Marker]:
    """Markers in angle brackets, in order."""
    if "<" in text:
        for match in _ANGLED.finditer(text):
            yield Marker(match[1], *match.span(), foreign=True)
