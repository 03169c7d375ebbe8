"""Rankings from the ledger: one composed statement each, cut by the law from stored costs."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from api_shim.database import Database, Rows
from api_shim.filters import Filter
from foreword import resources
from foreword.budget import WALK_LIMIT, Fit, Report, Selection, report
from foreword.instant import to_datetime
from foreword.scope import Scope

MOST: Final = WALK_LIMIT + 1
"""Rows a ranking offers to the law: no page holds or visits more."""
FIRST: Final = 200
"""Rows that are ranked at first; all of ``MOST`` only when the law wants more."""
_LEAST_COST: Final = 8
_SPARE: Final = 16
"""What an entry costs at the least, as a rule, and how many more than fit are ranked at first."""

KEPT_PLAN: Final = {"plan_cache_mode": "force_generic_plan", "enable_seqscan": "off"}
"""For a statement with one sensible plan, by the scope's own index: planning anew may take longer than it."""
_GRAPH: Final = KEPT_PLAN | {
    "enable_sort": "off",  # whatever else the statement sorts, its vectors come by the graph
    "hnsw.iterative_scan": "relaxed_order",  # what comes is sorted anew before the law sees it
    "hnsw.ef_search": "400",
    "hnsw.max_scan_tuples": "20000",
    "hnsw.scan_mem_multiplier": "4",
}
_JOIN_ENTRIES: Final = (
    "JOIN entries e ON e.tenant_id = v.tenant_id AND e.scope_id = v.scope_id AND e.id = v.id"
)


@dataclass(frozen=True, kw_only=True, slots=True)
class Cut:
    """What a ranked read may return, in one counter."""

    counter: str
    ordinal: int
    budget: int | None
    limit: int
    fit: Fit = "prefix"


@dataclass(frozen=True, kw_only=True, slots=True)
class Shape:
    """What a search must know of a scope before it asks: numbers, size, and who speaks there.

    ``scope_id`` is 0 for a scope nobody has written to; ``model`` is None unless the question's model serves;
    ``documents`` are entries with words.
    """

    scope_id: int
    in_graph: bool
    model: int | None
    documents: int = 0
    speakers: tuple[str, ...] = ()


@dataclass(frozen=True, kw_only=True, slots=True)
class Found:
    """Kept rows, best first, and the report. ``rows`` hold every column, ``score`` and ``similarity``."""

    rows: Rows
    report: Report


async def shape(database: Database, scope: Scope, model: str | None, *, speakers: bool) -> Shape:
    """The shape of a scope, whether or not there is such a scope."""
    params = {"ref": scope.memory_ref, "name": model, "speakers": speakers}
    (row,) = await database.search(scope.tenant, query("shape"), params)
    return Shape(
        scope_id=row["scope_id"],
        in_graph=row["in_graph"],
        model=row["model"],
        documents=row["documents"],
        speakers=tuple(row["speakers"]),
    )


def query(*names: str, **pieces: object) -> bytes:
    """Named parts of ``search.sql`` joined, with the pieces put into their braces."""
    parts = resources.queries("api_shim.sources", "search.sql")
    return "\n".join(parts[name] for name in names).format(**pieces).encode()


def narrowed(chosen: Filter) -> dict[str, object]:
    """The pieces a filter puts into a statement: its condition, what it joins, what it counts."""
    universe = query("universe_open" if chosen.is_open else "universe_filtered", filter=chosen.sql)
    return {
        "filter": chosen.sql,
        "join": "" if chosen.is_open else _JOIN_ENTRIES,
        "universe": universe.decode(),
    }


async def ranked(
    database: Database,
    scope: Scope,
    leg: str,
    *,
    cut: Cut,
    chosen: Filter,
    now: int,
    **params: object,
) -> Found:
    """A ``lexical`` or ``filter`` ranking, cut."""
    composed = query("scope", leg, "cut", **narrowed(chosen))
    given = _params(scope, cut, chosen, now) | params
    return _found(await database.search(scope.tenant, composed, given), cut)


