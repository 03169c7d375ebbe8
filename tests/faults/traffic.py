"""A runtime under way: it writes, removes and reads without pause, and remembers what it was told.

It retries what met a dead connection or a 503, under the same id, as a runtime should. What it was told is
then held against the product: see ``Traffic.settle``.
"""

import itertools
import json
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import httpx
import pytest

from tests.faults import truth
from tests.services import LIMIT_S, Product, eventually

TAG = "traffic"


class Traffic:
    """One memory's traffic: ``total`` writes in order, every tenth of them removed again.

    ``content`` makes the text of a write. What a read served wrongly is collected in ``wrong``.
    """

    def __init__(
        self, product: Product, ref: str, content: Callable[[int], str], *, total: int = 500
    ) -> None:
        self.product = product
        self.ref = ref
        self.total = total
        self.accepted: list[str] = []
        self.filed: set[str] = set()
        self.doomed: set[str] = set()
        self.removed: set[str] = set()
        self.wrong: list[str] = []
        self._content = content
        self._stopped = threading.Event()
        self._written = threading.Event()

    @contextmanager
    def under_way(self) -> Iterator["Traffic"]:
        """Writes and reads inside the block, until every write is accepted."""
        threads = [threading.Thread(target=work) for work in (self._write, self._read)]
        for thread in threads:
            thread.start()
        try:
            yield self
            self.reached(self.total)
            eventually(self._written.is_set, "the last removal is answered")
        finally:
            self._stopped.set()
            for thread in threads:
                thread.join()

    def reached(self, count: int) -> None:
        """Returns once so many writes are accepted."""
        eventually(
            lambda: len(self.accepted) >= count, f"{count} writes are accepted, not {len(self.accepted)}"
        )

    def settle(self) -> None:
        """Every accepted write is filed exactly once, nothing removed is left, and every path says so."""
        eventually(lambda: truth.pending(self.product, self.ref) == 0, "the inbox is empty")
        assert self.wrong == []
        expected = [id_ for id_ in reversed(self.accepted) if id_ not in self.removed]
        assert truth.newest(self.product, self.ref) == expected
        assert truth.written_twice(self.product, self.ref) == []
        with _client(self.product) as client:
            for way in (_listed, _paged, _tagged, _budgeted):
                assert way(client, self.ref) == expected, way.__name__
            assert _exported(client, self.ref) == expected[::-1]
            for id_ in itertools.islice(self.removed, 20):
                assert _get(client, self.ref, id_).status_code == 404

    def agrees(self) -> None:
        """A read of this moment answers exactly what the ledger holds."""
        deadline = time.monotonic() + LIMIT_S
        while time.monotonic() < deadline:
            before = truth.newest(self.product, self.ref)
            with _client(self.product) as client:
                answer = client.get("/v1/memory/entries", params={"memoryRef": self.ref, "limit": 1000})
            if before == truth.newest(self.product, self.ref):
                assert answer.status_code == 200, answer.text
                assert [entry["id"] for entry in answer.json()["entries"]] == before
                return
        pytest.fail("the ledger never stood still")

    def _write(self) -> None:
        with _Caller(self) as caller:
            for number in range(self.total):
                self._post(caller, number)
                if number % 10 == 9:
                    self._remove(caller, self.accepted[number - number % 4])
                if self._stopped.is_set():
                    return
        self._written.set()

    def _post(self, caller: "_Caller", number: int) -> None:
        id_ = f"w-{number:04}"
        body = {"memoryRef": self.ref, "id": id_, "content": self._content(number), "tags": [TAG]}
        wait = {"wait": "0.5"} if number % 25 == 0 else {}
        answer = caller.ask("POST", "/v1/memory/entries", params=wait, json=body)
        if answer is None:
            return
        if answer.status_code not in (201, 202):
            self.wrong.append(f"write {number} answered {answer.status_code} {answer.text}")
        self.accepted.append(id_)
        if answer.status_code == 201:
            self.filed.add(id_)

    def _remove(self, caller: "_Caller", id_: str) -> None:
        self.doomed.add(id_)
        answer = caller.ask("DELETE", f"/v1/memory/entries/{id_}", params={"memoryRef": self.ref})
        if answer is None:
            return
        if answer.status_code != 200 and not (answer.status_code == 404 and caller.tries > 1):
            self.wrong.append(f"removal of {id_} answered {answer.status_code} {answer.text}")
        self.removed.add(id_)

    def _read(self) -> None:
        ways = itertools.cycle((_listed, _paged, _tagged, _exported, _budgeted, self._get_removed))
        while not self._stopped.is_set():
            with _client(self.product) as client:
                for way in itertools.islice(ways, 12):
                    self._judge(way, client)
                    self._stopped.wait(0.15)

    def _judge(self, way: "_Way", client: httpx.Client) -> None:
        gone, filed = set(self.removed), set(self.filed)
        try:
            served = way(client, self.ref)
        except (httpx.TransportError, _Unavailable):
            return
        due = filed - self.doomed
        if back := gone & {*served}:
            self.wrong.append(f"{way.__name__} served {sorted(back)} after their removal")
        if way == self._get_removed:
            return
        if missing := due - {*served}:
            self.wrong.append(f"{way.__name__} lacks {sorted(missing)}, which were said to be filed")
        if twice := [id_ for id_, count in Counter(served).items() if count > 1]:
            self.wrong.append(f"{way.__name__} served {twice} twice")
        if served != sorted(served, reverse=way is not _exported):
            self.wrong.append(f"{way.__name__} is out of order")

    def _get_removed(self, client: httpx.Client, ref: str) -> list[str]:
        removed = list(self.removed)[-5:]
        return [id_ for id_ in removed if _answered(_get(client, ref, id_)).status_code == 200]


