"""Real servers for tests: PostgreSQL and Valkey started once a session, and the whole product likewise.

``services`` gives both servers, the ledger migrated; ``product`` a running ``foreword up``. Both live in a
temporary folder and are gone when the session ends, however it ends.
"""

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from foreword.embedded.child import Child
from foreword.embedded.credentials import Credentials
from foreword.embedded.environment import as_role
from foreword.embedded.folder import Folder
from foreword.embedded.servers import Servers
from foreword.ledger.migrate import migrate

LIMIT_S = 90.0
"""How long anything may take on a slow machine before a test says it hangs."""


def eventually(question: Callable[[], Any], what: str, limit: float = LIMIT_S) -> Any:
    """The first true answer; fails with ``what`` when none comes in time."""
    deadline = time.monotonic() + limit
    while time.monotonic() < deadline:
        if answer := question():
            return answer
        time.sleep(0.05)
    pytest.fail(f"not within {limit:g} s: {what}")


def start(child: Child) -> Child:
    """Starts a child and waits until it serves."""
    child.start()
    eventually(lambda: child.check_ready() or not child.alive(), f"{child.spec.name} serves")
    assert child.ready, child.last_words()
    return child


@dataclass(frozen=True, kw_only=True)
class Services:
    """Running servers. Each URL of the ledger is one role's; ``owner_url`` may do everything."""

    folder: Folder
    credentials: Credentials
    owner_url: str
    shim_url: str
    worker_url: str
    redis_url: str
    broker_url: str
    postgres: Child
    valkey: Child


@pytest.fixture(scope="session")
def services(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Services]:
    """PostgreSQL with a migrated ledger, and Valkey."""
    folder = Folder(tmp_path_factory.mktemp("services"))
    folder.create()
    credentials = Credentials.fresh()
    servers = Servers.of(folder, credentials, {}, sync=False)
    children = [Child(spec) for spec in servers.specs()]
    try:
        postgres, valkey = (start(child) for child in children)
        servers.create_database()
        url, shim, worker = servers.database_url, credentials.shim_password, credentials.worker_password
        migrate(url, shim_password=shim, worker_password=worker)
        yield Services(
            folder=folder,
            credentials=credentials,
            owner_url=url,
            shim_url=as_role(url, "foreword_shim", shim),
            worker_url=as_role(url, "foreword_worker", worker),
            redis_url=servers.redis_url,
            broker_url=servers.broker_url,
            postgres=postgres,
            valkey=valkey,
        )
    finally:
        for child in children:
            child.stop()
        servers.remove_borrowed()


class Product:
    """``foreword up`` as a process of its own, as a person would start it."""

    def __init__(
        self, data_dir: Path, *arguments: str, user: str | int | None = None, **settings: str
    ) -> None:
        self.data_dir = data_dir
        self.ready_file = data_dir.with_name(f"{data_dir.name}.ready.json")
        self.printed = data_dir.with_name(f"{data_dir.name}.printed.txt")
        self.command = (
            *(sys.executable, "-m", "foreword.cli", "up", "--data-dir", str(data_dir)),
            *("--ready-file", str(self.ready_file), *arguments),
        )
        self._user = user
        self._settings = settings
        self.process: subprocess.Popen[bytes] | None = None

    def start(self) -> "Product":
        """Starts it; ``wait_ready`` waits for it."""
        self.ready_file.unlink(missing_ok=True)
        with self.printed.open("wb") as printed:
            self.process = subprocess.Popen(
                self.command,
                stdout=printed,
                stderr=subprocess.STDOUT,
                env={**os.environ, **self._settings},
                user=self._user,
                extra_groups=None if self._user is None else [],
            )
        return self

    def ready(self) -> dict[str, Any] | None:
        """The readiness file, once it is there."""
        try:
            found: dict[str, Any] = json.loads(self.ready_file.read_text(encoding="utf-8"))
        except FileNotFoundError:
            return None
        return found

    def wait_ready(self) -> dict[str, Any]:
        """The readiness file; fails with what was printed when the product ends instead."""
        process = self._running()
        eventually(lambda: self.ready() or process.poll() is not None, "foreword up is ready")
        found = self.ready()
        assert found is not None, self.printed.read_text(encoding="utf-8")
        return found

    def wait_ended(self) -> int:
        """The exit code."""
        return self._running().wait(LIMIT_S)

    def stop(self) -> int:
        """Asks it to stop as Ctrl-C would; the exit code. A second call returns the same."""
        process = self._running()
        if process.poll() is None:
            process.send_signal(signal.SIGINT)
        return self.wait_ended()

    def _running(self) -> "subprocess.Popen[bytes]":
        assert self.process is not None
        return self.process


@pytest.fixture(scope="session")
def running_product(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Product]:
    """A running product, for who needs its process or its data folder too."""
    running = Product(tmp_path_factory.mktemp("product") / "data", "--port", "0").start()
    try:
        running.wait_ready()
        yield running
    finally:
        running.stop()


@pytest.fixture(scope="session")
def product(running_product: Product) -> dict[str, Any]:
    """The readiness file of a running product."""
    return running_product.wait_ready()
