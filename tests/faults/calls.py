"""Calls to a product that may be broken at the moment."""

import threading
from typing import Any

import httpx

from tests.faults.harm import owner
from tests.services import LIMIT_S, Product, eventually


class Asked:
    """A request under way in a thread; its outcome is the answer, or None when the connection broke."""

    def __init__(self, product: Product, method: str, path: str, **told: Any) -> None:
        self._answers: list[httpx.Response] = []
        self._thread = threading.Thread(target=self._ask, args=(client(product), method, path, told))
        self._thread.start()

    def _ask(self, client: httpx.Client, method: str, path: str, told: dict[str, Any]) -> None:
        with client:
            try:
                self._answers.append(client.request(method, path, **told))
            except httpx.TransportError:
                return

    def outcome(self) -> httpx.Response | None:
        self._thread.join(LIMIT_S)
        assert not self._thread.is_alive(), "a request hangs"
        return self._answers[0] if self._answers else None


def client(product: Product) -> httpx.Client:
    """Calls the product with its first key."""
    ready = product.wait_ready()
    headers = {"Authorization": f"Bearer {ready['apiKey']}"}
    return httpx.Client(base_url=ready["url"], headers=headers, timeout=40, verify=False)


def persist(product: Product, method: str, path: str, **told: Any) -> httpx.Response:
    """The first answer that is not about being unavailable."""

    def ask() -> list[httpx.Response]:
        with client(product) as asking:
            try:
                answer = asking.request(method, path, **told)
            except httpx.TransportError:
                return []
        return [] if answer.status_code == 503 else [answer]

    answers: list[httpx.Response] = eventually(ask, f"{path} is answered")
    return answers[0]


def fill(product: Product, ref: str) -> None:
    """Ten entries, filed, embedded, and shown by the hot view: no transaction of theirs is still to come."""
    drafts = [{"memoryRef": ref, "id": f"e-{n}", "content": f"entry {n}", "tags": ["t"]} for n in range(10)]
    told = persist(product, "POST", "/v1/memory/entries:batch", params={"wait": 30}, json={"entries": drafts})
    assert told.status_code == 201, told.text
    eventually(lambda: window(product, ref) == 10, "the hot view shows them")
    with owner(product) as conn:
        eventually(
            lambda: not conn.execute("SELECT count(*) FROM unembedded").fetchone(), "they are embedded"
        )


def window(product: Product, ref: str) -> int | None:
    """Entries in the hot window, None while it is cold; asks for all of them, as a runtime might."""
    persist(product, "GET", "/v1/memory/entries", params={"memoryRef": ref, "limit": 1000})
    stats = persist(product, "GET", "/v1/memory/stats", params={"memoryRef": ref}).json()
    found: int | None = stats["hotWindow"]
    return found


def assert_gone(product: Product, ref: str, id_: str) -> None:
    """No path serves the entry, and all serve the others."""
    for options in ({}, {"limit": 3}, {"tag": "t"}, {"tokenBudget": 1000}, {"fields": "all"}):
        answer = persist(product, "GET", "/v1/memory/entries", params={"memoryRef": ref, **options})
        served = [entry["id"] for entry in answer.json()["entries"]]
        assert id_ not in served
        assert len(served) == options.get("limit", 9)
    assert persist(product, "GET", f"/v1/memory/entries/{id_}", params={"memoryRef": ref}).status_code == 404
    assert id_ not in persist(product, "GET", "/v1/memory/export", params={"memoryRef": ref}).text
