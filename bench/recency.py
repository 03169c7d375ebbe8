"""(a) A read of 1,024 tokens in process, against a raw GET of the same bytes over the same connection."""

from api_shim.sources.hot import HotView
from bench.corpus import Filling, turns
from bench.measure import in_turns
from bench.outcome import Outcome, Target
from bench.pooled import PooledHotView
from bench.product import Product
from bench.stage import budgeted, make_scope, reading, run

_KEY = "bench:raw"


class RawGet(HotView):
    """The least a read can cost: one GET over the shim's own kind of connection, and nothing else."""

    async def set(self, value: bytes) -> None:
        """What ``get`` is to return."""
        await self._command("SET", _KEY, value)

    async def get(self) -> object:
        """The value."""
        return await self._command("GET", _KEY)

    async def remove(self) -> None:
        """Takes the value away."""
        await self._command("DEL", _KEY)


class PooledRawGet(RawGet, PooledHotView):
    """The same over a pool of connections."""


def bench(product: Product) -> Outcome:
    """The outcome."""
    return run(_bench(product))


async def _bench(product: Product) -> Outcome:
    scope = make_scope(product, "bench:recency", [Filling(pool=turns(1000), number=1000)])
    options = budgeted(scope)
    raw, pooled = RawGet(product.redis_url), PooledRawGet(product.redis_url)
    async with reading(product) as parts, reading(product, remembers=False) as fresh:
        answer = await parts.reader.list(scope, options, reachable=True)
        await raw.set(answer.body)
        found = await in_turns(
            {
                "raw GET of the same bytes": raw.get,
                "the same over a redis-py pool": pooled.get,
                "read, first": lambda: fresh.reader.list(scope, options, reachable=True),
                "read, again": lambda: parts.reader.list(scope, options, reachable=True),
            },
            rounds=7,
            calls=1500,
        )
        await raw.remove()
        await raw.close()
        await pooled.close()
    base = found["raw GET of the same bytes"].p50
    return Outcome(
        name="recency",
        title="(a) Read in process: the newest within 1,024 tokens",
        columns=("", "p50 ms", "p99 ms", "ratio"),
        rows=[
            (name, f"{s.p50 * 1e3:.3f}", f"{s.p99 * 1e3:.3f}", f"{s.p50 / base:.2f}x")
            for name, s in found.items()
        ],
        targets=[
            Target(claim=f"{name} / raw GET at the median", value=found[name].p50 / base, bound=1.5)
            for name in ("read, first", "read, again")
        ],
        remarks=[f"{answer.body.count(b'createdAt')} entries, {len(answer.body):,} bytes"],
        details={name: s.to_json() for name, s in found.items()},
    )
