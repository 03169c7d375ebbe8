"""InjectionBudget: the dials of a runtime that puts memories into its own prompt.

The same law as on the server, for entries and blocks a runtime already holds. Entries stay whole and in their
order: they are kept or left out.
"""

import math
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from datetime import date, datetime
from numbers import Real
from typing import Any, Final, TypeVar, cast

from foreword import instant
from foreword.budget import is_budget, walk
from foreword.counters import COUNTERS, counter
from foreword.draft import DEFAULT_KIND
from foreword.errors import Field, ValidationError
from foreword.json_row import JSON_HEAD, JSON_TAIL, json_advisory_row
from foreword.render import ROW_MARKER, advisory_row, render_row

E = TypeVar("E")


@dataclass(frozen=True, kw_only=True)
class InjectionBudget:
    """At most ``max_tokens`` (in ``counter``), ``max_entries`` entries, none below ``min_similarity``.

    The defaults bound a prompt even where nobody set anything; there is no value that means unbounded. Raises
    ValidationError naming every bad dial. A BPE counter needs tiktoken: without it the first use raises
    CounterUnavailable.

    Entries are mappings or objects with ``content`` and, where they were ranked by meaning, ``similarity``
    (the raw cosine). An entry without a ``similarity`` field is judged by ``score``; one that has neither, or
    ``None``, was not ranked by meaning (a recency list, a hit by words), so nothing is held against the floor
    and it passes. A boosted or blended score is no similarity: give ``similarity`` beside it.
    """

    max_tokens: int = 1024
    max_entries: int = 10
    min_similarity: float = 0.3
    counter: str = "host-defined"

    def __post_init__(self) -> None:
        bad = [
            Field(name, "must be an integer from 1 to 2^53 - 1")
            for name in ("max_tokens", "max_entries")
            if not is_budget(getattr(self, name))
        ]
        if not _is_number(self.min_similarity) or not -1 <= self.min_similarity <= 1:
            bad.append(Field("min_similarity", "must be a number from -1 to 1"))
        if not isinstance(self.counter, str) or self.counter not in COUNTERS:
            bad.append(Field("counter", f"must be one of {', '.join(COUNTERS)}"))
        if bad:
            raise ValidationError(bad)

    def apply(self, entries: Iterable[E]) -> list[E]:
        """The entries that may be injected, the same objects in the same order, by the cost of their content.

        Below the floor goes first, then the law with ``fit=prefix``. Raises ValidationError naming each entry
        whose content is no string or whose similarity is no finite number.
        """
        near = self._near(entries)
        count = counter(self.counter).count
        costs = (count(_field(entry, "content")) for entry in near)
        return [near[i] for i in self._keep(costs, self.max_tokens)]

    apply_to_entries = apply

    def render(self, entries: Iterable[object]) -> str:
        """The entries as rows of a prompt: whole rows, decoration counted, within ``max_tokens``.

        Rows are those of :func:`foreword.render.render_row`: labelled by kind and id, dated by ``observedAt``
        or ``createdAt`` where that reads as a date.
        """
        rows = [_row(entry) for entry in self._near(entries)]
        count = counter(self.counter).count
        return "".join(rows[i] for i in self._keep(map(count, rows), self.max_tokens))

    def apply_to_text(self, text: str) -> str:
        """A ready block, cut to whole rows; unchanged when it fits, ``""`` when no row does.

        A row goes from its marker at the start of a line (``- [``, else ``- ``) to the next one or to the
        end; text without a marker is one row. What stands before the first row, and a closing tag after the
        last one whose opening stands there, frame the block: they are paid first and never left without a
        row. An advisory row is renumbered. A recall's JSON block is cut to its elements in the same way.
        """
        count = counter(self.counter).count
        block = _Block.of(text)
        if len(block.rows) <= self.max_entries and count(text) <= self.max_tokens:
            return text
        framing = count(block.head) + count(block.advisory(len(block.rows))) + count(block.tail)
        if framing >= self.max_tokens:
            return ""
        kept = self._keep(map(count, block.rows), self.max_tokens - framing)
        return block.only(kept) if kept else ""

    def _keep(self, costs: Iterable[int], budget: int) -> tuple[int, ...]:
        return walk(costs, budget=budget, limit=self.max_entries).kept

    def _near(self, entries: Iterable[E]) -> list[E]:
        listed = list(entries)
        bad = [
            Field(f"entries[{i}].{name}", reason) for i, e in enumerate(listed) for name, reason in _faults(e)
        ]
        if bad:
            raise ValidationError(bad)
        return [e for e in listed if (near := _similarity(e)) is None or near >= self.min_similarity]


