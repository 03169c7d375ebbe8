"""How much waits for a worker, asked of the ledger when somebody scrapes the metrics, and not too often."""

import asyncio
import time

import psycopg

from api_shim.database import Database
from api_shim.metrics import Metrics, Waiting
from foreword.errors import Unavailable

FRESH_SECONDS = 5.0
_PATIENCE = 3.0


class Backlog:
    """Keeps the gauges of what waits no older than ``FRESH_SECONDS``, or absent.

    Those of the embedding are there only where it ``embeds``.
    """

    def __init__(self, database: Database, metrics: Metrics, *, embeds: bool) -> None:
        self._database = database
        self._metrics = metrics
        self._embeds = embeds
        self._asking = asyncio.Lock()
        self._asked: float | None = None

    async def refresh(self) -> None:
        """Asks anew when the last answer, or the last try, is old; never raises for a ledger that is away."""
        async with self._asking:
            if self._asked is not None and time.monotonic() - self._asked < FRESH_SECONDS:
                return
            found = await self._ask()
            self._metrics.inbox(found.get("inbox"))
            self._metrics.unembedded(found.get("unembedded") if self._embeds else None)
            self._asked = time.monotonic()

    async def _ask(self) -> dict[str, Waiting]:
        """By queue; nothing while the ledger is away, too slow to say, or not migrated to this version."""
        try:
            async with asyncio.timeout(_PATIENCE):
                rows = await self._database.ask("backlog")
        except (Unavailable, TimeoutError, psycopg.ProgrammingError):
            return {}
        return {row.pop("queue"): Waiting(**row) for row in map(dict, rows)}
