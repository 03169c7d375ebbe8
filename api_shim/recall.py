"""THE RECALL. A ready prompt block of what bears on a question, within the budget, frame included.

    refs -> hybrid ranking of each -> one ceiling, a share per ref, what is unused rolls on -> block

Byte-stable: the same memory, question and options give the same block, whenever it is asked. ``session`` is
a token the runtime carries, of the ids it has been sent; the server keeps none.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from api_shim.block import FRAMES, BlockFormat, fit, render
from api_shim.search import Outcome, SearchAsk, Searcher
from api_shim.session import write_session
from foreword.budget import HOST_CAP, Report, report
from foreword.instant import from_datetime, to_wire
from foreword.render import render_row
from foreword.scope import Scope


@dataclass(frozen=True, kw_only=True)
class RecallAsk:
    """A recall once it is validated. ``shares`` are fractions of the budget by ref, the rest alike."""

    search: SearchAsk
    format: BlockFormat
    shares: Mapping[str, float] = field(default_factory=dict)


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
            rows=True,
            exclude=ask.search.exclude | frozenset(sent),
        )
        outcomes = [await self.searcher.search(scope, wide) for scope in scopes]
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
    ordered = _shared(scopes, outcomes, ask) if len(scopes) > 1 else list(offered)
    costs = [row["row_costs"][cut.ordinal] for row in ordered]
    more = sum(outcome.report.omitted.total for outcome in outcomes)
    selection = fit(costs, counter=cut.counter, budget=budget, limit=cut.limit, frame=frame, more=more)
    block = render([row_text(row) for row in ordered], selection, counter=cut.counter, frame=frame, more=more)
    ids = tuple(ordered[i]["id"] for i in selection.kept) if block.text else ()
    kept = selection if block.text else replace(selection, kept=(), used=0)
    below = sum(outcome.report.omitted.similarity for outcome in outcomes)
    told = report(
        kept, counter=cut.counter, budget=cut.budget, remaining=len(ordered) + more, similarity=below
    )
    return Recalled(
        text=block.text,
        ids=ids,
        report=replace(told, used=block.used),
        legs=tuple(dict.fromkeys(leg for outcome in outcomes for leg in outcome.legs)),
        is_cut=any(outcome.is_cut for outcome in outcomes),
        session=write_session((*sent, *ids)),
    )


def _shared(scopes: Sequence[Scope], outcomes: Sequence[Outcome], ask: RecallAsk) -> list[dict[str, Any]]:
    """Rows of several refs in one order: each ref's share first, best of all refs first within what is left.

    What a ref does not use of its share goes to the rows of the others, best first.
    """
    cut = ask.search.cut
    budget = cut.budget if cut.budget is not None else 0
    unnamed = [scope for scope in scopes if scope.memory_ref not in ask.shares]
    left = max(1.0 - sum(ask.shares.values()), 0.0) / max(len(unnamed), 1)
    weights = [ask.shares.get(scope.memory_ref, left) for scope in scopes]
    first: list[dict[str, Any]] = []
    rest: list[dict[str, Any]] = []
    for outcome, weight in zip(outcomes, weights, strict=True):
        room = budget * weight
        for row in outcome.rows:
            cost = row["row_costs"][cut.ordinal]
            room -= cost
            (first if room >= 0 else rest).append(row)
    return sorted(first, key=_best_first) + sorted(rest, key=_best_first)


def _best_first(row: Mapping[str, Any]) -> tuple[float, int]:
    return (-row["score"], -row["seq"])


def row_text(row: Mapping[str, Any]) -> str:
    """The row whose cost was stored at write."""
    return render_row(
        kind=row["kind"],
        id=row["id"],
        content=row["content"],
        observed=to_wire(from_datetime(row["observed_at"]))[:10],
        confidence=row["confidence"],
    )
