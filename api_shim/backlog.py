"""How much is in the inbox, asked of the ledger when somebody scrapes the metrics, and not too often."""

import asyncio
import time

import psycopg

from api_shim.database import Database
from api_shim.metrics import Inbox, Metrics
from foreword.errors import Unavailable

FRESH_SECONDS = 5.0
_PATIENCE = 3.0


class Backlog:
    """Keeps the gauges of the inbox no older than ``FRESH_SECONDS``, or absent."""

    def __init__(self, database: Database, metrics: Metrics) -> None:
        self._database = database
        self._metrics = metrics
        self._asking = asyncio.Lock()
        self._asked: float | None = None

    async def refresh(self) -> None:
        """Asks anew when the last answer, or the last try, is old; never raises for a ledger that is away."""
        async with self._asking:
            if self._asked is not None and time.monotonic() - self._asked < FRESH_SECONDS:
                return
            self._metrics.inbox(await self._ask())
            self._asked = time.monotonic()

    async def _ask(self) -> Inbox | None:
        """None while the ledger is away, too slow to say, or not migrated to this version."""
        try:
            async with asyncio.timeout(_PATIENCE):
                (row,) = await self._database.ask("backlog")
        except (Unavailable, TimeoutError, psycopg.ProgrammingError):
            return None
        return Inbox(**row)
