"""The hot view as the shim reads it: one GET of a head, else one EVALSHA_RO of the window behind it.

A connection remembers the server run it was made to; a head or window written to another run is cold.
"""

from dataclasses import dataclass
from typing import Any

import redis.asyncio as redis
from redis.exceptions import NoScriptError, RedisError

from foreword import hot_view, resources
from foreword.budget import WALK_LIMIT, Selection
from foreword.errors import Unavailable
from foreword.head import Head
from foreword.keys import ViewKeys, head_key, view_keys
from foreword.page import Ask, Page, join, page
from foreword.scope import Scope


@dataclass(frozen=True, slots=True)
class Glance:
    """What the hot view says: the page if it can tell, and whether the scope is cold."""

    page: Page | None
    cold: bool
    source: str


_COLD = Glance(page=None, cold=True, source="ledger")


class HotView:
    """Reads heads and windows, and makes scopes cold for removals."""

    def __init__(self, url: str, *, connections: int) -> None:
        self._pool = redis.BlockingConnectionPool.from_url(
            url,
            max_connections=connections,
            timeout=2,
            redis_connect_func=_greet,
            socket_timeout=2,
            socket_connect_timeout=1,
        )
        self._script = resources.text("api_shim.sources", "window.lua")
        self._sha: bytes | None = None

    async def close(self) -> None:
        """Closes every connection."""
        await self._pool.disconnect()

    async def read(self, scope: Scope, ask: Ask, now: int) -> Glance:
        """The page of a recency read, in one call when the head holds it; cold when the server is away."""
        try:
            return await self._read(scope, ask, now)
        except (RedisError, OSError):
            return _COLD

    async def _read(self, scope: Scope, ask: Ask, now: int) -> Glance:
        raw, run_id = await self._command("GET", head_key(scope))
        head = None if raw is None else Head.decode(raw, run_id=run_id, now=now)
        if head is None:
            return _COLD
        found = head.read(ask, now)
        if found is not None:
            return Glance(found, cold=False, source="head")
        if head.complete:
            return Glance(None, cold=False, source="ledger")
        found = await self._window(view_keys(scope), ask, now, run_id)
        if found is None:
            return Glance(None, cold=True, source="ledger")
        return Glance(found, cold=False, source="window")

    async def _window(self, keys: ViewKeys, ask: Ask, now: int, run_id: str) -> Page | None:
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
        reply = await self._evaluate(arguments)
        if reply is None:
            return None
        total, used, visited, oversize, ended, smallest, last, *fragments = reply
        selection = Selection(
            kept=tuple(range(len(fragments))),
            used=used,
            visited=visited,
            oversize=oversize,
            ended=ended.decode(),
            smallest_omitted=None if smallest < 0 else smallest,
        )
        return page(
            ask, fragments=join(fragments), selection=selection, total=total, last_visited=last or None
        )

    async def _evaluate(self, arguments: tuple[Any, ...]) -> list[Any] | None:
        if self._sha is None:
            self._sha, _ = await self._command("SCRIPT", "LOAD", self._script)
        try:
            reply, _ = await self._command("EVALSHA_RO", self._sha, *arguments)
        except NoScriptError:
            self._sha = None
            return await self._evaluate(arguments)
        return reply  # type: ignore[no-any-return]

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
        except (RedisError, OSError):
            return None
        return int(size) if head and size else None

    async def ping(self) -> None:
        """Unavailable when the server does not answer."""
        await self._all([("PING",)])

    async def _all(self, commands: list[hot_view.Command]) -> None:
        try:
            for command in commands:
                await self._command(*command)
        except (RedisError, OSError) as error:
            raise Unavailable("The hot view is not available.") from error

    async def _command(self, *command: Any) -> tuple[Any, str]:
        """One command on a pooled connection: its reply, and the server run that gave it.

        Every command here may be repeated, so a connection that a restart broke gets a second chance.
        """
        connection = await self._pool.get_connection()  # type: ignore[no-untyped-call]
        try:
            try:
                return await _exchange(connection, command)
            except (redis.ConnectionError, OSError):
                await connection.disconnect(nowait=True)
                return await _exchange(connection, command)
        except BaseException as error:
            if not isinstance(error, redis.ResponseError):
                await connection.disconnect(nowait=True)
            raise
        finally:
            await self._pool.release(connection)


async def _exchange(connection: Any, command: tuple[Any, ...]) -> tuple[Any, str]:
    await connection.send_command(*command)
    reply = await connection.read_response()
    return reply, connection.foreword_run_id


async def _greet(connection: Any) -> None:
    """Runs on every new connection, before it is used."""
    await connection.on_connect()
    await connection.send_command("INFO", "server")
    info = await connection.read_response()
    line = next(line for line in info.splitlines() if line.startswith(b"run_id:"))
    connection.foreword_run_id = line.partition(b":")[2].strip().decode()
