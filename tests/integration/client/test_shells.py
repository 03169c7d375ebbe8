"""The two clients over a socket: both send the same and read the same."""

import asyncio
import inspect
import json
from collections.abc import Callable
from typing import Any

import pytest

from foreword.client import AsyncClient, Client
from foreword.errors import ServerError, Unavailable
from tests.integration.client.scripted import answer, server

_ACCEPTED = answer("202 Accepted", b'{"id": "1", "memoryRef": "a", "status": "accepted"}')
_BUSY = answer("503 Service Unavailable", b'{"error": "unavailable", "message": "m"}', "Retry-After: 0")

Run = Callable[[str, Callable[[Any], Any]], Any]


def _sync(url: str, use: Callable[[Any], Any]) -> Any:
    with Client(url, "fw_key", timeout=2.0) as client:
        answered = use(client)
        return list(answered) if hasattr(answered, "__next__") else answered


def _async(url: str, use: Callable[[Any], Any]) -> Any:
    async def run() -> Any:
        async with AsyncClient(url, "fw_key", timeout=2.0) as client:
            answered = use(client)
            if hasattr(answered, "__anext__"):
                return [item async for item in answered]
            return await answered

    return asyncio.run(run())


@pytest.fixture(params=[_sync, _async], ids=["sync", "async"])
def run(request: pytest.FixtureRequest) -> Run:
    """Runs a call with a client of one colour."""
    chosen: Run = request.param
    return chosen


def test_a_lost_write_is_repeated_under_its_id(run: Run) -> None:
    """A write whose answer is lost, then refused, is sent again as the same Draft with the same key."""
    with server(b"", _BUSY, _ACCEPTED) as script:
        receipt = run(script.url, lambda client: client.remember("a", "text"))
    assert receipt.status == "accepted"
    assert len({body for *_, body in script.requests}) == 1
    assert [headers["Authorization"] for *_, headers, _ in script.requests] == ["Bearer fw_key"] * 3


def test_a_redirect_takes_no_key_along(run: Run) -> None:
    """A redirect is an error: the key and the Draft go to no other place."""
    with (
        server(_ACCEPTED) as other,
        server(answer("307 T", b"", f"Location: {other.url}/v1/x")) as script,
        pytest.raises(ServerError),
    ):
        run(script.url, lambda client: client.remember("a", "text"))
    assert other.requests == []


def test_nobody_listens(run: Run) -> None:
    """A server that is not there is Unavailable, and the message does not hold the memory or its text."""
    with server() as script:
        pass
    with pytest.raises(Unavailable) as raised:
        run(script.url, lambda client: client.remember("secret-ref", "secret-text"))
    assert "secret" not in raised.value.message


def test_an_export_keeps_every_character(run: Run) -> None:
    """Text with line-like characters comes out of an export as it is."""
    items = [{"id": "1", "content": "one\u2028two\x85three"}, {"id": "2", "content": "four"}]
    body = b"".join(json.dumps(item, ensure_ascii=False).encode() + b"\n" for item in items)
    with server(answer("200 OK", body)) as script:
        assert run(script.url, lambda client: client.export("a")) == items


def test_an_export_that_is_cut_is_an_error(run: Run) -> None:
    """An export that ends early raises, so that no one takes the part for the whole."""
    whole = answer("200 OK", b'{"id": "1"}\n{"id": "2"}\n')
    with server(whole[:-12]) as script, pytest.raises(Unavailable):
        run(script.url, lambda client: client.export("a"))


def test_an_export_can_be_refused(run: Run) -> None:
    """An export that is refused raises the error of its code."""
    refusal = answer("503 X", b'{"error": "unavailable", "message": "the ledger is away"}')
    with server(refusal) as script, pytest.raises(Unavailable, match="the ledger is away"):
        run(script.url, lambda client: client.export("a"))


def test_pages_follow_the_cursor(run: Run) -> None:
    """``pages`` asks with each page's cursor until there is none, and keeps the other options."""
    first, last = (
        json.dumps({"memoryRef": "a", "entries": []} | more).encode() for more in ({"nextCursor": "c"}, {})
    )
    with server(answer("200 OK", first), answer("200 OK", last)) as script:
        assert len(run(script.url, lambda client: client.pages("a", token_budget=5))) == 2
    assert [path for _, path, *_ in script.requests] == [
        "/v1/memory/entries?memoryRef=a&tokenBudget=5",
        "/v1/memory/entries?memoryRef=a&tokenBudget=5&cursor=c",
    ]


def test_both_colours_have_the_same_calls() -> None:
    """Whatever one client can do, the other can, with the same arguments."""

    def calls(kind: type) -> dict[str, list[str]]:
        return {
            name: list(inspect.signature(value).parameters)
            for name, value in vars(kind).items()
            if callable(value) and not name.startswith("_") and name not in ("close", "aclose")
        }

    assert calls(Client) == calls(AsyncClient)
