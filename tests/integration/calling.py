"""The shared connection as tests call it."""

import asyncio
from collections.abc import AsyncIterator, Coroutine
from contextlib import asynccontextmanager
from typing import Any

from api_shim.sources.connection import Connection


@asynccontextmanager
async def connected(url: str, patience: float = 2.0) -> AsyncIterator[Connection]:
    connection = Connection(url, patience=patience)
    try:
        yield connection
    finally:
        await connection.close()


def play(runner: asyncio.Runner, work: Coroutine[Any, Any, None]) -> None:
    runner.run(asyncio.wait_for(work, 60))


async def echoed(connection: Connection, number: int) -> bytes:
    reply, _ = await connection.ask("ECHO", number)
    assert isinstance(reply, bytes)
    return reply