@dataclass(frozen=True, kw_only=True)
class _Block:
    """A ready block taken apart: joined again it is the same text."""

    head: str
    rows: tuple[str, ...]
    omitted: int | None
    tail: str
    advise: Callable[[int], str] = advisory_row

    @classmethod
    def of(cls, text: str) -> "_Block":
        if text.startswith(JSON_HEAD) and text.endswith(JSON_TAIL):
            return cls._of_json(text)
        starts = _starts(text) or [0]
        head, body = text[: starts[0]], text[starts[0] :]
        tail = ""
        closing = _CLOSING_TAG.search(text, starts[-1])
        if closing is not None and f"<{closing['name']}" in head:
            tail = closing[0]
            body = body[: len(body) - len(tail)]
        ends = [*starts[1:], len(head) + len(body)]
        rows = [text[start:end] for start, end in zip(starts, ends, strict=True)]
        omitted = _advised(rows[-1], _ADVISORY, advisory_row) if len(rows) > 1 else None
        if omitted is not None:
            rows.pop()
        return cls(head=head, rows=tuple(rows), omitted=omitted, tail=tail)

    @classmethod
    def _of_json(cls, text: str) -> "_Block":
        rows = text[len(JSON_HEAD) : -len(JSON_TAIL)].splitlines(keepends=True)
        omitted = _advised(rows[-1], _JSON_ADVISORY, json_advisory_row) if rows else None
        if omitted is not None:
            rows.pop()
        return cls(
            head=JSON_HEAD, rows=tuple(rows), omitted=omitted, tail=JSON_TAIL, advise=json_advisory_row
        )

    def advisory(self, dropped: int) -> str:
        return "" if self.omitted is None else self.advise(self.omitted + dropped)

    def only(self, kept: tuple[int, ...]) -> str:
        rows = [self.rows[i] for i in kept]
        return "".join((self.head, *rows, self.advisory(len(self.rows) - len(kept)), self.tail))


_CLOSING_TAG: Final = re.compile(r"^</(?P<name>[A-Za-z][\w-]*)>\s*\Z", re.MULTILINE)
_ADVISORY: Final = re.compile(r"- \[\+([0-9]{1,15}) ")
_JSON_ADVISORY: Final = re.compile(r',\{"omitted":([0-9]{1,15})\}')


def _advised(row: str, form: re.Pattern[str], advise: Callable[[int], str]) -> int | None:
    """How many entries an advisory row speaks of; None for any other row."""
    found = form.match(row)
    return int(found[1]) if found is not None and row == advise(int(found[1])) else None


def _starts(text: str) -> list[int]:
    for marker in (ROW_MARKER, "- "):
        found = [m.start() for m in re.finditer(f"^{re.escape(marker)}", text, re.MULTILINE)]
        if found:
            return found
    return []


def _field(entry: object, *names: str) -> Any:
    """The first of the fields ``names`` that the entry has and that is not None."""
    for name in names:
        value = entry.get(name) if isinstance(entry, Mapping) else getattr(entry, name, None)
        if value is not None:
            return value
    return None


def _similarity(entry: object) -> Any:
    measured = "similarity" in entry if isinstance(entry, Mapping) else hasattr(entry, "similarity")
    return _field(entry, "similarity" if measured else "score")


def _is_number(value: object) -> bool:
    if isinstance(value, bool) or not isinstance(value, Real):
        return False
    return -math.inf < cast(float, value) < math.inf


def _faults(entry: object) -> Iterator[tuple[str, str]]:
    if not isinstance(_field(entry, "content"), str):
        yield "content", "must be a string"
    near = _similarity(entry)
    if near is not None and not _is_number(near):
        yield "similarity", "must be a finite number"


def _row(entry: object) -> str:
    kind, id, confidence = _field(entry, "kind"), _field(entry, "id"), _field(entry, "confidence")
    return render_row(
        kind=kind if isinstance(kind, str) else DEFAULT_KIND,
        id="" if id is None else str(id),
        content=_field(entry, "content"),
        observed=_day(_field(entry, "observedAt", "observed_at", "createdAt", "created_at")),
        confidence=confidence if _is_number(confidence) and 0 <= confidence <= 1 else None,
    )


def _day(moment: object) -> str | None:
    """The UTC day of an instant in any of the forms an entry carries it in; None for what is no date."""
    try:
        if isinstance(moment, datetime) and moment.tzinfo is not None:
            moment = instant.from_datetime(moment)
        if isinstance(moment, int):
            moment = instant.to_datetime(moment)
        if isinstance(moment, date):
            return moment.isoformat()[:10]
        if isinstance(moment, str):
            return _day(date.fromisoformat(moment) if len(moment) == 10 else instant.from_wire(moment))
    except (ValueError, OverflowError):
        return None
    return None
