"""The hot view's shared connection: every reply reaches who asked, whatever breaks."""

import asyncio
import time
from contextlib import suppress
from pathlib import Path

import pytest
from redis.exceptions import ConnectionError as Lost
from redis.exceptions import NoScriptError
from redis.exceptions import TimeoutError as TimedOut

from api_shim.sources.connection import MOST_IN_FLIGHT, Connection
from api_shim.sources.hot import HotView
from foreword.errors import Unavailable
from foreword.scope import Scope
from tests.integration.calling import connected, echoed, play
from tests.integration.test_restart import Restartable
from tests.integration.wire import Peer, bulk, scripted
from tests.services import Services

SCOPE = Scope(1, "connection")


def test_replies_keep_their_order(runner: asyncio.Runner, services: Services) -> None:
    """Of 1,000 commands at once each gets its own reply, over one connection."""

    async def work() -> None:
        async with connected(services.redis_url) as connection:
            for _ in range(3):
                replies = await asyncio.gather(*(echoed(connection, i) for i in range(1000)))
                assert replies == [b"%d" % i for i in range(1000)]
            assert len(set(await asyncio.gather(*(connection.ask("CLIENT", "ID") for _ in range(50))))) == 1

    play(runner, work())


def test_who_gives_up_shifts_nobody_s_reply(runner: asyncio.Runner, services: Services) -> None:
    """Waiters are cancelled before their command left, on its way, and while replies come in."""

    async def work() -> None:
        async with connected(services.redis_url) as connection:
            await connection.ask("PING")
            for turns in range(6):
                asked = [asyncio.create_task(echoed(connection, i)) for i in range(300)]
                for _ in range(turns):
                    await asyncio.sleep(0)
                for task in asked[::3]:
                    task.cancel()
                found = await asyncio.gather(*asked, return_exceptions=True)
                for i, reply in enumerate(found):
                    assert reply == b"%d" % i or (i % 3 == 0 and isinstance(reply, asyncio.CancelledError))
            assert await echoed(connection, 7) == b"7"

    play(runner, work())


def test_who_gives_up_connecting_stops_nobody_else(runner: asyncio.Runner, services: Services) -> None:
    """The connection that one caller started is there for the others."""

    async def work() -> None:
        async with connected(services.redis_url) as connection:
            asked = [asyncio.create_task(echoed(connection, i)) for i in range(5)]
            await asyncio.sleep(0)
            asked[0].cancel()
            assert await asyncio.gather(*asked[1:]) == [b"1", b"2", b"3", b"4"]

    play(runner, work())


def test_a_restart_is_known_before_any_answer(
    runner: asyncio.Runner, services: Services, tmp_path: Path
) -> None:
    """A command that meets a restart is lost or answered, and always told the run that answered it."""
    server = Restartable(services, tmp_path / "restarted")

    async def work() -> None:
        async with connected(server.rig.redis_url) as connection:
            before = await _run(connection)
            asked = [asyncio.create_task(_run(connection)) for _ in range(100)]
            await asyncio.sleep(0)
            await asyncio.to_thread(server.restart, keep=True)
            after = set(await asyncio.gather(*(_run(connection) for _ in range(100))))
            assert len(after) == 1
            assert before not in after
            for outcome in await asyncio.gather(*asked, return_exceptions=True):
                assert isinstance(outcome, Lost) or outcome in {before, *after}

    try:
        play(runner, work())
    finally:
        server.close()


async def _run(connection: Connection) -> str:
    info, run_id = await connection.ask("INFO", "server")
    assert f"run_id:{run_id}\r\n".encode() in info
    return run_id


def test_a_hung_server_is_waited_for_once(runner: asyncio.Runner) -> None:
    """After one command ran out of patience all others fail at once, until the server answers again."""
    hung = True
    heard: list[list[bytes]] = []

    async def behave(command: list[bytes], peer: Peer) -> None:
        heard.append(command)
        if not hung and not await peer.greet(command):
            await peer.send(bulk(command[1]))

    async def come_back(connection: Connection) -> bytes:
        while True:
            with suppress(TimedOut):
                return bytes((await connection.ask("GET", "here"))[0])
            await asyncio.sleep(0.05)

    async def work() -> None:
        nonlocal hung
        async with scripted(behave, greets=False) as url, connected(url, patience=0.5) as connection:
            for _ in range(1000):
                with pytest.raises(TimedOut):
                    await connection.ask("GET", "away")
            assert all(command[0] == b"INFO" for command in heard)
            hung = False
            assert await come_back(connection) == b"here"

    play(runner, work())


