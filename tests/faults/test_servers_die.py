"""kill -9 of the servers the product stands on, and of everything at once."""

import os
import shutil
import signal
from collections.abc import Iterator
from pathlib import Path

import pytest

from foreword.embedded.launch import birth
from tests.faults.conftest import Storm
from tests.faults.harm import WORKER, away, kill, kill_role, pids, scope_locked, until_waiting
from tests.services import Product, eventually


@pytest.fixture
def alone(tmp_path: Path) -> Iterator[Product]:
    """A product of one test."""
    product = Product(tmp_path / "data", "--port", "0").start()
    try:
        product.wait_ready()
        yield product
    finally:
        product.stop()


def test_valkey_with_its_file_kept(hurt: Product, storm: Storm) -> None:
    """Wake-ups and heads of another server run are no truth: nothing stale is served and all is filed."""
    with storm(hurt) as traffic:
        for reached in (100, 200, 300):
            traffic.reached(reached)
            kill_role(hurt, "valkey")


def test_valkey_with_its_file_lost(hurt: Product, storm: Storm) -> None:
    """With every wake-up, binding and head gone, beat finds what is in the inbox."""
    with storm(hurt) as traffic:
        traffic.reached(150)
        before = pids(hurt, "valkey")
        with away(hurt, "valkey"):
            shutil.rmtree(hurt.data_dir / "valkey" / "appendonlydir")
        eventually(lambda: pids(hurt, "valkey") != before, "valkey started again")
        traffic.reached(300)
        traffic.agrees()


def test_postgres_in_the_middle_of_a_transaction(hurt: Product, storm: Storm) -> None:
    """A ledger that dies with a drain inside it: what it had not committed is filed afterwards, once."""
    with storm(hurt) as traffic:
        traffic.reached(100)
        with scope_locked(hurt, traffic.ref):
            until_waiting(hurt, "Lock", WORKER)
            kill_role(hurt, "postgres")
        traffic.reached(200)
        with scope_locked(hurt, traffic.ref):
            backend, *_ = until_waiting(hurt, "Lock", WORKER)
            kill(backend)
        traffic.reached(300)


def test_everything_at_once(alone: Product, storm: Storm) -> None:
    """Every process killed at once, the supervisor too: the next start on the folder finishes the work."""
    with storm(alone, total=1000) as traffic:
        for reached in (200, 500):
            traffic.reached(reached)
            everyone = pids(alone, "supervisor", "shim", "beat", "worker", "embed", "valkey", "postgres")
            for pid in everyone:
                os.kill(pid, signal.SIGKILL)
            alone.wait_ended()
            alone.start().wait_ready()
            assert not any(birth(pid) for pid in everyone)
