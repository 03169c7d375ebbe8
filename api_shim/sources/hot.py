"""The hot view as the shim reads it: one GET of a head, else one EVALSHA_RO of the window behind it.

A connection knows the server run it was made to; a head or window written to another run is cold.
"""

from collections.abc import Awaitable
from itertools import cycle
from typing import Any, NamedTuple

from redis.exceptions import NoScriptError, RedisError

from api_shim.sources.connection import Connection
from foreword import hot_view, resources
from foreword.budget import WALK_LIMIT, Selection
from foreword.errors import Unavailable
from foreword.head import Head
from foreword.keys import ViewKeys, head_key, view_keys
from foreword.page import Ask, Page, join, page
from foreword.scope import Scope


class Sight(NamedTuple):
    """A head as it was found, not looked into yet, and the run of the server that gave it."""

    raw: bytes
    run_id: str


class Glance(NamedTuple):
    """What the hot view says: the page if it can tell, and whether the scope is cold.

    ``steady`` are the instants (ms) at which the scope, as long as its head stays, holds the same entries.
    """

    page: Page | None
    cold: bool
    source: str
    steady: range


COLD = Glance(page=None, cold=True, source="ledger", steady=range(0))


class HotView:
    """Reads heads and windows, and makes scopes cold for removals."""

    def __init__(self, url: str, *, connections: int = 1) -> None:
        self._all_connections = [Connection(url) for _ in range(connections)]
        self._turns = cycle(self._all_connections)
        self._script = resources.text("api_shim.sources", "window.lua")
        self._sha: bytes | None = None

    async def close(self) -> None:
        """Closes every connection."""
        for connection in self._all_connections:
            await connection.close()

    async def look(self, scope: Scope) -> Sight | None:
        """The head of a scope; None when there is none, or the server is away."""
        try:
            raw, run_id = await self._command("GET", head_key(scope))
        except RedisError:
            return None
        return None if raw is None else Sight(raw, run_id)

    async def read(
        self, scope: Scope, sight: Sight | None, ask: Ask, now: int, *, full: bool = False
    ) -> Glance:
        """The page of a recency read, from the head that was seen or in one call from the window behind it.

        ``full`` asks for more fields than the hot view has.
        """
        if sight is None:
            return COLD
        head = Head.decode(sight.raw, run_id=sight.run_id, now=now)
        if head is None:
            return COLD
        steady = head.summary.steady(now)
        found = None if full else head.read(ask, now)
        if found is not None:
            return Glance(page=found, cold=False, source="head", steady=steady)
        if head.complete or ask.filtered or full:
            return Glance(page=None, cold=False, source="ledger", steady=steady)
        try:
            found, cold = await self._window(view_keys(scope), ask, now, sight.run_id)
        except RedisError:
            found, cold = None, True
        source = "ledger" if found is None else "window"
        return Glance(page=found, cold=cold, source=source, steady=steady)

    async def _window(self, keys: ViewKeys, ask: Ask, now: int, run_id: str) -> tuple[Page | None, bool]:
        """The page if the window holds what it needs, and whether the window is cold."""
        arguments = (
            2,
            keys.order,
            keys.rows,
            run_id,
            now,
            ask.ordinal,
            -1 if ask.budget is None else ask.budget,
            ask.limit,
            ask.fit,
            "+inf" if ask.before is None else ask.before,
            WALK_LIMIT,
        )
        reply, answering = await self._evaluate(arguments)
        if reply is None or answering != run_id:
            return None, True
        if reply == 0:
            return None, False
        total, used, visited, oversize, ended, smallest, last, *fragments = reply
        selection = Selection(
            kept=tuple(range(len(fragments))),
            used=used,
            visited=visited,
            oversize=oversize,
            ended=ended.decode(),
            smallest_omitted=None if smallest < 0 else smallest,
        )
        found = page(
            ask, fragments=join(fragments), selection=selection, total=total, last_visited=last or None
        )
        return found, False

    async def _evaluate(self, arguments: tuple[Any, ...]) -> tuple[Any, str]:
        if self._sha is None:
            self._sha, _ = await self._command("SCRIPT", "LOAD", self._script)
        try:
            return await self._command("EVALSHA_RO", self._sha, *arguments)
        except NoScriptError:
            self._sha = None
            return await self._evaluate(arguments)

    async def open(self, scope: Scope, token: str) -> None:
        """Makes a scope cold; its ledger transaction has locked it and has not committed yet."""
        await self._all([hot_view.opening(view_keys(scope), token)])

    async def void(self, scope: Scope) -> None:
        """Makes a scope cold for good, until a rebuild."""
        await self._all([hot_view.voiding(view_keys(scope))])

    async def window(self, scope: Scope) -> int | None:
        """Entries in a scope's window; None when it is cold or the server is away."""
        keys = view_keys(scope)
        try:
            head, _ = await self._command("EXISTS", keys.head)
            size, _ = await self._command("ZCARD", keys.order)
        except RedisError:
            return None
        return int(size) if head and size else None

    async def ping(self) -> None:
        """Unavailable when the server does not answer."""
        await self._all([("PING",)])

    async def _all(self, commands: list[hot_view.Command]) -> None:
        try:
            for command in commands:
                await self._command(*command)
        except RedisError as error:
            raise Unavailable("The hot view is not available.") from error

    def _command(self, *command: Any) -> Awaitable[tuple[Any, str]]:
        """The reply, and the server run that gave it. Every command here may be repeated."""
        return next(self._turns).ask(*command)
