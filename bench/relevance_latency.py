"""What a relevance read of 1,024 tokens takes beside embedding the question and a bare pgvector statement.

The read is ``rank=relevance`` in process: question to vector, ranking, cut, whole rows. Beside it stand the
same model called alone, then the shortest statement that ranks the same vectors, on one kept connection.
Vectors are generated in clusters around those of real texts. Each size is measured as the largest memory of
its ledger, the middle one once more beside the largest.
"""

import json
from collections import deque
from collections.abc import AsyncIterator, Iterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from itertools import count

import numpy as np
import psycopg

from api_shim.parts import Parts
from api_shim.search import Mode, SearchAsk
from api_shim.settings import ShimSettings
from api_shim.sources.ranked import Cut, graph_pieces, graph_settings, shape
from bench.corpus import turns
from bench.measure import Call, Series, in_turns
from bench.outcome import Outcome, Target
from bench.product import Product
from bench.relevance_corpus import dialogues, notes
from bench.relevance_stage import COUNTER, ORDINAL
from bench.stage import BUDGET, reading, run, tenant
from foreword.counters import COUNTERS, counter
from foreword.embedders.minilm import MiniLM
from foreword.embedding import Vector, to_literal
from foreword.resources import queries
from foreword.scope import Scope

SIZES = (1_000, 10_000, 200_000)
_MIDDLE = 10_000
_EXACT_ROWS = ShimSettings.model_fields["exact_rows"].default
_CALLS = 60
_SPREAD = 0.6
"""Length of what is added to a cluster's centre, itself of length 1."""


@dataclass(frozen=True, kw_only=True)
class _Taken:
    """The series of one size."""

    embedding: Series
    statement: Series
    read: Series
    cached: Series
    hybrid: Series

    @property
    def ratio(self) -> float:
        """The read over embedding and bare statement, at the median."""
        return self.read.p50 / (self.embedding.p50 + self.statement.p50)


def bench(product: Product) -> Outcome:
    """The outcome."""
    pool = _pool()
    serial = count()
    scopes, taken = dict[int, Scope](), dict[str, _Taken]()
    for size in SIZES:
        scopes[size] = make_scope(product, size, pool)
        taken[f"{size:,} rows"] = run(_take(product, scopes[size], serial))
    largest, middle = taken[f"{SIZES[-1]:,} rows"], taken[f"{_MIDDLE:,} rows"]
    taken[f"{_MIDDLE:,} beside {SIZES[-1]:,}"] = run(_take(product, scopes[_MIDDLE], serial))
    return Outcome(
        name="relevance_latency",
        title="The most relevant within 1,024 tokens, in process",
        columns=(
            "",
            "embed + statement ms",
            "read p50 ms",
            "p99 ms",
            "ratio",
            "embedder's share",
            "cached p50 ms",
            "p99 ms",
            "hybrid, cached p50 ms",
            "p99 ms",
        ),
        rows=[_row(name, found) for name, found in taken.items()],
        targets=[
            Target(claim=f"read / (embedding + statement), {name}", value=found.ratio, bound=1.5)
            for name, found in taken.items()
        ]
        + [
            Target(
                claim="read, vector cached, 10,000 rows, p50",
                value=middle.cached.p50 * 1e3,
                bound=5,
                unit=" ms",
            )
        ],
        remarks=[
            f"up to {_EXACT_ROWS:,} rows every vector is looked at, beyond that a graph (HNSW) is walked, "
            "unless the memory is a small part of it",
            f"bare statement at {SIZES[-1]:,} rows: {largest.statement.p50 * 1e3:.2f} ms, "
            f"at 10,000: {middle.statement.p50 * 1e3:.2f} ms",
        ],
        details={
            case: {name: series.to_json() for name, series in vars(found).items()}
            for case, found in taken.items()
        },
    )


async def _take(product: Product, scope: Scope, serial: Iterator[int]) -> _Taken:
    asked = [each.question for half in ("dev", "confirm") for each in dialogues(half).questions]
    asked += [each.question for each in notes().questions]
    async with reading(product) as parts:
        await parts.questions.read("warm")
        return await _timed(product, parts, scope, asked, serial)


async def _timed(
    product: Product, parts: Parts, scope: Scope, asked: Sequence[str], serial: Iterator[int]
) -> _Taken:
    model = MiniLM()
    few = asked[:40]
    vectors: deque[Vector] = deque(maxlen=_CALLS)

    async def embedding() -> None:
        vectors.extend(model.embed([_fresh(asked, serial)]))

    async def searching(mode: Mode, text: str) -> None:
        cut = Cut(counter=COUNTER, ordinal=ORDINAL, budget=BUDGET, limit=1000)
        await parts.searcher.search(scope, SearchAsk(mode=mode, cut=cut, text=text))

    async with _bare(product, parts, scope, vectors) as statement:
        variants: dict[str, Call] = {
            "embedding": embedding,
            "statement": statement,
            "read": lambda: searching("semantic", _fresh(asked, serial)),
            "cached": lambda: searching("semantic", few[next(serial) % len(few)]),
            "hybrid": lambda: searching("hybrid", few[next(serial) % len(few)]),
        }
        found = await in_turns(variants, rounds=4, calls=_CALLS)
    return _Taken(**found)


