"""Clocks that jump: order is the ledger's, and nothing that has expired by the reader's clock is served."""

import random
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from foreword.instant import now_ms, to_wire
from tests.faults import truth
from tests.faults.calls import client, persist
from tests.faults.conftest import Storm
from tests.services import Product, eventually

_HOUR_MS = 3_600_000

_SHIFT = '''
"""Shifts the wall clock of one part of the product by the milliseconds in a file; for tests only."""

import sys
import time
from pathlib import Path

_part = next((name for name in ("api_shim", "worker") if name in sys.orig_argv), None)
if _part is not None:
    _told, _true = Path(__file__).with_name(_part), time.time_ns

    def _shifted() -> int:
        return _true() + int(_told.read_text() or "0") * 1_000_000

    time.time_ns = _shifted
'''


class Clocks:
    """The clocks of a product's shim and worker, each shifted by so many milliseconds."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        folder.mkdir()
        (folder / "sitecustomize.py").write_text(_SHIFT, encoding="utf-8")
        self.shift(api_shim=0, worker=0)

    def shift(self, **parts: int) -> None:
        for part, milliseconds in parts.items():
            fresh = self._folder / f".{part}"
            fresh.write_text(str(milliseconds), encoding="ascii")
            fresh.replace(self._folder / part)

    @contextmanager
    def jumping(self) -> Iterator[None]:
        """Both jump to and fro by up to a day, apart from each other, inside the block."""
        enough = threading.Event()

        def jump() -> None:
            while not enough.wait(0.1):
                day = 24 * _HOUR_MS
                self.shift(api_shim=random.randint(-day, day), worker=random.randint(-day, day))

        thread = threading.Thread(target=jump)
        thread.start()
        try:
            yield
        finally:
            enough.set()
            thread.join()
            self.shift(api_shim=0, worker=0)


@pytest.fixture(scope="module")
def clocks(tmp_path_factory: pytest.TempPathFactory) -> Clocks:
    """Set right before each use."""
    return Clocks(tmp_path_factory.mktemp("clocks") / "shifted")


@pytest.fixture(scope="module")
def timeless(clocks: Clocks, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Product]:
    """A product whose processes read these clocks."""
    folder = tmp_path_factory.mktemp("timeless") / "data"
    product = Product(folder, "--port", "0", PYTHONPATH=str(clocks._folder)).start()
    try:
        product.wait_ready()
        yield product
    finally:
        product.stop()


def test_order_is_the_accept_order(timeless: Product, clocks: Clocks, storm: Storm) -> None:
    """While the clocks of shim and worker jump by days, order, removals and heads stay right."""
    with storm(timeless) as traffic, clocks.jumping():
        traffic.reached(400)
        traffic.agrees()


def test_created_at_does_not_order(timeless: Product) -> None:
    """An import that says it was created in another order is read in the order it was accepted."""
    ref = "clock/created"
    lines = "\n".join(
        f'{{"memoryRef": "{ref}", "id": "{id_}", "content": "c", "createdAt": "{year}-01-01T00:00:00.000Z"}}'
        for id_, year in (("first", 2035), ("second", 1999), ("third", 2020))
    )
    told = persist(
        timeless,
        "POST",
        "/v1/memory/import",
        content=lines,
        headers={"Content-Type": "application/x-ndjson"},
    )
    assert told.status_code == 202, told.text
    eventually(lambda: truth.newest(timeless, ref) == ["third", "second", "first"], "filed in order")
    assert _everywhere(timeless, ref) == ["third", "second", "first"]


def test_nothing_expired_is_served(timeless: Product, clocks: Clocks) -> None:
    """What has expired by the shim's clock is gone from every path at once, and back when the clock is."""
    ref = "clock/expiry"
    expiry = to_wire(now_ms() + _HOUR_MS)
    drafts = [
        {"memoryRef": ref, "id": f"e-{n}", "content": f"entry {n}", "tags": ["t"]}
        | ({"expiresAt": expiry} if n % 2 else {})
        for n in range(6)
    ]
    told = persist(
        timeless, "POST", "/v1/memory/entries:batch", params={"wait": 30}, json={"entries": drafts}
    )
    assert told.status_code == 201, told.text
    everything, lasting = [f"e-{n}" for n in (5, 4, 3, 2, 1, 0)], ["e-4", "e-2", "e-0"]
    before = _everywhere(timeless, ref)
    assert before == everything
    for hours, expected in ((2, lasting), (0, everything), (-48, everything), (2, lasting)):
        clocks.shift(api_shim=hours * _HOUR_MS)
        assert _everywhere(timeless, ref) == expected
    clocks.shift(api_shim=2 * _HOUR_MS, worker=-2 * _HOUR_MS)
    told = persist(
        timeless,
        "POST",
        "/v1/memory/entries",
        params={"wait": 30},
        json={"memoryRef": ref, "id": "new", "content": "filed by a clock that is behind", "tags": ["t"]},
    )
    assert told.status_code == 201, told.text
    assert _everywhere(timeless, ref) == ["new", *lasting]
    clocks.shift(api_shim=0, worker=0)
    assert _everywhere(timeless, ref) == ["new", *everything]


def _everywhere(product: Product, ref: str) -> list[str]:
    """The ids every way of reading agrees on, newest first; asked twice, for a cold and a warm view."""
    found: set[tuple[str, ...]] = set()
    with client(product) as asking:
        for options in 2 * ({}, {"limit": 1000}, {"tag": "t"}, {"tokenBudget": 100_000}, {"fields": "all"}):
            if options == {"tag": "t"} and "created" in ref:
                continue
            listed = asking.get("/v1/memory/entries", params={"memoryRef": ref, **options})
            assert listed.status_code == 200, listed.text
            found.add(tuple(entry["id"] for entry in listed.json()["entries"]))
            time.sleep(0.01)
        (served,) = found
        exported = asking.get("/v1/memory/export", params={"memoryRef": ref}).text.splitlines()
        assert len(exported) == len(served)
        for id_ in truth.newest(product, ref):
            got = asking.get(f"/v1/memory/entries/{id_}", params={"memoryRef": ref})
            assert got.status_code == (200 if id_ in served else 404)
    return list(served)
