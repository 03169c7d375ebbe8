"""(a) A read of 1,024 tokens in process, against a raw GET of the same bytes over the same connection."""

import redis.asyncio as redis

from api_shim.sources.hot import HotView
from bench.corpus import Filling, turns
from bench.measure import in_turns
from bench.outcome import Outcome, Target
from bench.product import Product
from bench.stage import budgeted, make_scope, reading, run

_KEY = "bench:raw"


class RawGet(HotView):
    """The least a read can cost: one GET on the shim's own kind of pooled connection, and nothing else."""

    async def set(self, value: bytes) -> None:
        """What ``get`` is to return."""
        await self._command("SET", _KEY, value)

    async def get(self) -> object:
        """The value."""
        return await self._command("GET", _KEY)

    async def remove(self) -> None:
        """Takes the value away."""
        await self._command("DEL", _KEY)


def bench(product: Product) -> Outcome:
    """The outcome."""
    return run(_bench(product))


async def _bench(product: Product) -> Outcome:
    scope = make_scope(product, "bench:recency", [Filling(pool=turns(1000), number=1000)])
    options = budgeted(scope)
    raw = RawGet(product.redis_url, connections=32)
    client = redis.Redis.from_url(product.redis_url)
    async with reading(product) as parts:
        answer = await parts.reader.list(scope, options, reachable=True)
        await raw.set(answer.body)
        found = await in_turns(
            {
                "raw GET of the same bytes": raw.get,
                "redis-py's own GET": lambda: client.get(_KEY),
                "read, 1,024 tokens": lambda: parts.reader.list(scope, options, reachable=True),
            },
            rounds=7,
            calls=1500,
        )
        await raw.remove()
        await raw.close()
        await client.aclose()
    base, read = found["raw GET of the same bytes"].p50, found["read, 1,024 tokens"].p50
    return Outcome(
        name="recency",
        title="(a) Read in process: the newest within 1,024 tokens",
        columns=("", "p50 ms", "p99 ms", "ratio"),
        rows=[
            (name, f"{s.p50 * 1e3:.3f}", f"{s.p99 * 1e3:.3f}", f"{s.p50 / base:.2f}x")
            for name, s in found.items()
        ],
        targets=[Target(claim="read / raw GET at the median", value=read / base, bound=1.5)],
        remarks=[f"{answer.body.count(b'createdAt')} entries, {len(answer.body):,} bytes"],
        details={name: s.to_json() for name, s in found.items()},
    )
