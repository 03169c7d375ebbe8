"""A server that is gone, or hangs: what goes on, what is refused, and that all is well afterwards."""

import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager
from typing import Any

import httpx
import pytest

from tests.faults import truth
from tests.faults.calls import client, fill, persist
from tests.faults.harm import away, family, frozen, pids
from tests.services import Product, eventually

LONGEST_S = 25.0
"""How long any answer may take while a server is away, on a machine that has other things to do."""

VERDICT_S = 6.0
"""Longer than a key's verdict is fresh."""


def _lose(product: Product, role: str, how: str) -> AbstractContextManager[None]:
    return away(product, role) if how == "gone" else frozen(*family(*pids(product, role)))


@pytest.mark.parametrize("how", ["gone", "hung"])
def test_the_ledger(hurt: Product, how: str) -> None:
    """Recency reads go on from valid heads under known keys; unknown keys and writes get 503, not a lie."""
    ref = f"away/ledger/{how}"
    fill(hurt, ref)
    before = _read(hurt, ref)
    key = hurt.wait_ready()["apiKey"]
    unknown = {"Authorization": f"Bearer {key[:-43]}{'x' * 43}"}
    with _lose(hurt, "postgres", how):
        until = time.monotonic() + VERDICT_S
        while time.monotonic() < until:
            assert _read(hurt, ref) == before
            time.sleep(0.2)
        asked: tuple[tuple[str, str, dict[str, Any]], ...] = (
            ("GET", "/v1/memory/entries", {"params": {"memoryRef": ref}, "headers": unknown}),
            ("POST", "/v1/memory/entries", {"json": {"memoryRef": ref, "content": "lost"}}),
            ("DELETE", "/v1/memory/entries/e-1", {"params": {"memoryRef": ref}}),
            ("GET", "/v1/memory/entries/e-1", {"params": {"memoryRef": ref}}),
            ("GET", "/v1/memory/entries", {"params": {"memoryRef": ref, "tag": "t"}}),
            ("GET", "/v1/memory/export", {"params": {"memoryRef": ref}}),
            ("GET", "/readyz", {}),
        )
        with ThreadPoolExecutor(len(asked)) as threads:
            for answer in threads.map(lambda one: _ask(hurt, one[0], one[1], **one[2]), asked):
                assert (answer.status_code, answer.json()["error"]) == (503, "unavailable"), answer.url
                assert int(answer.headers["Retry-After"]) >= 1
        assert _read(hurt, ref) == before
    draft = {"memoryRef": ref, "id": "later", "content": "kept"}
    assert persist(hurt, "POST", "/v1/memory/entries", json=draft).status_code == 202
    eventually(lambda: "later" in truth.newest(hurt, ref), "a write is filed again")
    assert {f"e-{number}" for number in range(10)} - {"e-1"} < {*truth.newest(hurt, ref)}


@pytest.mark.parametrize("how", ["gone", "hung"])
def test_the_hot_view(hurt: Product, how: str) -> None:
    """Reads are the same bytes from the ledger, writes are accepted, removals get 503 and remove nothing."""
    ref = f"away/view/{how}"
    fill(hurt, ref)
    before = [_read(hurt, ref, **options) for options in ({}, {"limit": 3}, {"tokenBudget": 9})]
    with _lose(hurt, "valkey", how):
        after = [_read(hurt, ref, **options) for options in ({}, {"limit": 3}, {"tokenBudget": 9})]
        assert after == before
        draft = {"memoryRef": ref, "id": "later", "content": "kept"}
        assert _ask(hurt, "POST", "/v1/memory/entries", json=draft).status_code == 202
        for path in ("/v1/memory/entries/e-1", "/v1/memory"):
            refused = _ask(hurt, "DELETE", path, params={"memoryRef": ref})
            assert (refused.status_code, refused.json()["error"]) == (503, "unavailable")
        assert len(truth.newest(hurt, ref)) == 10
        assert _read(hurt, ref) == before[0]
    eventually(lambda: truth.newest(hurt, ref)[0] == "later", "what was accepted meanwhile is filed")
    removed = persist(hurt, "DELETE", "/v1/memory/entries/e-1", params={"memoryRef": ref})
    assert removed.status_code == 200
    assert "e-1" not in _read(hurt, ref)[1]


def _ask(product: Product, method: str, path: str, **told: Any) -> httpx.Response:
    with client(product) as asking:
        started = time.monotonic()
        answer = asking.request(method, path, **told)
        assert time.monotonic() - started < LONGEST_S, f"{method} {path} took too long"
    return answer


def _read(product: Product, ref: str, **options: int) -> tuple[str, str]:
    """ETag and body."""
    answer = _ask(product, "GET", "/v1/memory/entries", params={"memoryRef": ref, **options})
    assert answer.status_code == 200, answer.text
    return answer.headers["ETag"], answer.text
