"""A prototype: every read of a process over one connection, pipelined as requests arrive.

It stands behind the interface of the shim's hot view, so that the same reads and the same server can be
measured with it. It knows no TLS, no cluster and no reconnect: it says what such a reader would give.
"""

import asyncio
from collections import deque
from typing import Any, cast

import hiredis
from redis.connection import parse_url
from redis.exceptions import NoScriptError, ResponseError

from api_shim.sources.hot import HotView


class MultiplexedHotView(HotView):
    """The shim's hot view with its pool of connections replaced by one shared one."""

    def __init__(self, url: str, *, connections: int) -> None:
        super().__init__(url, connections=connections)
        self._url = url
        self._link: _Link | None = None
        self._connecting = asyncio.Lock()

    async def close(self) -> None:
        """Closes the connection."""
        if self._link is not None:
            self._link.close()
        await super().close()

    async def _command(self, *command: Any) -> tuple[Any, str]:
        link = self._link
        if link is None:
            async with self._connecting:
                link = self._link = self._link or await _connect(self._url)
        reply = await link.ask(command)
        if isinstance(reply, hiredis.ReplyError):
            raise (
                NoScriptError(str(reply)) if str(reply).startswith("NOSCRIPT") else ResponseError(str(reply))
            )
        return reply, link.run_id


class _Link(asyncio.Protocol):
    """Commands of one turn of the event loop leave in one write; replies come in the order of commands."""

    run_id = ""

    def __init__(self) -> None:
        self._reader = hiredis.Reader()
        self._waiting: deque[asyncio.Future[Any]] = deque()
        self._queued: list[bytes] = []
        self._loop = asyncio.get_running_loop()
        self._transport: asyncio.Transport | None = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast(asyncio.Transport, transport)  # uvloop's is none by inheritance

    def data_received(self, data: bytes) -> None:
        self._reader.feed(data)
        while (reply := self._reader.gets()) is not False:
            waiter = self._waiting.popleft()
            if not waiter.done():
                waiter.set_result(reply)

    def connection_lost(self, exc: Exception | None) -> None:
        for waiter in self._waiting:
            if not waiter.done():
                waiter.set_exception(exc or ConnectionResetError())

    def ask(self, command: tuple[Any, ...]) -> "asyncio.Future[Any]":
        """The reply of a command."""
        if not self._queued:
            self._loop.call_soon(self._flush)
        self._queued.append(hiredis.pack_command(command))
        waiter = self._loop.create_future()
        self._waiting.append(waiter)
        return waiter

    def close(self) -> None:
        if self._transport is not None:
            self._transport.close()

    def _flush(self) -> None:
        assert self._transport is not None
        self._transport.write(b"".join(self._queued))
        self._queued.clear()


async def _connect(url: str) -> _Link:
    place = parse_url(url)  # type: ignore[no-untyped-call]
    loop = asyncio.get_running_loop()
    _, link = await loop.create_connection(_Link, place["host"], place["port"])
    await link.ask(("AUTH", place["password"]))
    await link.ask(("SELECT", str(place["db"])))
    info: bytes = await link.ask(("INFO", "server"))
    line = next(line for line in info.splitlines() if line.startswith(b"run_id:"))
    link.run_id = line.partition(b":")[2].strip().decode()
    return link
