"""THE SEARCH. The most relevant entries that fit, each mode by its own ranking and under its own name.

    question -> vector (remembered) -> one leg, cut in the ledger            semantic, lexical, filter
    question -> names, vector -> candidates -> fuse -> settle -> law          hybrid, of several memories too

``semantic`` (and ``rank=relevance``) is raw cosine and nothing else: without an embedder it is refused, never
replaced. ``hybrid`` goes on without its dense leg and says so in ``legs``.
"""

import asyncio
import json
from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from itertools import accumulate
from typing import Any, Final, Literal

from api_shim.block import StoredCosts
from api_shim.database import Database
from api_shim.filters import Filter
from api_shim.question import Question, Questions
from api_shim.ranking.candidate import Question as Asked
from api_shim.ranking.names import named, without
from api_shim.ranking.rank import RECIPE, Ranked, Recipe, orders, settle
from api_shim.session import is_sent
from api_shim.sources.candidates import Gathered, contents, gather
from api_shim.sources.ranked import Cut, Found, Shape, nearest, ranked, shape
from foreword.budget import Report, report, walk
from foreword.errors import Unavailable
from foreword.instant import now_ms
from foreword.scope import Scope

Mode = Literal["semantic", "lexical", "hybrid", "filter"]
MODES: Final[tuple[Mode, ...]] = ("semantic", "lexical", "hybrid", "filter")

_SPARE: Final = 60
_SPARE_TO_PACK: Final = 180
"""Rows read beyond those that fit: some are set aside as repeats, and packing looks at what comes after."""
_COMPARED: Final = 12


@dataclass(frozen=True, kw_only=True, slots=True)
class SearchAsk:
    """A search once it is validated. ``floor`` is a raw cosine; ``exclude`` are ids not to send again.

    ``spend`` is what the caller will spend of an answer whose cut has no budget. ``costs`` says what
    entries cost: their content, or their rows in one form.
    """

    mode: Mode
    cut: Cut
    text: str = ""
    floor: float = -1.0
    chosen: Filter = field(default_factory=Filter)
    costs: StoredCosts = "costs"
    exclude: frozenset[str] = frozenset()
    spend: int | None = None


@dataclass(frozen=True, kw_only=True, slots=True)
class Outcome:
    """Entries as ledger rows, best first; the report; which legs answered; whether the question was cut."""

    rows: Sequence[dict[str, Any]]
    report: Report
    legs: tuple[str, ...]
    is_cut: bool = False


@dataclass(frozen=True, kw_only=True, slots=True)
class _Brought:
    """What one memory brings up for a question, and the question as it takes it."""

    scope: Scope
    known: Shape
    gathered: Gathered
    asked: Asked


