"""A connection to the hot view that all requests of a process share.

Commands of one turn of the event loop leave in one write, and the server answers them in order (RESP 2). A
waiter that gives up leaves its place in the line, so that no reply ever reaches another. Whatever goes wrong
with the connection itself (a timeout, a reset, a reply that is none) fails every waiter and ends it; the next
command makes a new one, which knows the run of the server before it carries anything.

A server that takes calls and does not greet has hung: it is called in the background until it answers again,
and meanwhile commands fail at once, since each would otherwise wait as long as the first.

Only commands that may be repeated belong here: one whose connection broke is sent once more. Redirections of
a cluster (MOVED, ASK), LOADING and READONLY are refusals like any other.
"""

import asyncio
import ssl
from collections import deque
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, Final, cast

import hiredis
from redis.asyncio.connection import SSLConnection, parse_url
from redis.exceptions import ConnectionError as Lost
from redis.exceptions import NoScriptError, RedisError, ResponseError
from redis.exceptions import TimeoutError as TimedOut

PATIENCE_S: Final = 2.0
"""How long a reply, or a connection with its greeting, is waited for."""
MOST_IN_FLIGHT: Final = 4096
"""Commands a connection carries at once; more wait for their turn."""

_AGAIN_S: Final = 0.25
"""Between two calls to a server that has hung."""
_GRACE_S: Final = 0.1
"""An event loop that was busy for too long first reads what has arrived meanwhile."""

_HUNG: Final = "The server does not answer."


def _refusal(message: str) -> ResponseError:
    return (NoScriptError if message.startswith("NOSCRIPT") else ResponseError)(message)