def _fresh(asked: Sequence[str], serial: Iterator[int]) -> str:
    """A question never asked before, so that no vector of it is remembered."""
    number = next(serial)
    return f"{asked[number % len(asked)]} ({number})"


@asynccontextmanager
async def _bare(
    product: Product, parts: Parts, scope: Scope, vectors: Sequence[Vector]
) -> AsyncIterator[Call]:
    """The nearest twenty rows' contents by the shortest statement, as the owner, whom no policy slows.

    Every call takes the next of ``vectors``: as fresh as those of a read, which meet no page in the cache.
    """
    known = await shape(parts.database, scope, parts.questions.model, speakers=False)
    exact = {"vector": "v.embedding", "type": "halfvec", "model": known.model}
    pieces = graph_pieces(known, parts.questions.dimension) if known.in_graph else exact
    only = "AND v.in_graph" if known.in_graph else ""
    statement = queries("bench", "relevance_fill.sql")["bare"].format(in_graph=only, **pieces).encode()
    serial = count()
    async with await psycopg.AsyncConnection.connect(product.owner_url, autocommit=True) as conn:
        for name, value in (graph_settings() if known.in_graph else {}).items():
            await conn.execute("SELECT set_config(%s, %s, false)", (name, value))

        async def ask() -> None:
            given = {
                "tenant": scope.tenant,
                "scope": known.scope_id,
                "vector": to_literal(vectors[next(serial) % len(vectors)]),
            }
            await (await conn.execute(statement, given, prepare=True)).fetchall()

        yield ask


def make_scope(product: Product, size: int, pool: str) -> Scope:
    """A scope of so many entries with generated vectors and true postings, in the graph if it is large.

    The graph is built once all vectors are there: one by one they would take several times as long.
    """
    scope = Scope(tenant(product), f"bench:latency:{size}")
    named = queries("bench", "relevance_fill.sql")
    given = {
        "tenant": scope.tenant,
        "ref": scope.memory_ref,
        "number": size,
        "in_graph": size > _EXACT_ROWS,
        "pool": pool,
        "noise": _noise(),
    }
    with psycopg.connect(product.owner_url, autocommit=True) as conn:
        conn.execute("SET session_replication_role = replica")
        conn.execute("SET maintenance_work_mem = '1GB'")
        conn.execute("SET max_parallel_maintenance_workers = 0")
        conn.execute(queries("bench", "filling.sql")["scope"].encode(), given)
        served = conn.execute(named["model"].encode(), {"name": MiniLM.spec.model}).fetchone()
        if served is None:
            raise LookupError("the product serves no model")
        model, graph = served
        if size > _EXACT_ROWS:
            conn.execute(f"DROP INDEX vectors_graph_{model:d}".encode())
        conn.execute(named["fill"].encode(), given | {"model": model})
        conn.execute(named["postings"].encode(), given)
        if size > _EXACT_ROWS:
            conn.execute(graph.encode())
        conn.execute("VACUUM (ANALYZE) entries, vectors, postings, scopes")
    return scope


def _pool() -> str:
    """Texts with exact costs and the vectors that a cluster has its centre at."""
    texts = [draft["content"] for draft in notes().drafts] + turns(600)
    costs = zip(*(counter(name).count_batch(texts) for name in COUNTERS), strict=True)
    centres = map(to_literal, MiniLM().embed(texts))
    return json.dumps(
        [
            {"content": text, "costs": cost, "centre": centre}
            for text, cost, centre in zip(texts, costs, centres, strict=True)
        ]
    )


def _noise() -> str:
    """What is added to the centres: 997 vectors of one length, the same every time."""
    noise = np.random.default_rng(7).normal(size=(997, MiniLM.spec.dimension))
    noise *= _SPREAD / np.linalg.norm(noise, axis=1, keepdims=True)
    return json.dumps([to_literal(value) for value in noise.tolist()])


def _row(name: str, found: _Taken) -> tuple[str, ...]:
    times = (
        found.embedding.p50 + found.statement.p50,
        found.read.p50,
        found.read.p99,
    )
    shown = [f"{value * 1e3:.2f}" for value in times]
    rest = (found.cached.p50, found.cached.p99, found.hybrid.p50, found.hybrid.p99)
    return (
        name,
        *shown,
        f"{found.ratio:.2f}x",
        f"{found.embedding.p50 / found.read.p50:.0%}",
        *(f"{value * 1e3:.2f}" for value in rest),
    )
