"""The ledger as the shim reaches it: one tenant a transaction, one round trip where the statements allow."""

import asyncio
import select
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import asynccontextmanager
from functools import wraps
from typing import Any, ParamSpec, TypeVar

import psycopg
from psycopg.rows import dict_row
from psycopg_pool import AsyncConnectionPool, PoolTimeout

from foreword import resources
from foreword.errors import Unavailable

Connection = psycopg.AsyncConnection[dict[str, Any]]
Rows = list[dict[str, Any]]

P = ParamSpec("P")
T = TypeVar("T")

LOOK_UP_S, READ_S, WRITE_S = 2.0, 10.0, 18.0
"""How long a hung ledger is waited for; a write longer than the ledger lets one statement run."""


def named(file: str, name: str) -> bytes:
    """A named query of ``sources``, ``sinks`` or ``runs``."""
    return resources.queries(f"api_shim.{file}", "ledger.sql")[name].encode()


def patient(seconds: float) -> Callable[[Callable[P, Awaitable[T]]], Callable[P, Awaitable[T]]]:
    """Makes a call on the ledger raise Unavailable when it is not done after so many seconds.

    A server that hangs answers no cancellation either, so the call is left to itself: it ends when the server
    goes on or the connection breaks, as if its answer had been lost on the way to the client.
    """

    def decorate(call: Callable[P, Awaitable[T]]) -> Callable[P, Awaitable[T]]:
        @wraps(call)
        async def bounded(*args: P.args, **kwargs: P.kwargs) -> T:
            task = asyncio.ensure_future(call(*args, **kwargs))
            try:
                await asyncio.wait({task}, timeout=seconds)
            finally:
                if not task.done():
                    task.add_done_callback(_disregard)
            if not task.done():
                raise Unavailable("The ledger does not answer.")
            return task.result()

        return bounded

    return decorate


def _disregard(task: "asyncio.Future[Any]") -> None:
    """Whoever asked has been told already."""
    if not task.cancelled():
        task.exception()


class Database:
    """A pool of connections as the restricted role; lost ones become Unavailable."""

    def __init__(self, database_url: str, *, size: int) -> None:
        self._pool: AsyncConnectionPool[Connection] = AsyncConnectionPool(
            database_url,
            min_size=1,
            max_size=size,
            timeout=2,
            reconnect_timeout=2,  # then demand tries again, at once and not after a backoff
            check=_still_open,
            kwargs={
                "autocommit": True,  # a pipeline up to its end is one transaction, without BEGIN and COMMIT
                "row_factory": dict_row,
                "application_name": "foreword shim",
                "connect_timeout": 3,
                "keepalives_idle": 10,
                "keepalives_interval": 5,
                "keepalives_count": 3,
            },
            open=False,
        )

    async def open(self) -> None:
        """Starts connecting; does not wait, so that the shim starts while the ledger is away."""
        await self._pool.open(wait=False)

    async def close(self) -> None:
        """Closes every connection."""
        await self._pool.close()

    @patient(READ_S)
    async def read(
        self, tenant: int, name: str, params: Mapping[str, object], *, of: str = "sources"
    ) -> Rows:
        """The rows of one query under one tenant, in one round trip."""
        async with self._connection() as conn:
            async with conn.pipeline():
                await conn.execute(named("sources", "begin"), {"tenant": tenant}, prepare=True)
                cursor = await conn.execute(named(of, name), params, prepare=True)
            return await cursor.fetchall()

    @patient(READ_S)
    async def search(
        self,
        tenant: int,
        query: bytes,
        params: Mapping[str, object],
        *,
        local: Mapping[str, str] | None = None,
    ) -> Rows:
        """The rows of a composed query under one tenant; ``local`` are settings of this transaction alone."""
        async with self._connection() as conn:
            async with conn.pipeline():
                await _begin(conn, tenant, local or {})
                cursor = await conn.execute(query, params, prepare=True)
            return await cursor.fetchall()

    @patient(LOOK_UP_S)
    async def ask(self, name: str, params: Mapping[str, object] | None = None) -> Rows:
        """The rows of a query that needs no tenant."""
        async with self._connection() as conn:
            cursor = await conn.execute(named("sources", name), params or {})
            return await cursor.fetchall()

    @asynccontextmanager
    async def transaction(self, tenant: int) -> AsyncIterator["Transaction"]:
        """Several statements under one tenant, committed at the end or not at all."""
        async with self._connection() as conn, conn.transaction():
            await conn.execute(named("sources", "begin"), {"tenant": tenant})
            yield Transaction(conn)

    @asynccontextmanager
    async def _connection(self) -> AsyncIterator[Connection]:
        try:
            async with self._pool.connection() as conn:
                yield conn
        except (psycopg.OperationalError, psycopg.InterfaceError, PoolTimeout) as error:
            if isinstance(error, psycopg.Error) and error.sqlstate in DOMAIN_STATES:
                raise
            raise Unavailable("The ledger is not available.") from error


async def _still_open(conn: Connection) -> None:
    """Raises for a lost connection, at the cost of a system call for one that is not.

    A server says nothing unasked until it says goodbye, so only who has something to say is asked back.
    """
    socket = select.poll()
    socket.register(conn.fileno(), select.POLLIN)
    if socket.poll(0):
        await AsyncConnectionPool.check_connection(conn)


async def _begin(conn: Connection, tenant: int, local: Mapping[str, str]) -> None:
    await conn.execute(named("sources", "begin"), {"tenant": tenant}, prepare=True)
    if local:
        query = b"SELECT " + b", ".join([b"set_config(%s, %s, true)"] * len(local))
        await conn.execute(query, [part for pair in local.items() for part in pair], prepare=True)


class Transaction:
    """An open transaction of one tenant."""

    def __init__(self, conn: Connection) -> None:
        self._conn = conn

    async def run(self, name: str, params: Mapping[str, object], *, of: str = "sinks") -> Rows:
        """The rows of a named query."""
        cursor = await self._conn.execute(named(of, name), params, prepare=True)
        return await cursor.fetchall()


RUN_ENDED = "FW410"
"""A Draft names a run that takes no more Drafts."""

DOMAIN_STATES = frozenset({"FW409", RUN_ENDED})
"""SQLSTATEs the ledger's own functions raise; the sinks know what they mean."""
