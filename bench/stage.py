"""The read path in this process, on the servers of a running product."""

import asyncio
from collections.abc import AsyncIterator, Coroutine, Sequence
from contextlib import asynccontextmanager
from typing import Any, TypeVar

import psycopg
import redis
import uvloop
from pydantic import SecretStr

from api_shim.bootstrap import build
from api_shim.options import ReadOptions
from api_shim.parts import Parts
from api_shim.settings import ShimSettings
from bench.corpus import Filling, fill
from bench.product import Product
from foreword.instant import now_ms
from foreword.scope import Scope
from worker.stores.hot_view import HotView
from worker.stores.ledger import Ledger, open_pool
from worker.stores.rebuild import rebuild

BUDGET = 1024

T = TypeVar("T")


def run(work: Coroutine[Any, Any, T]) -> T:
    """Runs on the event loop that the server uses."""
    with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
        return runner.run(work)


@asynccontextmanager
async def reading(product: Product, *, remembers: bool = True) -> AsyncIterator[Parts]:
    """The shim's own parts, built by its own bootstrap; without its memo every read is a first one."""
    settings = ShimSettings(
        database_url=SecretStr(product.shim_url),
        redis_url=SecretStr(product.redis_url),
        broker_url=SecretStr(product.broker_url),
        digest_key=SecretStr(product.credentials.digest_key),
        seal_public_key=product.seal_key,
    )
    if not remembers:
        settings.memo_bytes = 0
    parts = build(settings)
    await parts.database.open()
    try:
        yield parts
    finally:
        parts.bell.close()
        await parts.hot_view.close()
        await parts.database.close()


def tenant(product: Product) -> int:
    """The number of the product's first tenant."""
    with psycopg.connect(product.owner_url) as conn:
        found = conn.execute("SELECT tenant_id FROM tenants WHERE name = 'default'").fetchone()
    if found is None:
        raise LookupError("the product has no tenant")
    return int(found[0])


def make_scope(product: Product, memory_ref: str, fillings: Sequence[Filling]) -> Scope:
    """A scope with these entries, its hot view built by the worker's own code."""
    scope = Scope(tenant(product), memory_ref)
    fill(product.owner_url, scope.tenant, memory_ref, fillings)
    warm(product, scope)
    return scope


def warm(product: Product, scope: Scope) -> None:
    """Builds the hot view of a scope from the ledger."""
    pool = open_pool(product.worker_url, size=1)
    client = redis.Redis.from_url(product.redis_url)
    try:
        view = HotView(client, max_rows=2000, max_tokens=256_000)
        if not rebuild(scope, Ledger(pool), view, now_ms()):
            raise RuntimeError("the hot view could not be built")
    finally:
        client.close()
        pool.close()


def budgeted(scope: Scope, budget: int = BUDGET) -> ReadOptions:
    """The read that is measured: the newest within the budget, in o200k_base."""
    return ReadOptions(memory_ref=scope.memory_ref, counter="o200k_base", budget=budget)
