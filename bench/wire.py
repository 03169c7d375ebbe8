"""A raw HTTP client: kept connections, ready request bytes, no parsing beyond the length. Runs on its own.

``python -m bench.wire HOST PORT CONNECTIONS SECONDS PATH [HEADER ...]`` prints its latencies as JSON.
"""

import asyncio
import json
import sys
import time
from functools import partial
from typing import cast

import uvloop


class _Client(asyncio.Protocol):
    """One kept connection that asks again as soon as it was answered."""

    def __init__(self, request: bytes, until: float, done: "asyncio.Future[list[float]]") -> None:
        self._request = request
        self._until = until
        self._done = done
        self._latencies: list[float] = []
        self._left = 0
        self._head = b""
        self._started = 0.0
        self._transport: asyncio.Transport | None = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast(asyncio.Transport, transport)  # uvloop's is none by inheritance
        self._ask()

    def data_received(self, data: bytes) -> None:
        try:
            self._take(data)
        except ValueError as error:
            self._done.set_exception(error)

    def _take(self, data: bytes) -> None:
        if self._left:
            self._left -= len(data)
        else:
            self._head += data
            at = self._head.find(b"\r\n\r\n")
            if at < 0:
                return
            self._left = self._length(at) - (len(self._head) - at - 4)
            self._head = b""
        if self._left == 0:
            self._answered()

    def connection_lost(self, exc: Exception | None) -> None:
        if not self._done.done():
            self._done.set_exception(exc or ConnectionResetError("the server hung up"))

    def _length(self, at: int) -> int:
        head = self._head[:at].lower()
        if not head.startswith(b"http/1.1 200"):
            raise ValueError(f"not answered with 200: {head[:100]!r}")
        return int(head.partition(b"content-length:")[2].split(b"\r\n", 1)[0])

    def _ask(self) -> None:
        assert self._transport is not None
        self._started = time.perf_counter()
        self._transport.write(self._request)

    def _answered(self) -> None:
        now = time.perf_counter()
        self._latencies.append(now - self._started)
        if now < self._until:
            self._ask()
        else:
            assert self._transport is not None
            self._done.set_result(self._latencies)
            self._transport.close()


async def load(host: str, port: int, connections: int, seconds: float, request: bytes) -> list[float]:
    """Latencies of as many requests as ``connections`` clients get answered in so many seconds."""
    loop = asyncio.get_running_loop()
    until = time.perf_counter() + seconds
    futures: list[asyncio.Future[list[float]]] = [loop.create_future() for _ in range(connections)]
    for future in futures:
        await loop.create_connection(partial(_Client, request, until, future), host, port)
    return [latency for found in await asyncio.gather(*futures) for latency in found]


def request(host: str, path: str, headers: tuple[str, ...]) -> bytes:
    """A GET as bytes."""
    lines = (f"GET {path} HTTP/1.1", f"Host: {host}", *headers, "", "")
    return "\r\n".join(lines).encode()


def main(host: str, port: str, connections: str, seconds: str, path: str, *headers: str) -> None:
    """Loads, then prints ``{"seconds", "latencies"}``."""
    asked = request(host, path, headers)
    with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
        started = time.perf_counter()
        latencies = runner.run(load(host, int(port), int(connections), float(seconds), asked))
        taken = time.perf_counter() - started
    json.dump({"seconds": taken, "latencies": latencies}, sys.stdout)


if __name__ == "__main__":
    main(*sys.argv[1:])