class Link(asyncio.Protocol):
    """One connection, from its making to its loss."""

    run_id = ""

    def __init__(self, patience: float) -> None:
        self._patience = patience
        self._loop = asyncio.get_running_loop()
        self._reader = hiredis.Reader(replyError=_refusal)
        self._waiting: deque[tuple[asyncio.Future[Any], float]] = deque()
        self._queued: list[bytes] = []
        self._room = asyncio.Semaphore(MOST_IN_FLIGHT)
        self._watch: asyncio.TimerHandle | None = None
        self._transport: asyncio.Transport | None = None
        self._ended = self._loop.create_future()
        self.lost = False

    async def ask(self, command: tuple[Any, ...]) -> Any:
        """The reply to a command; ResponseError when the server refuses, Lost or TimedOut when it is gone."""
        packed = hiredis.pack_command(command)
        await self._room.acquire()
        if self.lost:
            self._room.release()
            raise Lost("The connection is lost.")
        if not self._queued:
            self._loop.call_soon(self._flush)
        self._queued.append(packed)
        waiter = self._loop.create_future()
        self._waiting.append((waiter, self._loop.time() + self._patience))
        if self._watch is None:
            self._watch = self._loop.call_later(self._patience, self._look)
        return await waiter

    def abort(self) -> None:
        """Ends the connection; whoever waits is told that it is lost."""
        self._fail(Lost, "The connection is closed.")

    async def close(self) -> None:
        """Ends the connection and waits until it is gone."""
        self.abort()
        await self._ended

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Called by the event loop."""
        self._transport = cast(asyncio.Transport, transport)  # uvloop's is none by inheritance

    def data_received(self, data: bytes) -> None:
        """Called by the event loop with any part of any number of replies."""
        if self.lost:
            return
        self._reader.feed(data)
        try:
            while (reply := self._reader.gets()) is not False:
                waiter, _ = self._waiting.popleft()
                self._room.release()
                if waiter.done():
                    continue
                if isinstance(reply, RedisError):
                    waiter.set_exception(reply)
                else:
                    waiter.set_result(reply)
        except (hiredis.ProtocolError, IndexError):
            self._fail(Lost, "The server does not speak the protocol.")

    def connection_lost(self, _: Exception | None) -> None:
        """Called by the event loop, once."""
        self._fail(Lost, "The connection is lost.")
        self._ended.set_result(None)

    def _flush(self) -> None:
        if self._transport is not None and not self.lost:
            self._transport.write(b"".join(self._queued))
        self._queued.clear()

    def _look(self, *, again: bool = False) -> None:
        """Ends the connection when its oldest command is overdue; asks for the next look otherwise."""
        self._watch = None
        if not self._waiting:
            return
        due = self._waiting[0][1]
        if due > self._loop.time():
            self._watch = self._loop.call_at(due, self._look)
        elif not again:
            self._watch = self._loop.call_later(_GRACE_S, lambda: self._look(again=True))
        else:
            self._fail(TimedOut, _HUNG)

    def _fail(self, error: type[RedisError], message: str) -> None:
        self.lost = True
        if self._watch is not None:
            self._watch.cancel()
        if self._transport is not None:
            self._transport.abort()
        while self._waiting:
            waiter, _ = self._waiting.popleft()
            self._room.release()
            if not waiter.done():
                waiter.set_exception(error(message))


@dataclass(frozen=True)
class Place:
    """Where the server is and how to greet it, as redis-py reads a URL: ``redis``, ``rediss`` or ``unix``."""

    host: str
    port: int
    path: str | None
    context: ssl.SSLContext | None
    greeting: tuple[tuple[str, ...], ...]

    @classmethod
    def of(cls, url: str) -> "Place":
        """The place of a URL; ValueError when it is none. ``ssl_*`` in its query say what to trust."""
        given: dict[str, Any] = dict(parse_url(url))
        context, user, password = None, given.get("username"), given.get("password")
        if given.pop("connection_class", None) is SSLConnection:
            context = SSLConnection(**given).ssl_context.get()
        greeting: list[tuple[str, ...]] = []
        if user or password:
            greeting.append(("AUTH", *([user] if user else []), password or ""))
        if given.get("db"):
            greeting.append(("SELECT", str(given["db"])))
        return cls(
            host=given.get("host", "localhost"),
            port=given.get("port", 6379),
            path=given.get("path"),
            context=context,
            greeting=tuple(greeting),
        )

    async def connect(self, patience: float) -> Link:
        """A greeted connection; RedisError when there is none to be had in time."""
        link = Link(patience)
        try:
            async with asyncio.timeout(patience):
                await self._dial(link)
                for command in self.greeting:
                    await link.ask(command)
                link.run_id = _run_id(await link.ask(("INFO", "server")))
        except TimeoutError as error:
            link.abort()
            raise TimedOut(_HUNG) from error
        except OSError as error:
            link.abort()
            raise Lost("The server cannot be reached.") from error
        except BaseException:
            link.abort()
            raise
        return link

    async def _dial(self, link: Link) -> None:
        loop = asyncio.get_running_loop()
        if self.path is not None:
            await loop.create_unix_connection(lambda: link, self.path)
        else:
            await loop.create_connection(lambda: link, self.host, self.port, ssl=self.context)


def _run_id(info: bytes) -> str:
    for line in info.splitlines():
        if line.startswith(b"run_id:"):
            return line.partition(b":")[2].strip().decode()
    raise ResponseError("The server does not tell its run.")


class Connection:
    """Connects when it is first needed, and again after every loss."""

    def __init__(self, url: str, *, patience: float = PATIENCE_S) -> None:
        self._place = Place.of(url)
        self._patience = patience
        self._link: Link | None = None
        self._connecting: asyncio.Task[Link] | None = None
        self._returning: asyncio.Task[None] | None = None
        self._closed = False

    async def ask(self, *command: Any) -> tuple[Any, str]:
        """The reply to a command, and the server run that gave it; RedisError when there is none."""
        link = self._link
        if link is None or link.lost:
            link = await self._connect()
        try:
            return await link.ask(command), link.run_id
        except Lost:
            link = await self._connect()
            return await link.ask(command), link.run_id

    async def close(self) -> None:
        """Closes the connection for good; whoever waits is told that it is lost."""
        self._closed = True
        if self._returning is not None:
            self._returning.cancel()
            await asyncio.wait([self._returning])
        if self._connecting is not None:
            await asyncio.wait([self._connecting])
        if self._link is not None:
            await self._link.close()

    async def _connect(self) -> Link:
        """The connection, made once for all who need it; who gives up waiting stops it for nobody else."""
        if self._link is not None and not self._link.lost:
            return self._link
        if self._closed:
            raise Lost("The connection is closed.")
        if self._returning is not None:
            raise TimedOut(_HUNG)
        if self._connecting is None:
            self._connecting = asyncio.create_task(self._place.connect(self._patience))
            self._connecting.add_done_callback(self._connected)
        return await asyncio.shield(self._connecting)

    def _connected(self, task: "asyncio.Task[Link]") -> None:
        self._connecting = None
        if task.cancelled():
            return
        if (error := task.exception()) is None:
            self._link = task.result()
        elif isinstance(error, TimedOut) and not self._closed:
            self._returning = asyncio.create_task(self._return())

    async def _return(self) -> None:
        """Ends with a connection."""
        try:
            while self._link is None or self._link.lost:
                with suppress(RedisError):
                    self._link = await self._place.connect(self._patience)
                    return
                await asyncio.sleep(_AGAIN_S)
        finally:
            self._returning = None
