"""Which counters a read may ask for: those whose costs every entry has.

While ``foreword recount`` adds a counter its costs are not complete, and a read that asks for it is refused
rather than answered wrongly; so is one that asks for JSON rows while older entries have no cost as such. What
is complete stays so.
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
        self._json: frozenset[str] = frozenset()
        self._asked: float | None = None

    async def require(self, counter: str, *, json: bool = False) -> None:
        """Unavailable while ``counter`` is not complete, with ``json`` also for JSON rows.

        With the ledger away and nothing known yet the read goes on: a head that has the costs may answer.
        """
        if counter in (self._json if json else self._complete):
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
                self._json = frozenset(row["name"] for row in rows if row["json_complete"])
                self._asked = now
        if counter not in self._complete:
            raise Unavailable("This counter is still being added.", retry_after=RETRY_SECONDS)
        if json and counter not in self._json:
            raise Unavailable(
                "Older entries have no cost as JSON rows yet: foreword recount counts them.",
                retry_after=RETRY_SECONDS,
            )
