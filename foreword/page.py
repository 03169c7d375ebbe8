"""Page: what one read found, as ready bytes and a report."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

from foreword.budget import WALK_LIMIT, Ended, Fit, Report, Selection, report


@dataclass(frozen=True, kw_only=True, slots=True)
class Ask:
    """A recency read once it is validated. Costs and ``budget`` are in the counter of that ordinal."""

    counter: str
    ordinal: int
    budget: int | None
    limit: int
    fit: Fit
    before: int | None = None
    remaining: int | None = None
    tag: str | None = None
    kind: str | None = None

    @property
    def filtered(self) -> bool:
        """Whether the read looks at part of the scope only."""
        return self.tag is not None or self.kind is not None


class Page(NamedTuple):
    """Kept entries as JSON objects joined by commas, the report, and where the next page starts.

    ``resume`` is the accept position of the last row visited; None when nothing is left behind it.
    """

    entries: bytes
    report: Report
    resume: int | None


def page(ask: Ask, *, fragments: bytes, selection: Selection, total: int, last_visited: int | None) -> Page:
    """The page of a selection; ``total`` is the scope's live count, used where no cursor carries one.

    Every source gives the same page for the same rows, also where one knows that it saw the last row and
    another only that it kept as many as it may: there the count decides whether anything is left.
    """
    remaining = total if ask.remaining is None else ask.remaining
    ended = _ended(ask, selection)
    if ended == "budget" and not (ask.fit == "strict" and selection.oversize):
        remaining = max(remaining, selection.visited + 1)  # the row that ended the read is there
    elif ended in ("limit", "walk") and selection.visited >= remaining:
        ended = "end"
    if ended != selection.ended:
        selection = replace(selection, ended=ended)
    told = report(selection, counter=ask.counter, budget=ask.budget, remaining=remaining)
    more = ended != "end" and told.next_remaining > 0
    return Page(entries=fragments, report=told, resume=last_visited if more else None)


def _ended(ask: Ask, selection: Selection) -> Ended:
    if selection.ended != "end":
        return selection.ended
    if len(selection.kept) >= ask.limit:
        return "limit"
    if ask.fit == "pack" and ask.budget is not None and selection.visited >= WALK_LIMIT:
        return "walk"
    return "end"


def empty(ask: Ask) -> Page:
    """The page of a memory that holds nothing, or is not the caller's."""
    selection = Selection(kept=(), used=0, visited=0, oversize=0, ended="end", smallest_omitted=None)
    return page(ask, fragments=b"", selection=selection, total=0, last_visited=None)


def join(fragments: Sequence[bytes]) -> bytes:
    """Ready JSON objects as the inside of an array."""
    return b",".join(fragments)
