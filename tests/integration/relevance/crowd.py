"""A crowd: one scope of many rows beside small ones, their vectors generated in clusters, loaded by SQL."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import psycopg
from numpy.typing import NDArray

from api_shim.database import Database, Rows
from foreword.embedders.hashing import Hashing
from foreword.embedding import Vector, to_literal
from foreword.scope import Scope

CLUSTERS = 150
DIMENSION = Hashing.spec.dimension
_POSTINGS = """
    INSERT INTO postings SELECT tenant_id, scope_id, 'item', seq, 1, 2 FROM entries
    WHERE tenant_id = %(tenant)s AND scope_id = %(scope)s
"""
_BASE = 1_000_000_000  # beyond what is accepted meanwhile
Points = NDArray[np.float32]

_SCOPE = """
    INSERT INTO scopes (tenant_id, memory_ref, active, in_graph) VALUES (%s, %s, %s, %s) RETURNING scope_id
"""
_ENTRIES = """
    INSERT INTO entries (tenant_id, scope_id, seq, id, content, tags, kind, confidence, pinned, metadata,
                         links, supersedes, observed_at, created_at, costs, row_costs)
    SELECT %(tenant)s, %(scope)s, %(base)s + i, 'r' || i, 'item ' || i, '{}',
           CASE WHEN i %% 100 = 7 THEN 'note' WHEN cluster = 1 THEN 'core' ELSE 'fact' END, 1, false, '{}',
           '[]', '{}', now(), now(), '{5,5,30,8}', '{15,15,60,20}'
    FROM unnest(%(clusters)s::integer[]) WITH ORDINALITY AS c (cluster, i)
"""


@dataclass(frozen=True)
class Crowded:
    """A scope, its points by position - 1, and the cluster of each."""

    scope: Scope
    points: Points
    clusters: NDArray[np.int64]

    def nearest(self, query: Points, k: int, among: NDArray[np.bool_] | None = None) -> list[float]:
        """The ``k`` largest similarities there are."""
        points = self.points if among is None else self.points[among]
        return sorted((points @ query).tolist(), reverse=True)[:k]


class Planted:
    """An embedder whose questions name points: the model of the hashing one, by other means."""

    spec = Hashing.spec

    def __init__(self) -> None:
        self.points: dict[str, Points] = {}

    def embed(self, texts: Sequence[str]) -> list[Vector]:
        """The planted points."""
        return [self.points[text].tolist() if text in self.points else [1.0] * DIMENSION for text in texts]

    def is_cut(self, text: str) -> bool:
        """Never."""
        return False


@dataclass
class Spy:
    """A database that remembers what was asked of it last."""

    database: Database
    asked: list[tuple[int, bytes, Mapping[str, object], Mapping[str, str] | None]] = field(
        default_factory=list
    )

    async def search(
        self,
        tenant: int,
        query: bytes,
        params: Mapping[str, object],
        *,
        local: Mapping[str, str] | None = None,
    ) -> Rows:
        """Asks and remembers."""
        self.asked.append((tenant, query, params, local))
        return await self.database.search(tenant, query, params, local=local)

    async def plan(self, asked: tuple[int, bytes, Mapping[str, object], Mapping[str, str] | None]) -> str:
        """How PostgreSQL carries out a statement that was asked."""
        tenant, query, params, local = asked
        rows = await self.database.search(tenant, b"EXPLAIN " + query, params, local=local)
        return "\n".join(row["QUERY PLAN"] for row in rows)


class Source:
    """Makes crowds from one set of cluster centres, so that all scopes lie in the same places."""

    def __init__(self, seed: int = 11) -> None:
        self.random = np.random.default_rng(seed)
        self.centres = _unit(self.random.normal(size=(CLUSTERS, DIMENSION)))

    def points(self, n: int) -> tuple[Points, NDArray[np.int64]]:
        """Points around the centres, as half precision keeps them, and the cluster of each."""
        clusters = self.random.integers(0, CLUSTERS, n)
        spread = self.random.normal(size=(n, DIMENSION)) * 0.08
        return _unit(self.centres[clusters] + spread), clusters

    def query(self) -> Points:
        """A question somewhere near a centre."""
        return self.points(1)[0][0]

    def load(
        self, conn: "psycopg.Connection[Any]", scope: Scope, model: int, n: int, *, in_graph: bool
    ) -> Crowded:
        """Puts ``n`` rows into a scope."""
        points, clusters = self.points(n)
        row = conn.execute(_SCOPE, (scope.tenant, scope.memory_ref, n, in_graph)).fetchone()
        assert row is not None
        params = {"tenant": scope.tenant, "scope": row[0], "clusters": clusters.tolist(), "base": _BASE}
        with conn.transaction():
            conn.execute(
                "SET LOCAL session_replication_role = replica"
            )  # the triggers have tests of their own
            conn.execute(_ENTRIES, params)
            conn.execute(_POSTINGS, params)
            conn.execute(
                "UPDATE scopes SET documents = %s, terms = %s WHERE scope_id = %s", (n, 2 * n, row[0])
            )
        copy = "COPY vectors (tenant_id, scope_id, model_id, seq, id, in_graph, costs, embedding) FROM STDIN"
        with conn.cursor().copy(copy) as target:
            for i, point in enumerate(points, 1):
                kept = (
                    scope.tenant,
                    row[0],
                    model,
                    _BASE + i,
                    f"r{i}",
                    in_graph,
                    "{5,5,30,8}",
                    to_literal(point.tolist()),
                )
                target.write_row(kept)
        return Crowded(scope, points, clusters)


def _unit(points: NDArray[Any]) -> Points:
    unit = points / np.linalg.norm(points, axis=1, keepdims=True)
    return unit.astype(np.float16).astype(np.float32)
