"""One worker and one shim in this process, on real servers, driven call by call."""

import asyncio
import itertools
import json
import os
from collections.abc import Callable, Coroutine, Sequence
from typing import Any, TypeVar

import redis

from api_shim.accept import Acceptor, Receipt
from api_shim.counting import Counting
from api_shim.database import Database
from api_shim.memo import Memo
from api_shim.metrics import Metrics
from api_shim.read import Reader
from api_shim.remove import Remover
from api_shim.sources.hot import Glance
from api_shim.sources.hot import HotView as ReadingView
from api_shim.sources.recent import recent
from foreword import instant
from foreword.draft import DEFAULT_LIMITS, Draft
from foreword.head import Head
from foreword.keys import view_keys
from foreword.ledger.tenants import ensure_tenant
from foreword.page import Ask, Page, empty
from foreword.scope import Scope
from foreword.seal import Opener, Sealer, new_secret_key, public_key
from tests.services import Services
from worker.parts import Parts
from worker.steps.redactors import Redactors
from worker.stores.hot_view import HotView
from worker.stores.ledger import Ledger, open_pool

T = TypeVar("T")

EFFORT = int(os.environ.get("FOREWORD_TEST_EFFORT", "1"))
"""How many times as many examples the property tests try."""

_numbers = itertools.count()


def everything(**given: Any) -> Ask:
    """A read of all there is, or what ``given`` makes of it."""
    plain: dict[str, Any] = {
        "counter": "o200k_base",
        "ordinal": 0,
        "budget": None,
        "limit": 1000,
        "fit": "prefix",
    }
    return Ask(**(plain | given))


class Rig:
    """The parts of both sides. ``redis_url`` names another hot view than the services' own."""

    def __init__(self, services: Services, redis_url: str | None = None) -> None:
        self.services = services
        self.redis_url = redis_url or services.redis_url
        self.seal_key = new_secret_key()
        self.valkey = redis.Redis.from_url(self.redis_url)
        self.ledger = Ledger(open_pool(services.worker_url, size=6))
        self._runner = asyncio.Runner()
        self.database = Database(services.shim_url, size=3)
        self.reading = ReadingView(self.redis_url, connections=2)
        self.reader = Reader(
            hot_view=self.reading,
            database=self.database,
            counting=Counting(self.database),
            memo=Memo(2**20),
            metrics=Metrics(),
            rebuild=lambda scope: None,
        )
        self.remover = Remover(
            database=self.database, hot_view=self.reading, reader=self.reader, rebuild=lambda scope: None
        )
        self.acceptor = Acceptor(
            database=self.database,
            reader=self.reader,
            sealer=Sealer(public_key(self.seal_key)),
            digest_key=b"rig",
            metrics=Metrics(),
            announce=lambda tenant: None,
        )
        self.run(self.database.open())

    def close(self) -> None:
        """Closes every connection."""
        self.run(self.database.close())
        self.run(self.reading.close())
        self._runner.close()
        self.ledger.pool.close()
        self.valkey.close()

    def run(self, work: Coroutine[Any, Any, T]) -> T:
        """Runs the shim's side."""
        return self._runner.run(work)

    def tenant(self) -> int:
        """A new tenant."""
        return ensure_tenant(self.services.owner_url, f"rig-{next(_numbers)}")

    def scope(self, tenant: int) -> Scope:
        """A memory nobody has written to."""
        return Scope(tenant, f"rig/{next(_numbers)}")

    def hot_view(self, **sizes: int) -> HotView:
        """The worker's hot view with the sizes of production, or with these."""
        return HotView(self.valkey, **({"max_rows": 2000, "max_tokens": 256_000} | sizes))

    def parts(
        self,
        hot_view: HotView | None = None,
        *,
        batch: int = 256,
        keys: Sequence[str] | None = None,
        clock: Callable[[], int] = instant.now_ms,
    ) -> Parts:
        """A worker's parts."""
        opener = Opener.of([self.seal_key] if keys is None else keys)
        return Parts(
            ledger=self.ledger,
            hot_view=hot_view or self.hot_view(),
            opener=opener,
            sealer=Sealer(public_key(self.seal_key)),
            redactors=Redactors(opener),
            digest_key=b"rig",
            limits=DEFAULT_LIMITS,
            batch=batch,
            receipt_days=7,
            event_days=30,
            clock=clock,
        )

    def accept(self, tenant: int, drafts: Sequence[Draft]) -> list[Receipt]:
        """Puts Drafts in the inbox, as the door does."""
        return self.run(self.acceptor.accept(tenant, drafts))

    async def glance(self, scope: Scope, ask: Ask, now: int) -> Glance:
        """What the shim's hot view says."""
        return await self.reading.read(scope, await self.reading.look(scope), ask, now)

    def from_ledger(self, scope: Scope, ask: Ask, now: int, *, full: bool = False) -> Page:
        """What the ledger answers."""
        found = self.run(recent(self.database, scope, ask, now, full=full))
        return empty(ask) if found is None else found

    def from_head(self, scope: Scope, ask: Ask, now: int) -> Page | None:
        """What the packed head answers, if it is valid and can."""
        raw = self.valkey.get(view_keys(scope).head)
        head = None if raw is None else Head.decode(raw, run_id=self.run_id, now=now)
        return None if head is None else head.read(ask, now)

    def is_sifted(self, scope: Scope, now: int) -> bool:
        """Whether there is a valid head that passes over large rows."""
        raw = self.valkey.get(view_keys(scope).head)
        head = None if raw is None else Head.decode(raw, run_id=self.run_id, now=now)
        return head is not None and head.sifted

    def from_window(self, scope: Scope, ask: Ask, now: int) -> Page | None:
        """What the window answers, if it can; it is only asked when there is a valid head."""
        raw = self.valkey.get(view_keys(scope).head)
        if raw is None or Head.decode(raw, run_id=self.run_id, now=now) is None:
            return None
        found, _ = self.run(self.reading._window(view_keys(scope), ask, now, self.run_id))
        return found

    @property
    def run_id(self) -> str:
        """The server run as it is now."""
        return str(self.valkey.info("server")["run_id"])

    def disown(self, scope: Scope) -> None:
        """Makes head and window of a scope look as if another run of the server had been given them."""
        keys, other = view_keys(scope), b"f" * 40
        head = self.valkey.get(keys.head)
        if head is not None:
            self.valkey.set(keys.head, head[:4] + other + head[44:])
        meta = self.valkey.hget(keys.rows, "#")
        if meta is not None:
            self.valkey.hset(keys.rows, "#", other + meta[40:])

    def lapse(self, scope: Scope) -> None:
        """Lets so much time pass that every writer's token is over."""
        lease = view_keys(scope).lease
        for token in self.valkey.hkeys(lease):
            if token != b"#v":
                self.valkey.hset(lease, token, 1)


def ids_of(page: Page) -> list[str]:
    """Ids of a page's entries, in order."""
    return [entry["id"] for entry in json.loads(b"[" + page.entries + b"]")]
