"""Candidates of the hybrid ranking: each leg's best, and in conversations what was said around them.

The legs are likeness, words, and the speaker whom the question names.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final

from api_shim.block import StoredCosts
from api_shim.database import Database, Rows
from api_shim.filters import Filter
from api_shim.ranking.candidate import Candidate
from api_shim.sources.ranked import (
    KEPT_PLAN,
    Shape,
    falls_short,
    graph_pieces,
    graph_settings,
    narrowed,
    query,
)
from foreword.errors import Unavailable
from foreword.instant import from_datetime, to_datetime
from foreword.scope import Scope

SMALL: Final = 1200
"""Entries of a scope up to which no leg is cut short."""
A_LEG: Final = 300
AROUND: Final = 240
"""In larger scopes: how many a leg brings up, and how many of the best bring the turns around them."""
_JOIN_WORDS: Final = (
    "JOIN entries e ON e.tenant_id = current_tenant() AND e.scope_id = %(scope)s AND e.seq = w.seq"
    " AND NOT e.superseded"
)


@dataclass(frozen=True, kw_only=True, slots=True)
class Gathered:
    """Candidates and the IDF mass of the question's words.

    ``live`` rows pass the filter, the candidates among them.
    """

    candidates: list[Candidate]
    mass: float
    live: int


async def gather(
    database: Database,
    scope: Scope,
    known: Shape,
    *,
    words: str,
    speaker: str | None,
    vector: str | None,
    floor: float,
    ordinal: int,
    costs: StoredCosts,
    chosen: Filter,
    now: int,
    dimension: int,
) -> Gathered:
    """One statement; ``floor`` decides who enters by likeness, and nobody else's similarity is hidden.

    A candidate's cost is the one stored in ``costs``. Unavailable where one of them has none yet.
    """
    is_small = known.documents <= SMALL
    most = SMALL if is_small else A_LEG
    params = {
        "ref": scope.memory_ref,
        "scope": known.scope_id,
        "words": words,
        "speaker": speaker,
        "whole": is_small,
        "vector": vector,
        "floor": floor,
        "ordinal": ordinal,
        "most": most,
        "around": SMALL if is_small else AROUND,
        "now": to_datetime(now),
    } | dict(chosen.params)
    pieces = narrowed(chosen) | {
        "join_words": "" if chosen.is_open else _JOIN_WORDS,
        "costs": costs,
    }
    in_graph = known.in_graph and vector is not None
    if in_graph:
        composed = query(
            "scope", "candidates", in_graph="AND v.in_graph", **pieces, **graph_pieces(known, dimension)
        )
        rows = await database.search(scope.tenant, composed, params, local=graph_settings())
        in_graph = not falls_short(rows[0]["seen"], most, rows[0]["universe"], chosen)
    if not in_graph:
        composed = query("scope", "candidates", in_graph="", **pieces, **_exact_pieces(known))
        rows = await database.search(scope.tenant, composed, params, local=KEPT_PLAN)
    found = [row for row in rows if row["seq"] is not None]
    if any(row["cost"] is None for row in found):
        raise Unavailable("Some entries are not counted yet: foreword recount counts them.")
    return Gathered(
        candidates=[_candidate(row) for row in found],
        mass=float(rows[0]["mass"] or 0),
        live=max(rows[0]["universe"], len(found)),
    )


async def contents(
    database: Database,
    scope: Scope,
    known: Shape,
    *,
    seqs: Sequence[int],
    compared: Sequence[int],
    now: int,
) -> dict[int, dict[str, Any]]:
    """Whole rows by position, the vectors of ``compared`` with them."""
    params = {
        "scope": known.scope_id,
        "model": known.model,
        "seqs": list(seqs),
        "compared": list(compared),
        "now": to_datetime(now),
    }
    rows: Rows = await database.search(scope.tenant, query("contents"), params, local=KEPT_PLAN)
    return {row["seq"]: row for row in rows}


def _exact_pieces(known: Shape) -> dict[str, object]:
    return {"vector": "v.embedding", "type": "halfvec", "model": known.model or 0}


def _candidate(row: dict[str, Any]) -> Candidate:
    return Candidate(
        seq=row["seq"],
        id=row["id"],
        cosine=row["cosine"],
        words=row["words"],
        speaker=row["speaker"],
        conversation=row["conversation"],
        turn=row["turn"],
        observed_at=from_datetime(row["observed_at"]),
        cost=row["cost"],
    )