@dataclass(frozen=True)
class Searcher:
    """The search flow over the ledger."""

    database: Database
    questions: Questions
    recipe: Recipe = RECIPE

    async def search(self, scope: Scope, ask: SearchAsk) -> Outcome:
        """The outcome; Unavailable when the mode asked for cannot be had now."""
        now = now_ms()
        if ask.mode == "filter":
            return _outcome(
                await ranked(self.database, scope, "filter", cut=ask.cut, chosen=ask.chosen, now=now),
                "filter",
            )
        if ask.mode == "lexical":
            question = await self.questions.read(ask.text, dense=False)
            found = await ranked(
                self.database, scope, "lexical", cut=ask.cut, chosen=ask.chosen, now=now, words=question.text
            )
            return _outcome(found, "lexical", question)
        if ask.mode == "hybrid":
            (outcome,) = await self.across([scope], ask)
            return outcome
        question, known = await asyncio.gather(
            self.questions.read(ask.text),
            shape(self.database, scope, self.questions.model, speakers=False),
        )
        if question.vector is None or known.model is None:
            raise Unavailable("Semantic search is not available: the embedder does not answer.")
        found = await nearest(
            self.database,
            scope,
            known,
            cut=ask.cut,
            vector=question.vector,
            floor=ask.floor,
            chosen=ask.chosen,
            now=now,
            dimension=self.questions.dimension,
        )
        return _outcome(found, "semantic", question)

    async def across(self, scopes: Sequence[Scope], ask: SearchAsk) -> list[Outcome]:
        """The hybrid search of several memories: an outcome each, by scores that can be compared."""
        now = now_ms()
        question, shapes = await asyncio.gather(self.questions.read(ask.text), self._shapes(scopes))
        brought = [
            await self._brought(scope, ask, known, question, now)
            for scope, known in zip(scopes, shapes, strict=True)
        ]
        ranked_each = orders([(one.asked, one.gathered.candidates) for one in brought], self.recipe.weights)
        return [
            await self._settled(one, best, ask, question, now)
            for one, best in zip(brought, ranked_each, strict=True)
        ]

    async def _shapes(self, scopes: Sequence[Scope]) -> list[Shape]:
        return [await shape(self.database, scope, self.questions.model, speakers=True) for scope in scopes]

    async def _brought(
        self, scope: Scope, ask: SearchAsk, known: Shape, question: Question, now: int
    ) -> "_Brought":
        vector = question.vector if known.model is not None else None
        asked_of = named(question.text, known.speakers)
        gathered = await gather(
            self.database,
            scope,
            known,
            words=without(question.text, asked_of),
            speaker=next(iter(asked_of)) if len(asked_of) == 1 else None,
            vector=vector,
            floor=ask.floor,
            ordinal=ask.cut.ordinal,
            costs=ask.costs,
            chosen=ask.chosen,
            now=now,
            dimension=self.questions.dimension,
        )
        asked = Asked(text=question.text, mass=gathered.mass, speakers=asked_of)
        return _Brought(scope=scope, known=known, gathered=gathered, asked=asked)

    async def _settled(
        self, brought: "_Brought", best: list[Ranked], ask: SearchAsk, question: Question, now: int
    ) -> Outcome:
        gathered, asked = brought.gathered, brought.asked
        if ask.exclude:
            best = [one for one in best if not is_sent(one.candidate.id, ask.exclude)]
        top = best[: _fitting([one.candidate.cost for one in best], ask)]
        positions = [one.candidate.seq for one in top]
        rows = await contents(
            self.database,
            brought.scope,
            brought.known,
            seqs=positions,
            compared=positions[:_COMPARED],
            now=now,
        )
        settled = settle(
            asked, [_with_content(one, rows) for one in top if one.candidate.seq in rows], self.recipe
        )
        costs = [one.candidate.cost for one in settled.ranked]
        selection = walk(costs, budget=ask.cut.budget, limit=ask.cut.limit, fit=ask.cut.fit)
        kept = [
            rows[one.candidate.seq] | {"score": one.score, "similarity": one.candidate.cosine}
            for one in (settled.ranked[i] for i in selection.kept)
        ]
        unread = len(best) - len(top)
        if unread and selection.ended == "end":
            selection = replace(selection, ended="limit")
        offered = len(settled.ranked) + unread
        unlike = gathered.live - len(gathered.candidates) + len(settled.repeated)
        told = report(
            selection,
            counter=ask.cut.counter,
            budget=ask.cut.budget,
            remaining=offered + unlike,
            similarity=unlike,
        )
        is_dense = question.vector is not None and brought.known.model is not None
        legs = ("semantic", "lexical") if is_dense else ("lexical",)
        return Outcome(rows=kept, report=told, legs=legs, is_cut=question.is_cut)


def _fitting(costs: Sequence[int], ask: SearchAsk) -> int:
    """How many of the best are worth reading whole."""
    budget = ask.cut.budget if ask.spend is None else ask.spend
    if budget is None:
        return ask.cut.limit + _SPARE
    spent = list(accumulate(cost if cost <= budget else 0 for cost in costs))
    spare = _SPARE_TO_PACK if ask.cut.fit == "pack" else _SPARE
    return min(bisect_right(spent, budget), ask.cut.limit) + spare


def _with_content(one: Ranked, rows: dict[int, dict[str, Any]]) -> Ranked:
    row = rows[one.candidate.seq]
    vector = None if row["embedding"] is None else json.loads(row["embedding"])
    return replace(one, candidate=replace(one.candidate, content=row["content"], vector=vector))


def _outcome(found: Found, leg: str, question: Question | None = None) -> Outcome:
    return Outcome(
        rows=found.rows,
        report=found.report,
        legs=(leg,),
        is_cut=question is not None and question.is_cut,
    )
