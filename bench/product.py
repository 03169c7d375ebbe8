"""The whole product in a temporary folder: started, handed out, stopped, removed."""

import json
import os
import shutil
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from signal import SIGINT, SIGTERM, signal
from typing import NoReturn

from foreword.embedded.child import Child, Spec
from foreword.embedded.credentials import Credentials
from foreword.embedded.environment import as_role
from foreword.embedded.folder import Folder

_START_LIMIT_S = 120.0


class NotStarted(RuntimeError):
    """A process ended, or did not serve in time; the message holds its last words."""


@dataclass(frozen=True, kw_only=True)
class Product:
    """A running ``foreword up`` and how each of its parts is reached."""

    folder: Path
    url: str
    api_key: str
    owner_url: str
    shim_url: str
    worker_url: str
    redis_url: str
    broker_url: str
    seal_key: str
    credentials: Credentials

    def shim_environment(self) -> dict[str, str]:
        """What a second HTTP server of this product would be told."""
        return clean_environment() | {
            "FOREWORD_DATABASE_URL": self.shim_url,
            "FOREWORD_REDIS_URL": self.redis_url,
            "FOREWORD_BROKER_URL": self.broker_url,
            "FOREWORD_SEAL_PUBLIC_KEY": self.seal_key,
            "FOREWORD_DIGEST_KEY": self.credentials.digest_key,
            "FOREWORD_METRICS": "true",
        }


def clean_environment() -> dict[str, str]:
    """The caller's environment without Foreword's settings: a demo must not reach real servers."""
    return {name: value for name, value in os.environ.items() if not name.startswith("FOREWORD_")}


@contextmanager
def temporary_folder() -> Iterator[Path]:
    """A folder that is gone afterwards, also when the process is asked to stop."""

    def stop(*_: object) -> NoReturn:
        raise KeyboardInterrupt

    previous = signal(SIGTERM, stop)
    folder = Path(tempfile.mkdtemp(prefix="foreword-"))
    try:
        yield folder
    finally:
        shutil.rmtree(folder)
        signal(SIGTERM, previous)


@contextmanager
def child(
    name: str,
    command: tuple[str, ...],
    environment: Mapping[str, str],
    folder: Path,
    serves: Callable[[], bool],
) -> Iterator[None]:
    """A process, once it serves; it dies with this one, whatever happens."""
    process = Child(
        Spec(
            name=name,
            command=command,
            environment=environment,
            log=folder / f"{name}.log",
            record=None,
            stage=0,
            stop_signal=SIGINT,
            grace=90.0,
            probe=serves,
        )
    )
    try:
        process.start()
        deadline = time.monotonic() + _START_LIMIT_S
        while not process.check_ready():
            if not process.alive() or time.monotonic() > deadline:
                raise NotStarted(f"{name} did not start:\n{process.last_words(20)}")
            time.sleep(0.02)
        yield
    finally:
        process.stop()


@contextmanager
def running_product(folder: Path) -> Iterator[Product]:
    """``foreword up`` on a fresh data folder and a free port."""
    data, ready = folder / "data", folder / "ready.json"
    command = (sys.executable, "-P", "-m", "foreword.cli", "up", "--port", "0")
    where = ("--data-dir", str(data), "--ready-file", str(ready))
    with child("foreword", (*command, *where), clean_environment(), folder, ready.exists):
        yield reached(data, json.loads(ready.read_text(encoding="utf-8")))


def reached(data: Path, told: Mapping[str, str]) -> Product:
    """A product that runs on a data folder, from what its readiness file tells."""
    credentials = Credentials.load(Folder(data).credentials)
    if credentials is None:
        raise NotStarted("foreword up wrote no credentials.")
    owner = told["databaseUrl"]
    return Product(
        folder=data.parent,
        url=told["url"],
        api_key=told["apiKey"],
        owner_url=owner,
        shim_url=as_role(owner, "foreword_shim", credentials.shim_password),
        worker_url=as_role(owner, "foreword_worker", credentials.worker_password),
        redis_url=told["redisUrl"],
        broker_url=told["brokerUrl"],
        seal_key=told["sealKey"],
        credentials=credentials,
    )