async def nearest(
    database: Database,
    scope: Scope,
    known: Shape,
    *,
    cut: Cut,
    vector: str,
    floor: float,
    chosen: Filter,
    now: int,
    dimension: int,
) -> Found:
    """The ranking by raw cosine, exact or by graph; rows below ``floor`` are not offered."""
    params = _params(scope, cut, chosen, now) | {
        "vector": vector,
        "floor": floor,
        "model": known.model,
        "scope": known.scope_id,
    }
    if known.in_graph:
        pieces = narrowed(chosen) | graph_pieces(known, dimension)
        composed = query("scope", "semantic_graph", "cut", **pieces)
        for most in (FIRST, MOST):
            rows = await database.search(scope.tenant, composed, params | {"most": most}, local=_GRAPH)
            if falls_short(rows[0]["seen"], most, rows[0]["looked_at"], chosen):
                break
            if most == MOST or not _wants_more(rows, most):
                return _found(rows, cut)
    elif floor <= -1 and chosen.is_open:
        composed = query("scope", "semantic_nearest", "cut", **narrowed(chosen))
        most = _at_first(cut)
        rows = await database.search(scope.tenant, composed, params | {"most": most}, local=KEPT_PLAN)
        if _wants_more(rows, most):
            rows = await database.search(scope.tenant, composed, params, local=KEPT_PLAN)
        return _found(rows, cut)
    composed = query("scope", "semantic_exact", "cut", **narrowed(chosen))
    return _found(await database.search(scope.tenant, composed, params), cut)


def _at_first(cut: Cut) -> int:
    if cut.fit == "pack" or cut.budget is None:
        return min(FIRST, cut.limit + _SPARE)
    return min(FIRST, cut.limit + _SPARE, cut.budget // _LEAST_COST + _SPARE)


def _wants_more(rows: Rows, most: int) -> bool:
    """Whether the law came to the end of ``most`` rows and may take more."""
    return bool(rows[0]["ended"] == "end" and rows[0]["visited"] >= most)


def falls_short(seen: int, most: int, live: int, chosen: Filter) -> bool:
    """Whether a walk over the graph may have missed rows: it brought fewer than asked for and than there are.

    How many a filter lets through is not known here. Where they are few, looking at all of them is cheap.
    """
    return seen < most and not (chosen.is_open and seen >= live)


def graph_pieces(known: Shape, dimension: int) -> dict[str, object]:
    """What makes a statement one that the model's graph index can serve."""
    return {
        "vector": f"(v.embedding::halfvec({dimension}))",
        "type": f"halfvec({dimension})",
        "model": known.model if known.model is not None else 0,
    }


def graph_settings() -> Mapping[str, str]:
    """Settings of a transaction that walks the graph until it has enough rows of the scope."""
    return _GRAPH


def _params(scope: Scope, cut: Cut, chosen: Filter, now: int) -> dict[str, Any]:
    return {
        "ref": scope.memory_ref,
        "ordinal": cut.ordinal,
        "budget": cut.budget,
        "limit": cut.limit,
        "fit": cut.fit,
        "walk": WALK_LIMIT,
        "most": MOST,
        "now": to_datetime(now),
    } | dict(chosen.params)


def _found(rows: Rows, cut: Cut) -> Found:
    first = rows[0]
    kept = [row for row in rows if row["seq"] is not None]
    offered, looked_at = int(first["offered"]), int(first["looked_at"])
    ended = first["ended"]
    if ended == "end" and first["visited"] < offered:
        ended = "limit"  # the ranking itself stops at MOST rows
    selection = Selection(
        kept=tuple(range(len(kept))),
        used=int(first["used"]),
        visited=int(first["visited"]),
        oversize=int(first["oversize"]),
        ended="end" if first["visited"] >= offered else ended,
        smallest_omitted=first["smallest_omitted"],
    )
    told = report(
        selection,
        counter=cut.counter,
        budget=cut.budget,
        remaining=looked_at,
        similarity=looked_at - offered,
    )
    return Found(rows=kept, report=told)
