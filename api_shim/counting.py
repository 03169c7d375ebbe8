"""Which counters a read may ask for: those whose costs every entry has.

While ``foreword recount`` adds a counter its costs are not complete, and a read that asks for it is refused
rather than answered wrongly. A counter that is complete stays so.
"""

import time

from api_shim.database import Database
from foreword.errors import Unavailable

FRESH_SECONDS = 3.0
RETRY_SECONDS = 30


class Counting:
    """Asks the ledger which counters are complete, and remembers for a few seconds which are not."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self._complete: frozenset[str] = frozenset()
        self._asked: float | None = None

    async def require(self, counter: str) -> None:
        """Unavailable while ``counter`` is not complete.

        With the ledger away and nothing known yet the read goes on: a head that has the costs may answer.
        """
        if counter in self._complete:
            return
        now = time.monotonic()
        if self._asked is None or now - self._asked >= FRESH_SECONDS:
            try:
                rows = await self._database.ask("counters")
            except Unavailable:
                if self._asked is None:
                    return
            else:
                self._complete = frozenset(row["name"] for row in rows)
                self._asked = now
        if counter not in self._complete:
            raise Unavailable("This counter is still being added.", retry_after=RETRY_SECONDS)