_Way = Callable[[httpx.Client, str], list[str]]


class _Unavailable(Exception):
    """The product said 503."""


class _Caller:
    """Asks until it is answered; ``tries`` tells how often the last question was asked."""

    def __init__(self, traffic: Traffic) -> None:
        self._traffic = traffic
        self._client = _client(traffic.product)
        self.tries = 0

    def __enter__(self) -> "_Caller":
        return self

    def __exit__(self, *_: object) -> None:
        self._client.close()

    def ask(self, method: str, path: str, **told: Any) -> httpx.Response | None:
        """The answer, or None when the traffic is stopped before there is one."""
        self.tries = 0
        while not self._traffic._stopped.is_set():
            self.tries += 1
            try:
                answer = self._client.request(method, path, **told)
            except httpx.TransportError:
                self._client.close()
                self._client = _client(self._traffic.product)
            else:
                if answer.status_code != 503:
                    return answer
            self._traffic._stopped.wait(0.1)
        return None


def _client(product: Product) -> httpx.Client:
    """Calls the product where it is now; nowhere, which refuses, while it is down."""
    ready = product.ready() or {"url": "http://127.0.0.1:1", "apiKey": "none"}
    return httpx.Client(
        base_url=ready["url"],
        headers={"Authorization": f"Bearer {ready['apiKey']}"},
        timeout=40,
        verify=False,
    )


def _answered(answer: httpx.Response) -> httpx.Response:
    if answer.status_code == 503:
        raise _Unavailable
    assert answer.status_code in (200, 404), answer.text
    return answer


def _ids(client: httpx.Client, ref: str, **options: Any) -> list[str]:
    answer = _answered(client.get("/v1/memory/entries", params={"memoryRef": ref, **options}))
    return [entry["id"] for entry in answer.json()["entries"]]


def _listed(client: httpx.Client, ref: str) -> list[str]:
    return _ids(client, ref, limit=1000)


def _tagged(client: httpx.Client, ref: str) -> list[str]:
    return _ids(client, ref, limit=1000, tag=TAG)


def _budgeted(client: httpx.Client, ref: str) -> list[str]:
    return _ids(client, ref, tokenBudget=10_000_000, fit="pack")


def _paged(client: httpx.Client, ref: str) -> list[str]:
    found: list[str] = []
    more: dict[str, str] = {}
    while True:
        asked = {"memoryRef": ref, "limit": "170", **more}
        answer = _answered(client.get("/v1/memory/entries", params=asked)).json()
        found += [entry["id"] for entry in answer["entries"]]
        if "nextCursor" not in answer:
            return found
        more = {"cursor": answer["nextCursor"]}


def _exported(client: httpx.Client, ref: str) -> list[str]:
    answer = _answered(client.get("/v1/memory/export", params={"memoryRef": ref}))
    return [json.loads(line)["id"] for line in answer.text.splitlines()]


def _get(client: httpx.Client, ref: str, id_: str) -> httpx.Response:
    return client.get(f"/v1/memory/entries/{id_}", params={"memoryRef": ref})