def test_a_connection_reset_inside_a_reply(runner: asyncio.Runner) -> None:
    """Half a reply is no reply: the command is sent once more over a new connection."""

    async def behave(command: list[bytes], peer: Peer) -> None:
        if peer.number == 0:
            await peer.send(bulk(command[1])[:-4])
            peer.reset()
        else:
            await peer.send(bulk(command[1]))

    async def work() -> None:
        async with scripted(behave) as url, connected(url) as connection:
            replies = await asyncio.gather(*(connection.ask("ECHO", f"word {i}") for i in range(9)))
            assert [reply for reply, _ in replies] == [b"word %d" % i for i in range(9)]
            assert {run for _, run in replies} == {f"{1:040d}"}

    play(runner, work())


def test_a_command_is_sent_twice_at_most(runner: asyncio.Runner) -> None:
    """A server that hangs up on everything is told so to the caller, soon."""
    seen = []

    async def behave(command: list[bytes], peer: Peer) -> None:
        seen.append(peer.number)
        peer.reset()

    async def work() -> None:
        async with scripted(behave) as url, connected(url) as connection:
            with pytest.raises(Lost):
                await connection.ask("ECHO", "x")
            assert seen == [0, 1]

    play(runner, work())


def test_half_a_reply_and_then_nothing(runner: asyncio.Runner) -> None:
    """Whoever waits is told in time, nothing is sent again, and the next command has a new connection."""
    seen = []

    async def behave(command: list[bytes], peer: Peer) -> None:
        seen.append(command[1])
        await peer.send(bulk(command[1]) if peer.number else b"$100\r\nhalf")

    async def work() -> None:
        async with scripted(behave) as url, connected(url, 0.3) as connection:
            started = time.monotonic()
            found = await asyncio.gather(
                *(connection.ask("ECHO", f"{i}") for i in range(5)), return_exceptions=True
            )
            assert 0.3 <= time.monotonic() - started < 5
            assert {type(error) for error in found} == {TimedOut}
            assert sorted(seen) == [b"0", b"1", b"2", b"3", b"4"]
            assert (await connection.ask("ECHO", "after"))[0] == b"after"

    play(runner, work())


def test_a_slow_server_is_waited_for(runner: asyncio.Runner) -> None:
    """Replies that come in pieces but in time are replies."""

    async def behave(command: list[bytes], peer: Peer) -> None:
        for byte in bulk(command[1]):
            await peer.send(bytes([byte]))
            await asyncio.sleep(0.005)

    async def work() -> None:
        async with scripted(behave) as url, connected(url, 10) as connection:
            replies = await asyncio.gather(*(echoed(connection, i) for i in range(10)))
            assert replies == [b"%d" % i for i in range(10)]

    play(runner, work())


def test_a_busy_event_loop_is_no_slow_server(runner: asyncio.Runner, services: Services) -> None:
    """A reply that has arrived while the loop was busy counts, however late it is read."""

    async def work() -> None:
        async with connected(services.redis_url, 0.2) as connection:
            await connection.ask("PING")
            asked = asyncio.create_task(echoed(connection, 1))
            await asyncio.sleep(0)
            await asyncio.sleep(0)
            time.sleep(0.5)
            assert await asked == b"1"

    play(runner, work())


def test_a_server_that_hangs_is_met_once(runner: asyncio.Runner) -> None:
    """Many callers wait for one attempt to connect, and not one after the other."""

    async def behave(command: list[bytes], peer: Peer) -> None:
        """Says nothing, not even its run."""

    async def work() -> None:
        async with scripted(behave, greets=False) as url, connected(url, 0.3) as connection:
            started = time.monotonic()
            found = await asyncio.gather(*(echoed(connection, i) for i in range(50)), return_exceptions=True)
            assert {type(error) for error in found} <= {Lost, TimedOut}
            assert time.monotonic() - started < 3

    play(runner, work())


