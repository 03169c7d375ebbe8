"""(d) Against the naive reader: fetch the newest rows, count tokens, cut, encode."""

import json

import psycopg
from psycopg.rows import dict_row
from psycopg_pool import AsyncConnectionPool

from bench.corpus import Filling, turns
from bench.measure import in_turns
from bench.outcome import Outcome
from bench.product import Product
from bench.stage import BUDGET, budgeted, make_scope, reading, run
from foreword import instant
from foreword.counters import counter
from foreword.resources import queries
from foreword.scope import Scope

_PAGE = 50
"""Rows the naive reader fetches: what peers' pages hold, and enough for this budget."""


class NaiveReader:
    """What one writes first: it has the index, yet no stored costs and no hot view."""

    def __init__(self, url: str) -> None:
        self._pool: AsyncConnectionPool[psycopg.AsyncConnection[dict[str, object]]] = AsyncConnectionPool(
            url, min_size=1, max_size=1, open=False, kwargs={"row_factory": dict_row}
        )
        self._query = queries("bench", "naive.sql")["newest"].encode()
        self._count = counter("o200k_base").count

    async def open(self) -> None:
        """Connects."""
        await self._pool.open(wait=True)

    async def close(self) -> None:
        """Disconnects."""
        await self._pool.close()

    async def list(self, scope: Scope, budget: int) -> bytes:
        """The newest entries that fit, as JSON."""
        async with self._pool.connection() as conn:
            given = {"tenant": scope.tenant, "ref": scope.memory_ref, "limit": _PAGE}
            rows = await (await conn.execute(self._query, given, prepare=True)).fetchall()
        kept, used = [], 0
        for row in rows:
            cost = self._count(str(row["content"]))
            if cost > budget:
                continue
            if used + cost > budget:
                break
            used += cost
            created = instant.to_wire(instant.from_datetime(row["created_at"]))  # type: ignore[arg-type]
            kept.append(
                {"id": row["id"], "content": row["content"], "tags": row["tags"], "createdAt": created}
            )
        body = {"memoryRef": scope.memory_ref, "entries": kept, "used": used}
        return json.dumps(body, ensure_ascii=False, separators=(",", ":")).encode()


def bench(product: Product) -> Outcome:
    """The outcome."""
    return run(_bench(product))


async def _bench(product: Product) -> Outcome:
    scope = make_scope(product, "bench:naive", [Filling(pool=turns(1000), number=10_000)])
    options = budgeted(scope)
    naive = NaiveReader(product.owner_url)
    await naive.open()
    async with reading(product) as parts:
        ours = json.loads((await parts.reader.list(scope, options, reachable=True)).body)["entries"]
        theirs = json.loads(await naive.list(scope, BUDGET))["entries"]
        if ours != theirs:
            raise AssertionError("the two readers do not return the same entries")
        found = await in_turns(
            {
                "naive: rows, then tiktoken": lambda: naive.list(scope, BUDGET),
                "read, 1,024 tokens": lambda: parts.reader.list(scope, options, reachable=True),
            },
            rounds=5,
            calls=500,
        )
    await naive.close()
    slow, fast = found.values()
    return Outcome(
        name="naive",
        title="(d) Against counting at read time, 10,000 entries",
        columns=("", "p50 ms", "p99 ms", "faster"),
        rows=[
            (name, f"{s.p50 * 1e3:.3f}", f"{s.p99 * 1e3:.3f}", f"{slow.p50 / s.p50:.1f}x")
            for name, s in found.items()
        ],
        remarks=[
            f"the naive reader has the same index and reads {_PAGE} rows in one round trip; both return the "
            f"same {len(ours)} entries",
            f"that is {slow.p50 / fast.p50:.1f}x at the median",
        ],
        details={name: s.to_json() for name, s in found.items()},
    )
