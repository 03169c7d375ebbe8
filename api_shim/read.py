"""THE READ. The newest entries that fit, from counts that already exist.

    options -> [counter complete?] -> [wait for a position] -> GET head
            -> memo | head | window | ledger -> join bytes -> answer

Every read sees the head first: while it is the same, so is the answer. The hot view answers when it can vouch
for the answer; otherwise the ledger gives the same one, and a rebuild is asked for. A foreign, malformed or
unknown memoryRef is an empty memory.
"""

import asyncio
import time
from collections.abc import Callable
from dataclasses import dataclass

from api_shim.answer import Answer, listing
from api_shim.counting import Counting
from api_shim.database import Database
from api_shim.memo import Memo
from api_shim.metrics import Metrics
from api_shim.options import ReadOptions
from api_shim.sources.hot import HotView, Sight
from api_shim.sources.recent import recent
from foreword.errors import Unavailable
from foreword.instant import now_ms
from foreword.page import Ask, Page, empty
from foreword.scope import Scope

_PATIENCE = 5.0
_FIRST_LOOK, _LONGEST_LOOK = 0.002, 0.05


@dataclass(frozen=True)
class Reader:
    """The read flow over its sources. ``rebuild`` asks a worker to warm a cold scope."""

    hot_view: HotView
    database: Database
    counting: Counting
    memo: Memo
    metrics: Metrics
    rebuild: Callable[[Scope], None]
    clock: Callable[[], int] = now_ms

    async def list(self, scope: Scope, options: ReadOptions, *, reachable: bool) -> Answer:
        """The answer of a list (RFC 0113: whole entries, never over the budget)."""
        await self.counting.require(options.counter)
        if not reachable:
            return listing(scope, options.filters, empty(options.ask()))
        if options.after is not None:
            await self.wait_until_filed(scope, options.after, _PATIENCE)
        now = self.clock()
        sight = await self.hot_view.look(scope)
        known = None if sight is None else self.memo.recall(scope, options, sight, now)
        if known is not None:
            self.metrics.read("memo")
            return known
        return await self._answer(scope, options, sight, now)

    async def _answer(self, scope: Scope, options: ReadOptions, sight: Sight | None, now: int) -> Answer:
        ask = options.ask()
        glance = await self.hot_view.read(scope, sight, ask, now, full=options.all_fields)
        self.metrics.read(glance.source)
        page = glance.page
        if page is None:
            page = await self._from_ledger(scope, options, ask, now, cold=glance.cold)
        answer = listing(scope, options.filters, page)
        if sight is not None and not glance.cold:
            self.memo.keep(scope, options, sight, glance.steady, answer)
        return answer

    async def _from_ledger(
        self, scope: Scope, options: ReadOptions, ask: Ask, now: int, *, cold: bool
    ) -> Page:
        found = await recent(self.database, scope, ask, now, full=options.all_fields)
        if found is None:
            return empty(ask)
        if cold:
            self.rebuild(scope)
        return found

    async def wait_until_filed(self, scope: Scope, seq: int, seconds: float) -> None:
        """Returns once nothing accepted at or before ``seq`` waits in the inbox; Unavailable after that."""
        deadline, pause = time.monotonic() + seconds, _FIRST_LOOK
        while await self.is_pending(scope, seq):
            left = deadline - time.monotonic()
            if left <= 0:
                raise Unavailable("The awaited write is not visible yet.")
            await asyncio.sleep(min(pause, left))
            pause = min(pause * 2, _LONGEST_LOOK)

    async def is_pending(self, scope: Scope, seq: int) -> bool:
        """Whether an accepted Draft at or before ``seq`` waits to be filed."""
        rows = await self.database.read(scope.tenant, "is_pending", {"ref": scope.memory_ref, "seq": seq})
        return bool(rows[0]["pending"])
