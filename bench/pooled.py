"""The shim's hot view over a pool of kept redis-py connections: what its shared one is measured against."""

from collections.abc import Awaitable
from typing import Any

import redis.asyncio as redis

from api_shim.sources.hot import HotView

_SIZE = 32


class PooledHotView(HotView):
    """Each command has a connection to itself while it is under way."""

    def __init__(self, url: str, *, connections: int = 1) -> None:
        super().__init__(url, connections=connections)
        self._pool = redis.BlockingConnectionPool.from_url(
            url,
            max_connections=_SIZE,
            timeout=2,
            redis_connect_func=_greet,
            socket_timeout=2,
            socket_connect_timeout=1,
        )

    async def close(self) -> None:
        """Closes every connection."""
        await self._pool.disconnect()
        await super().close()

    def _command(self, *command: Any) -> Awaitable[tuple[Any, str]]:
        return self._exchange(command)

    async def _exchange(self, command: tuple[Any, ...]) -> tuple[Any, str]:
        connection: Any = await self._pool.get_connection()  # type: ignore[no-untyped-call]
        try:
            await connection.send_command(*command)
            return await connection.read_response(), connection.foreword_run_id
        except BaseException as error:
            if not isinstance(error, redis.ResponseError):
                await connection.disconnect(nowait=True)
            raise
        finally:
            await self._pool.release(connection)


async def _greet(connection: Any) -> None:
    """Runs on every new connection, before it is used."""
    await connection.on_connect()
    await connection.send_command("INFO", "server")
    info = await connection.read_response()
    line = next(line for line in info.splitlines() if line.startswith(b"run_id:"))
    connection.foreword_run_id = line.partition(b":")[2].strip().decode()
