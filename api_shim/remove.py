"""THE REMOVAL. What a removal took is never served again once it has answered.

    ledger row gone -> scope cold -> commit -> scope void -> 200

The scope goes cold before the commit, so that a shim that dies in between serves nothing of what it took; if
the hot view cannot be reached, nothing is removed and the answer is 503.
"""

import secrets
from collections.abc import Callable
from dataclasses import dataclass

from api_shim.database import WRITE_S, Database, patient
from api_shim.read import Reader
from api_shim.sources.hot import HotView
from foreword.errors import NotFound
from foreword.instant import to_datetime
from foreword.scope import Scope

_PATIENCE = 5.0


@dataclass(frozen=True)
class Remover:
    """The removal flow. ``rebuild`` asks a worker to warm the scope again."""

    database: Database
    hot_view: HotView
    reader: Reader
    rebuild: Callable[[Scope], None]

    @patient(WRITE_S)
    async def remove(self, scope: Scope, entry_id: str) -> None:
        """Removes one entry, or a Draft not yet filed; NotFound when there is none.

        A repeat after a lost answer voids the hot view again, though it is told NotFound.
        """
        async with self.database.transaction(scope.tenant) as transaction:
            rows = await transaction.run("remove", {"ref": scope.memory_ref, "id": entry_id})
            outcome = rows[0]["outcome"]
            if outcome != "unknown":
                await self._cool(scope)
        if outcome == "unknown":
            raise NotFound
        await self._void(scope)
        if outcome == "gone":
            raise NotFound

    @patient(WRITE_S)
    async def forget(self, scope: Scope, tag: str | None, before: int | None) -> int:
        """Removes what has the tag and was created before the instant (ms); how many are gone.

        With a tag it first waits until what is accepted is filed, since a sealed Draft shows no tags.
        """
        if tag is not None:
            rows = await self._last_pending(scope)
            await self.reader.wait_until_filed(scope, rows, _PATIENCE)
        moment = None if before is None else to_datetime(before)
        async with self.database.transaction(scope.tenant) as transaction:
            rows_gone = await transaction.run(
                "forget", {"ref": scope.memory_ref, "tag": tag, "before": moment}
            )
            await self._cool(scope)
        await self._void(scope)
        return int(rows_gone[0]["removed"])

    async def _last_pending(self, scope: Scope) -> int:
        async with self.database.transaction(scope.tenant) as transaction:
            rows = await transaction.run("last_pending", {"ref": scope.memory_ref})
        return int(rows[0]["seq"])

    async def _cool(self, scope: Scope) -> None:
        await self.hot_view.open(scope, secrets.token_hex(8))

    async def _void(self, scope: Scope) -> None:
        await self.hot_view.void(scope)
        self.rebuild(scope)
