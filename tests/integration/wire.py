"""Servers that misbehave on purpose, and ways in front of a real one."""

import asyncio
import ssl
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from pathlib import Path

import hiredis

Behaviour = Callable[[list[bytes], "Peer"], Awaitable[None]]


class Peer:
    """One accepted connection. ``number`` counts them from 0; its server run is named after it."""

    def __init__(self, number: int, writer: asyncio.StreamWriter) -> None:
        self.number = number
        self.run_id = f"{number:040d}"
        self._writer = writer

    async def send(self, raw: bytes) -> None:
        self._writer.write(raw)
        await self._writer.drain()

    def reset(self) -> None:
        self._writer.transport.abort()

    async def greet(self, command: list[bytes]) -> bool:
        """Answers what a new connection asks; whether it was that."""
        if command[0] == b"INFO":
            await self.send(bulk(b"# Server\r\nrun_id:" + self.run_id.encode() + b"\r\n"))
        return command[0] == b"INFO"


def bulk(text: bytes) -> bytes:
    return b"$%d\r\n%s\r\n" % (len(text), text)


@asynccontextmanager
async def scripted(behaviour: Behaviour, *, greets: bool = True) -> AsyncIterator[str]:
    """The URL of a server that greets well, and then does as it is told with every command."""
    peers = 0
    writers: list[asyncio.StreamWriter] = []

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        nonlocal peers
        peer, parser = Peer(peers, writer), hiredis.Reader()
        peers += 1
        writers.append(writer)
        try:
            while data := await reader.read(65536):
                parser.feed(data)
                while (command := parser.gets()) is not False:
                    if not (greets and await peer.greet(command)):
                        await behaviour(command, peer)
        except ConnectionError:
            pass

    server = await asyncio.start_server(serve, "127.0.0.1", 0)
    try:
        yield f"redis://127.0.0.1:{server.sockets[0].getsockname()[1]}/0"
    finally:
        server.close()
        for writer in writers:
            writer.transport.abort()
        await asyncio.sleep(0)


@asynccontextmanager
async def way(
    port: int, *, context: ssl.SSLContext | None = None, path: Path | None = None
) -> AsyncIterator[int]:
    """A port, or a socket file, whose bytes go to and from ``port`` on this machine; the port."""
    tasks: set[asyncio.Task[None]] = set()
    writers: list[asyncio.StreamWriter] = []

    async def pump(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            while data := await reader.read(65536):
                writer.write(data)
                await writer.drain()
        except OSError:
            pass
        writer.close()

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        there, back = await asyncio.open_connection("127.0.0.1", port)
        writers.extend((writer, back))
        tasks.update(asyncio.create_task(pump(*ends)) for ends in ((reader, back), (there, writer)))

    if path is not None:
        server = await asyncio.start_unix_server(serve, path)
    else:
        server = await asyncio.start_server(serve, "127.0.0.1", 0, ssl=context)
    try:
        yield 0 if path is not None else server.sockets[0].getsockname()[1]
    finally:
        server.close()
        for writer in writers:
            writer.transport.abort()
        await asyncio.gather(*tasks)
