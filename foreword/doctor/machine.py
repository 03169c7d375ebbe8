"""This machine: the interpreter, the tokenizer's ranks, the embedded servers' programs, the data folder."""

import os
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

from foreword.counters import COUNTERS, counter
from foreword.doctor.finding import Check, Finding, Place
from foreword.embedded import pginstall, valkey
from foreword.errors import ConfigurationError, CounterUnavailable

OLDEST_PYTHON = (3, 11)
LEAST_SPACE_BYTES = 1 << 30
_REINSTALL = "pip install --force-reinstall 'foreword[all]'"


def python(_: Place) -> Iterator[Finding]:
    """The interpreter is one we are tested on."""
    version = ".".join(map(str, sys.version_info[:3]))
    if sys.version_info < OLDEST_PYTHON:
        yield Finding(
            check="python",
            state="problem",
            message=f"Python {version} is too old.",
            mend="install Python 3.11 or newer and make the virtual environment anew",
        )
    else:
        yield Finding(check="python", state="ok", message=f"Python {version}")


def counters(_: Place) -> Iterator[Finding]:
    """Every counter counts exactly: tiktoken is there and its ranks have the right sha256."""
    for name in COUNTERS:
        try:
            counter(name).count("one two three")
        except CounterUnavailable as error:
            yield Finding(check="counters", state="problem", message=error.message, mend=_REINSTALL)
            continue
        yield Finding(check="counters", state="ok", message=f"{name} counts exactly")


def programs(place: Place) -> Iterator[Finding]:
    """The embedded servers start, where no outside server stands in for them."""
    if not place.environment.get("FOREWORD_DATABASE_URL"):
        yield _program("PostgreSQL", lambda: pginstall.installed() / "bin" / "postgres")
    if not place.environment.get("FOREWORD_REDIS_URL"):
        yield _program("Valkey", valkey.binary)


def folder(place: Place) -> Iterator[Finding]:
    """The data folder is ours, private and has room."""
    root = place.data_dir
    existing = next(path for path in (root, *root.absolute().parents) if path.exists())
    if not os.access(existing, os.W_OK | os.X_OK):
        yield Finding(
            check="data folder",
            state="problem",
            message=f"{existing} cannot be written.",
            mend=f"chown -R {os.geteuid()} {root}, or choose another with --data-dir",
        )
    free = shutil.disk_usage(existing).free
    if free < LEAST_SPACE_BYTES:
        yield Finding(
            check="data folder",
            state="problem" if free < LEAST_SPACE_BYTES // 10 else "warning",
            message=f"Only {free // (1 << 20):,} MiB are free at {root}.",
            mend="free some space, or move the data folder and start with --data-dir",
        )
    credentials = root / "credentials.json"
    if credentials.exists() and credentials.stat().st_mode & 0o077:
        yield Finding(
            check="data folder",
            state="problem",
            message=f"{credentials} can be read by others.",
            mend=f"chmod 600 {credentials}, then make new keys: foreword keys create",
        )
    yield Finding(check="data folder", state="ok", message=f"{root}, {free // (1 << 30):,} GiB free")


def _program(name: str, find: Callable[[], Path]) -> Finding:
    try:
        asked = subprocess.run(
            [str(find()), "--version"], capture_output=True, text=True, timeout=10, check=True
        )
    except ConfigurationError as error:
        return Finding(check="programs", state="problem", message=error.message, mend=_REINSTALL)
    except (OSError, subprocess.SubprocessError):
        return Finding(
            check="programs", state="problem", message=f"{name}'s program does not start.", mend=_REINSTALL
        )
    return Finding(check="programs", state="ok", message=asked.stdout.strip().splitlines()[0])


CHECKS: tuple[Check, ...] = (python, counters, programs, folder)
