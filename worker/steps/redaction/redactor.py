"""The redaction step: registered values first, then whatever is shaped like a secret, then chosen PII."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from typing import TypeAlias

from worker.steps.redaction.escapes import View
from worker.steps.redaction.lexicon import PASSWORD
from worker.steps.redaction.marker import foreign_markers, is_label, markers
from worker.steps.redaction.pii import KINDS, personal
from worker.steps.redaction.registered import Registered
from worker.steps.redaction.shadow import Shadow
from worker.steps.redaction.shapes import shapes
from worker.steps.redaction.span import Hit, merged, outside
from worker.steps.redaction.telling import rank_of_name
from worker.steps.redaction.worth import is_secret

Json: TypeAlias = "bool | int | float | str | list[Json] | dict[str, Json] | None"

MAX_DEPTH = 64
_PASSES = 8
_FIT_LENGTH = 16


@dataclass(frozen=True, slots=True)
class Redacted:
    """The text that may be kept, and what was hidden where (in the text that was given): for counting."""

    text: str
    hits: tuple[Hit, ...]


class Redactor:
    """One tenant's redaction. Pure, and usable from any number of threads at once.

    `registered` maps secret ids to values (those under 8 characters are left alone); `pii` names what else
    to hide: email, phone, card, iban. Raises ValueError for an unknown kind of PII.
    """

    def __init__(self, registered: Mapping[str, str] | None = None, pii: Collection[str] = ()) -> None:
        unknown = set(pii) - KINDS
        if unknown:
            raise ValueError(f"unknown kinds of personal data: {', '.join(sorted(unknown))}")
        self._values = tuple((registered or {}).items())
        self._registered = Registered(self._values)
        self._pii = frozenset(pii)

    def knowing(self, resolved: Iterable[tuple[str, str]]) -> Redactor:
        """The same with more values, each with its id. An id may come with several; what is known already
        goes by the new id."""
        more = tuple(resolved)
        if not more:
            return self
        made = Redactor(None, self._pii)
        made._values = (*more, *self._values)
        made._registered = Registered(made._values)
        return made

    def redact(self, text: str) -> Redacted:
        """The text with every secret as `[REDACTED:<id or kind>]`; doing it again changes nothing."""
        view = View.of(text)
        hits: list[Hit] = []
        for find in (self._registered_in, *[self._shaped_in] * _PASSES):
            found = find(view.text)
            if found:
                hits += (Hit(h.kind, view.original(h.start), view.original(h.end)) for h in found)
                view = view.replaced(found)
            elif find == self._shaped_in:
                break
        return Redacted(view.text, tuple(sorted(hits, key=lambda hit: hit.start)))

    def hide(self, value: Json, depth: int = MAX_DEPTH) -> Json:
        """The same JSON without registered values, and nothing else changed: for what was made of text that
        passed before. What lies deeper than 64 levels becomes a marker whole."""
        if isinstance(value, str):
            return View.of(value).replaced(self._registered_in(value)).text
        if not isinstance(value, (list, dict)):
            return value
        if depth == 0:
            return "[REDACTED:too-deep]"
        if isinstance(value, list):
            return [self.hide(item, depth - 1) for item in value]
        kept: dict[str, Json] = {}
        for name, item in value.items():
            kept[_unused(str(self.hide(name)), kept)] = self.hide(item, depth - 1)
        return kept

    def redact_value(self, value: Json) -> Json:
        """The same JSON with every string redacted, keys included; a string under a telling key (`password`,
        `apiKey`) counts as assigned to it. What lies deeper than 64 levels becomes a marker whole."""
        return self._value(value, "", MAX_DEPTH)

    def _value(self, value: Json, key: str, depth: int) -> Json:
        if isinstance(value, str):
            text = self.redact(value).text
            rank = rank_of_name(key) if text == value and key else 0
            if rank and is_secret(Shadow(value).data, rank, quoted=True, given=True):
                return f"[REDACTED:{'password' if rank == PASSWORD else 'secret'}]"
            return text
        if not isinstance(value, (list, dict)):
            return value
        if depth == 0:
            return "[REDACTED:too-deep]"
        if isinstance(value, list):
            return [self._value(item, key, depth - 1) for item in value]
        kept: dict[str, Json] = {}
        for name, item in value.items():
            kept[_unused(self.redact(name).text, kept)] = self._value(item, name, depth - 1)
        return kept

    def _registered_in(self, text: str) -> list[Hit]:
        found = self._registered.find(text)
        if not found:
            return []
        guarded: list[tuple[int, int]] = []
        for marker in (*markers(text), *foreign_markers(text)):
            inside = [hit for hit in found if marker.holds(hit)]
            if inside and not self._is_known(marker.name):
                found.append(Hit(inside[0].kind, marker.start, marker.end))
            elif not marker.foreign:
                guarded.append((marker.start, marker.end))
        return outside(merged(found), guarded)

    def _shaped_in(self, text: str) -> list[Hit]:
        guarded: list[tuple[int, int]] = []
        found: list[Hit] = []
        for marker in markers(text):
            if self._is_fit(marker.name):
                guarded.append((marker.start, marker.end))
            else:
                found.append(Hit("redacted", marker.start, marker.end))
        for marker in foreign_markers(text):
            found.append(Hit(self._label(marker.name), marker.start, marker.end))
        shadow = Shadow(text, guarded)
        found += shapes().find(text, shadow)
        if self._pii:
            found += personal(shadow.data, self._pii)
        return outside(merged(found), guarded)

    def _is_fit(self, name: str) -> bool:
        """Whether what a marker carries may be shown: an id we know, or nothing shaped like a secret."""
        if len(name) < _FIT_LENGTH or self._is_known(name):
            return True
        if not any(c.isdigit() for c in name) and "canary" not in name.lower():
            return True
        return next(shapes().find(name, Shadow(name)), None) is None

    def _label(self, name: str) -> str:
        """What a foreign marker is called as one of ours: its label, where that can hold no secret."""
        is_plain = is_label(name) and next(shapes().find(name, Shadow(name)), None) is None
        return name if is_plain or self._is_known(name) else "redacted"

    def _is_known(self, name: str) -> bool:
        return name in self._registered.ids or name in shapes().kinds or name in KINDS


def _unused(name: str, kept: dict[str, Json]) -> str:
    """The name, numbered when redaction made two of them equal."""
    if name not in kept:
        return name
    number = 2
    while f"{name}#{number}" in kept:
        number += 1
    return f"{name}#{number}"
