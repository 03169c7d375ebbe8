"""Where a URL says that the hot view is, and as whom it is called."""

import asyncio
import ssl
from pathlib import Path
from urllib.parse import urlsplit

import pytest
from redis.exceptions import ConnectionError as Lost
from redis.exceptions import ResponseError

from api_shim.sources.hot import HotView
from foreword.errors import Unavailable
from foreword.scope import Scope
from tests.integration.calling import connected, echoed, play
from tests.integration.wire import way
from tests.services import Services

CERTIFICATE = Path(__file__).parents[1] / "data" / "tls" / "localhost.crt"
SCOPE = Scope(1, "connection")


@pytest.mark.parametrize("userinfo", ["", ":wrong@", "nobody:wrong@"])
def test_a_wrong_password(runner: asyncio.Runner, services: Services, userinfo: str) -> None:
    """A server that lets us not in is a server that is away: nothing is answered from it."""
    place = urlsplit(services.redis_url)
    url = f"redis://{userinfo}{place.hostname}:{place.port}/0"

    async def work() -> None:
        view = HotView(url)
        assert await view.look(SCOPE) is None
        with pytest.raises(Unavailable):
            await view.ping()
        await view.close()
        async with connected(url) as connection:
            with pytest.raises(ResponseError):
                await connection.ask("PING")

    play(runner, work())


def test_a_user_and_a_database(runner: asyncio.Runner, services: Services) -> None:
    """A URL may name both; the connection is that user's, on that database."""
    place = urlsplit(services.redis_url)
    url = f"redis://default:{place.password}@{place.hostname}:{place.port}/1"

    async def work() -> None:
        async with connected(url) as connection:
            info, _ = await connection.ask("CLIENT", "INFO")
            assert b" db=1 " in info
            assert b" user=default " in info

    play(runner, work())


def test_tls(runner: asyncio.Runner, services: Services) -> None:
    """A certificate that the URL trusts is accepted, and one that nobody vouches for is not."""
    place = urlsplit(services.redis_url)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(CERTIFICATE, CERTIFICATE.with_suffix(".key"))

    async def work() -> None:
        async with way(place.port or 0, context=context) as port:
            url = f"rediss://:{place.password}@localhost:{port}/0"
            async with connected(f"{url}?ssl_ca_certs={CERTIFICATE}") as connection:
                replies = await asyncio.gather(*(echoed(connection, i) for i in range(500)))
                assert replies == [b"%d" % i for i in range(500)]
            async with connected(f"{url}?ssl_cert_reqs=none") as connection:
                assert await echoed(connection, 1) == b"1"
            async with connected(url) as connection:
                with pytest.raises(Lost):
                    await connection.ask("PING")

    play(runner, work())


def test_a_unix_socket(runner: asyncio.Runner, services: Services, tmp_path: Path) -> None:
    """A socket file serves as well as a port."""
    place = urlsplit(services.redis_url)

    async def work() -> None:
        url = f"unix://:{place.password}@{tmp_path}/s?db=1"
        async with way(place.port or 0, path=tmp_path / "s"), connected(url) as connection:
            assert b" db=1 " in (await connection.ask("CLIENT", "INFO"))[0]

    play(runner, work())
