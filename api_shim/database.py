"""The ledger as the shim reaches it: one tenant a transaction, one round trip where the statements allow."""

from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from typing import Any

import psycopg
from psycopg.rows import dict_row
from psycopg_pool import AsyncConnectionPool, PoolTimeout

from foreword import resources
from foreword.errors import Unavailable

Connection = psycopg.AsyncConnection[dict[str, Any]]
Rows = list[dict[str, Any]]


def named(file: str, name: str) -> bytes:
    """A named query of ``sources`` or ``sinks``."""
    return resources.queries(f"api_shim.{file}", "ledger.sql")[name].encode()


class Database:
    """A pool of connections as the restricted role; lost ones become Unavailable."""

    def __init__(self, database_url: str, *, size: int) -> None:
        self._pool: AsyncConnectionPool[Connection] = AsyncConnectionPool(
            database_url,
            min_size=1,
            max_size=size,
            timeout=2,
            reconnect_timeout=30,
            check=AsyncConnectionPool.check_connection,
            kwargs={"row_factory": dict_row, "application_name": "foreword shim", "connect_timeout": 3},
            open=False,
        )

    async def open(self) -> None:
        """Starts connecting; does not wait, so that the shim starts while the ledger is away."""
        await self._pool.open(wait=False)

    async def close(self) -> None:
        """Closes every connection."""
        await self._pool.close()

    async def read(self, tenant: int, name: str, params: Mapping[str, object]) -> Rows:
        """The rows of one query under one tenant, in one round trip."""
        async with self._connection() as conn, conn.pipeline():
            async with conn.transaction():
                await conn.execute(named("sources", "begin"), {"tenant": tenant})
                cursor = await conn.execute(named("sources", name), params, prepare=True)
            return await cursor.fetchall()

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


class Transaction:
    """An open transaction of one tenant."""

    def __init__(self, conn: Connection) -> None:
        self._conn = conn

    async def run(self, name: str, params: Mapping[str, object]) -> Rows:
        """The rows of a named query of ``sinks``."""
        cursor = await self._conn.execute(named("sinks", name), params, prepare=True)
        return await cursor.fetchall()


DOMAIN_STATES = frozenset({"FW409"})
"""SQLSTATEs the ledger's own functions raise; the sinks know what they mean."""