def test_what_is_in_flight_is_bounded(runner: asyncio.Runner) -> None:
    """More commands than a connection may carry wait for their turn, and all are answered."""
    held: list[bytes] = []
    most = 0

    async def behave(command: list[bytes], peer: Peer) -> None:
        nonlocal most
        held.append(command[1])
        most = max(most, len(held))
        if len(held) == 1:
            asyncio.get_running_loop().call_later(0.3, lambda: asyncio.ensure_future(release(peer)))

    async def release(peer: Peer) -> None:
        replies = b"".join(map(bulk, held))
        held.clear()
        await peer.send(replies)

    async def work() -> None:
        number = MOST_IN_FLIGHT + 500
        async with scripted(behave) as url, connected(url, 20) as connection:
            replies = await asyncio.gather(*(echoed(connection, i) for i in range(number)))
            assert replies == [b"%d" % i for i in range(number)]
            assert most <= MOST_IN_FLIGHT

    play(runner, work())


@pytest.mark.parametrize(
    "refusal", [b"MOVED 1 127.0.0.1:1", b"ASK 1 127.0.0.1:1", b"LOADING busy", b"READONLY replica", b"WHAT"]
)
def test_a_refusal_makes_cold_and_breaks_nothing(runner: asyncio.Runner, refusal: bytes) -> None:
    """Reads go to the ledger, removals get Unavailable, and the connection stays."""
    peers = set()

    async def behave(command: list[bytes], peer: Peer) -> None:
        peers.add(peer.number)
        await peer.send(b"-" + refusal + b"\r\n")

    async def work() -> None:
        async with scripted(behave) as url:
            view = HotView(url)
            assert await view.look(SCOPE) is None
            with pytest.raises(Unavailable):
                await view.open(SCOPE, "token")
            with pytest.raises(Unavailable):
                await view.ping()
            assert await view.window(SCOPE) is None
            assert peers == {0}
            await view.close()

    play(runner, work())


def test_a_server_that_forgot_a_script_is_told_apart(runner: asyncio.Runner, services: Services) -> None:
    """NOSCRIPT is an error of its own, since the script can be sent again."""

    async def work() -> None:
        async with connected(services.redis_url) as connection:
            with pytest.raises(NoScriptError):
                await connection.ask("EVALSHA_RO", "0" * 40, 0)

    play(runner, work())


@pytest.mark.parametrize("noise", [b"HTTP/1.1 400 Bad Request\r\n\r\n", b"$1\r\na\r\n$1\r\nb\r\n"])
def test_noise_is_no_reply(runner: asyncio.Runner, noise: bytes) -> None:
    """What is not the protocol, and a reply nobody waits for, end the connection."""

    async def behave(command: list[bytes], peer: Peer) -> None:
        await peer.send(noise if peer.number == 0 else bulk(b"fine"))

    async def work() -> None:
        async with scripted(behave) as url, connected(url) as connection:
            first = await asyncio.gather(connection.ask("ECHO", "a"), return_exceptions=True)
            await asyncio.sleep(0.1)
            assert await connection.ask("ECHO", "fine") == (b"fine", f"{1:040d}")
            assert first in ([(b"fine", f"{1:040d}")], [(b"a", f"{0:040d}")])

    play(runner, work())


def test_closing_tells_who_waits(runner: asyncio.Runner) -> None:
    """A command under way when the connection is closed ends as lost, and nothing stays open."""

    async def behave(command: list[bytes], peer: Peer) -> None:
        await asyncio.sleep(0)

    async def work() -> None:
        async with scripted(behave) as url:
            view = HotView(url, connections=2)
            asked = [asyncio.create_task(view._command("ECHO", "x")) for _ in range(4)]
            await asyncio.sleep(0.2)
            await view.close()
            found = await asyncio.gather(*asked, return_exceptions=True)
            assert {type(error) for error in found} == {Lost}
            assert await view.look(SCOPE) is None

    play(runner, work())
