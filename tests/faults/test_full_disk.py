"""A data folder on a disk that fills up, and has room again."""

import os
import random
import subprocess
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import httpx
import pytest

from tests.faults import truth
from tests.faults.calls import client, persist
from tests.faults.harm import kill, pids
from tests.services import Product, eventually

REF = "disk"
SIZE = "240m"


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    """A file system of its own that holds a fresh product and little more; needs root and Linux."""
    place = tmp_path / "disk"
    place.mkdir()
    command = ("mount", "-t", "tmpfs", "-o", f"size={SIZE},mode=755", "foreword-test", str(place))
    with suppress(FileNotFoundError):
        if subprocess.run(command, capture_output=True, check=False).returncode == 0:
            try:
                yield place
            finally:
                subprocess.run(("umount", "-l", str(place)), check=True)
            return
    pytest.skip("no small file system can be mounted here")


def test_writes_are_refused_and_nothing_accepted_is_lost(small_disk: Path) -> None:
    """Full: writes get 503, the product stays up. With room again every 202 is filed and writes go on."""
    product = Product(small_disk / "data", "--port", "0").start()
    product.wait_ready()
    try:
        accepted = [_write(product, f"before-{n}") for n in range(20)]
        ballast = small_disk / "ballast"
        _fill_up(ballast)
        refused = 0
        for number in range(1000):
            told = _write(product, f"full-{number}")
            accepted.append(told)
            refused += told is None
            if refused == 5:
                break
            if told is not None:
                _fill_up(ballast)
        assert refused == 5, "a full disk took every write"
        assert product.process is not None
        with _kept_full(ballast), suppress(subprocess.TimeoutExpired):
            kill(*pids(product, "worker", "valkey", "postgres", "shim"))
            product.process.wait(5)
        assert product.process.poll() is None, product.printed.read_text(encoding="utf-8")
        ballast.unlink()
        again = {"memoryRef": REF, "id": "again", "content": "room again"}
        assert persist(product, "POST", "/v1/memory/entries", json=again).status_code == 202
        expected = {*filter(None, accepted), "again"}
        eventually(lambda: expected <= {*truth.newest(product, REF)}, "every accepted write is filed")
        assert truth.written_twice(product, REF) == []
        listed = persist(product, "GET", "/v1/memory/entries", params={"memoryRef": REF, "limit": 1000})
        assert [entry["id"] for entry in listed.json()["entries"]] == truth.newest(product, REF)
    finally:
        product.stop()


def _fill_up(ballast: Path) -> None:
    """Leaves no room on the disk that ``ballast`` is on."""
    with suppress(OSError), ballast.open("ab", buffering=0) as file:
        while True:
            file.write(bytes(64 * 1024))
    with suppress(OSError):
        descriptor = os.open(ballast, os.O_WRONLY | os.O_APPEND)
        with suppress(OSError):
            while os.write(descriptor, bytes(512)):
                pass
        os.close(descriptor)


@contextmanager
def _kept_full(ballast: Path) -> Iterator[None]:
    """Whatever room appears inside the block is taken at once."""
    enough = threading.Event()

    def keep() -> None:
        while not enough.wait(0.01):
            _fill_up(ballast)

    thread = threading.Thread(target=keep)
    thread.start()
    try:
        yield
    finally:
        enough.set()
        thread.join()


def _write(product: Product, id_: str) -> str | None:
    """The id if the write is accepted; None if it is refused for now."""
    words = " ".join(random.choice(_WORDS) for _ in range(8_000))
    with client(product) as asking:
        try:
            answer = asking.post("/v1/memory/entries", json={"memoryRef": REF, "id": id_, "content": words})
        except httpx.TransportError:
            return None
    assert answer.status_code in (202, 503), answer.text
    return id_ if answer.status_code == 202 else None


_WORDS = ("amber", "birch", "cedar", "delta", "ember", "fjord", "grove", "haven", "inlet", "jetty")
