"""Gate one: the values a tenant registered, as they are and as they are commonly written."""

from __future__ import annotations

import base64
import json
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any
from urllib.parse import quote, quote_plus

import ahocorasick

from worker.steps.redaction.escapes import views
from worker.steps.redaction.span import Hit

MIN_LENGTH = 8
_BASE64 = frozenset("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/-_")


@dataclass(frozen=True, slots=True)
class _Form:
    """A spelling of one value: `before` and `after` say whether the neighbouring base 64 character holds
    some of its bits."""

    secret_id: str
    length: int
    before: bool = False
    after: bool = False


class Registered:
    """Values of at least 8 characters, each with its id; one with two ids goes by the first. Found as they
    stand, in base 64 (any alignment, both alphabets, padded or not), in hexadecimal, and under one or two
    layers of URL or JSON escapes."""

    def __init__(self, secrets: Iterable[tuple[str, str]]) -> None:
        named = tuple(secrets)
        self.ids = frozenset(name for name, _ in named)
        kept = [(name, value) for name, value in named if len(value) >= MIN_LENGTH]
        self._plus = any(" " in value for _, value in kept)
        self._automaton: Any = ahocorasick.Automaton()
        for name, value in kept:
            for spelling, form in _spellings(name, value):
                if spelling not in self._automaton:
                    self._automaton.add_word(spelling, form)
        self._empty = not kept
        if kept:
            self._automaton.make_automaton()

    def find(self, text: str) -> list[Hit]:
        """Ordered, disjoint hits: the longest first, then the leftmost."""
        if self._empty:
            return []
        hits: list[Hit] = []
        for view in views(text, plus=self._plus):
            for last, form in self._automaton.iter(view.text):
                start, end = _reach(view.text, last + 1 - form.length, last + 1, form)
                hits.append(Hit(form.secret_id, view.original(start), view.original(end)))
        return _longest_first(hits)


def _spellings(name: str, value: str) -> Iterator[tuple[str, _Form]]:
    raw = value.encode("utf-8", "surrogatepass")
    for spelling in (value, raw.hex(), raw.hex().upper(), *_escaped(value, raw)):
        yield spelling, _Form(name, len(spelling))
    for shift, lead in enumerate((0, 2, 3)):
        coded = base64.b64encode(b"\0" * shift + raw).decode()
        whole = (shift + len(raw)) * 8 // 6
        core = coded[lead:whole]
        form = _Form(name, len(core), before=shift > 0, after=(shift + len(raw)) % 3 > 0)
        for spelling in {core, core.replace("+", "-").replace("/", "_")}:
            yield spelling, form


def _escaped(value: str, raw: bytes) -> Iterator[str]:
    """As encoders write it. Undoing escapes finds more, but not behind a stray ``\\`` or ``%`` that takes the
    first characters for its own."""
    for ascii_only in (True, False):
        yield json.dumps(value, ensure_ascii=ascii_only)[1:-1]
    yield from (quote(raw), quote(raw, safe=""), quote_plus(raw))


def _reach(text: str, start: int, end: int, form: _Form) -> tuple[int, int]:
    if form.before and start > 0 and text[start - 1] in _BASE64:
        start -= 1
    if form.after:
        if text[end : end + 1] in _BASE64 and end < len(text):
            end += 1
        while text[end : end + 1] == "=":
            end += 1
    return start, end


def _longest_first(hits: Iterable[Hit]) -> list[Hit]:
    taken: list[Hit] = []
    ordered = sorted(hits, key=lambda hit: (hit.start - hit.end, hit.start))
    if not ordered:
        return []
    covered = bytearray(max(hit.end for hit in ordered))
    for hit in ordered:
        if not any(covered[hit.start : hit.end]):
            covered[hit.start : hit.end] = b"\1" * (hit.end - hit.start)
            taken.append(hit)
    return sorted(taken, key=lambda hit: hit.start)
