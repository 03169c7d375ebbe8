"""Whether a model serves, asked of the ledger when somebody asks what this host does, and not too often."""

import asyncio
import time
from dataclasses import replace

import psycopg

from api_shim.capabilities import Capabilities
from api_shim.database import Database
from foreword.errors import Unavailable

FRESH_SECONDS = 2.0
_PATIENCE = 3.0


class Serving:
    """Takes from what a host is set up to do what cannot be done yet: meaning, until its model serves.

    While the ledger does not say, what it said last holds; before it has said anything, nothing is claimed.
    """

    def __init__(self, database: Database, configured: Capabilities) -> None:
        self._database = database
        self._configured = configured
        self._asking = asyncio.Lock()
        self._asked: float | None = None
        self._serves = False

    async def capabilities(self) -> Capabilities:
        """What this host does now."""
        if not self._configured.semantic:
            return self._configured
        async with self._asking:
            if self._asked is None or time.monotonic() - self._asked > FRESH_SECONDS:
                await self._ask(self._configured.model)
                self._asked = time.monotonic()
        return self._configured if self._serves else replace(self._configured, model=None)

    async def _ask(self, model: str | None) -> None:
        try:
            async with asyncio.timeout(_PATIENCE):
                (row,) = await self._database.ask("serves", {"name": model})
        except (Unavailable, TimeoutError, psycopg.ProgrammingError):
            return
        self._serves = row["serves"]
