"""THE RECALL. A ready prompt block of what bears on a question, within the budget, frame included.

    refs -> hybrid ranking of each -> one ceiling, a share per ref, what is unused rolls on -> block

Byte-stable: the same memory, question and options give the same block, whenever it is asked. ``session`` is
a token the runtime carries, of the ids it has been sent; the server keeps none.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from api_shim.block import FRAMES, BlockFormat, RowForm, StoredCosts, fit, render, surround
from api_shim.ranking.candidate import Candidate
from api_shim.ranking.duplicates import repeats
from api_shim.search import Outcome, SearchAsk, Searcher
from api_shim.session import write_session
from foreword.budget import HOST_CAP, Report, report, walk
from foreword.instant import from_datetime, to_wire
from foreword.scope import Scope


@dataclass(frozen=True, kw_only=True)
class RecallAsk:
    """A recall once it is validated. ``shares`` are fractions of the budget, one for each scope asked."""

    search: SearchAsk
    format: BlockFormat
    shares: tuple[float, ...] = (1.0,)


@dataclass(frozen=True, kw_only=True)
class Recalled:
    """The block, the ids in it, the report, and the session to carry on."""

    text: str
    ids: tuple[str, ...]
    report: Report
    legs: tuple[str, ...]
    is_cut: bool
    session: str


@dataclass(frozen=True)
class Recaller:
    """The recall flow over the search."""

    searcher: Searcher

    async def recall(self, scopes: Sequence[Scope], ask: RecallAsk, sent: tuple[str, ...]) -> Recalled:
        """The block for one memory or several; empty, with a report that says why, when nothing fits.

        ``sent``: what the conversation has already, as its session says.
        """
        wide = replace(
            ask.search,
            cut=replace(ask.search.cut, budget=None, limit=HOST_CAP),
            costs=FRAMES[ask.format].form.stored,
            spend=ask.search.cut.budget,
            exclude=ask.search.exclude | frozenset(sent),
        )
        outcomes = await self.searcher.across(scopes, wide)
        offered = [row for outcome in outcomes for row in outcome.rows]
        return _block(scopes, outcomes, offered, ask, sent)


def _block(
    scopes: Sequence[Scope],
    outcomes: Sequence[Outcome],
    offered: Sequence[dict[str, Any]],
    ask: RecallAsk,
    sent: tuple[str, ...],
) -> Recalled:
    cut, frame = ask.search.cut, FRAMES[ask.format]
    budget = cut.budget if cut.budget is not None else 0
    more = sum(outcome.report.omitted.total - outcome.report.omitted.similarity for outcome in outcomes)
    repeated = 0
    if len(scopes) > 1:
        around = surround(frame, cut.counter, len(offered) + more)
        told_apart = _shared(outcomes, ask, room=budget - around, costs_of=frame.form.stored)
        ordered = _said_once(told_apart)
        repeated = len(told_apart) - len(ordered)
    else:
        ordered = list(offered)
    costs = [row[frame.form.stored][cut.ordinal] for row in ordered]
    below = sum(outcome.report.omitted.similarity for outcome in outcomes) + repeated
    selection = fit(costs, counter=cut.counter, budget=budget, limit=cut.limit, frame=frame, more=more)
    rows = [row_text(row, frame.form) for row in ordered]
    block = render(rows, selection, counter=cut.counter, frame=frame, more=more)
    ids = tuple(ordered[i]["id"] for i in selection.kept) if block.text else ()
    kept = selection if block.text else replace(selection, kept=(), used=0)
    if more and kept.ended == "end":
        kept = replace(kept, ended="limit")
    told = report(
        kept, counter=cut.counter, budget=cut.budget, remaining=len(ordered) + more + below, similarity=below
    )
    smallest = told.smallest_omitted
    if smallest is not None:
        smallest += surround(frame, cut.counter, len(costs) + more)
    return Recalled(
        text=block.text,
        ids=ids,
        report=told._replace(used=block.used, smallest_omitted=smallest),
        legs=tuple(dict.fromkeys(leg for outcome in outcomes for leg in outcome.legs)),
        is_cut=any(outcome.is_cut for outcome in outcomes),
        session=write_session((*sent, *ids)),
    )


def _shared(
    outcomes: Sequence[Outcome], ask: RecallAsk, *, room: int, costs_of: StoredCosts
) -> list[dict[str, Any]]:
    """Rows of several memories in one order: each one's share of the room first, then best of all first.

    What a memory does not use of its share goes to the rows of the others, best first.
    """
    ordinal = ask.search.cut.ordinal
    first: list[dict[str, Any]] = []
    rest: list[dict[str, Any]] = []
    for outcome, share in zip(outcomes, ask.shares, strict=True):
        costs = [row[costs_of][ordinal] for row in outcome.rows]
        inside = set(walk(costs, budget=max(int(room * share), 0)).kept)
        for i, row in enumerate(outcome.rows):
            (first if i in inside else rest).append(row)
    return sorted(first, key=_best_first) + sorted(rest, key=_best_first)


def _said_once(rows: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    """Without what repeats a row of another memory in front of it."""
    told = [Candidate(seq=r["seq"], id=r["id"], speaker=r["speaker"], content=r["content"]) for r in rows]
    return [row for row, first in zip(rows, repeats(told), strict=True) if first is None]


def _best_first(row: Mapping[str, Any]) -> tuple[float, int]:
    return (-row["score"], -row["seq"])


def row_text(row: Mapping[str, Any], form: RowForm) -> str:
    """The row whose cost was stored at write."""
    return form.row(
        kind=row["kind"],
        id=row["id"],
        content=row["content"],
        observed=to_wire(from_datetime(row["observed_at"]))[:10],
        confidence=row["confidence"],
    )
