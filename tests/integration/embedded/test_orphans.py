"""Orphans: what a supervisor that was killed leaves behind, and what must never be touched."""

import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from foreword.embedded import orphans
from foreword.embedded.launch import birth
from tests.services import eventually

_SUPERVISOR = """
import pathlib, sys, time
from foreword.embedded.child import Child, Spec
root = pathlib.Path(sys.argv[1])
code = sys.argv[2]
spec = Spec(name="worker-1", command=(sys.executable, "-S", "-c", code), environment={},
            log=root / "log", record=root / "worker-1.pid.json", stage=0)
Child(spec).start()
time.sleep(600)
"""
_QUIET = "import time; print('up', flush=True); time.sleep(600)"
_DEAF = "import signal; signal.signal(signal.SIGTERM, signal.SIG_IGN); " + _QUIET

linux = pytest.mark.skipif(sys.platform != "linux", reason="asks the Linux kernel")


def _left_behind(root: Path, code: str) -> int:
    """The pid of a child whose supervisor was killed once it was up."""
    supervisor = subprocess.Popen([sys.executable, "-c", _SUPERVISOR, str(root), code])
    log = root / "log"
    eventually(lambda: log.exists() and "up" in log.read_text(), "the child is up")
    supervisor.kill()
    supervisor.wait()
    return int(json.loads((root / "worker-1.pid.json").read_text())["pid"])


@pytest.fixture
def stranger() -> Iterator[subprocess.Popen[bytes]]:
    """A living process that is none of ours."""
    process = subprocess.Popen(["/bin/sleep", "600"])
    yield process
    process.kill()
    process.wait()


@linux
def test_a_child_ends_with_its_supervisor(tmp_path: Path) -> None:
    """After kill -9 of the supervisor the kernel asks the child to stop."""
    pid = _left_behind(tmp_path, _QUIET)
    eventually(lambda: birth(pid) is None, "the child is gone")
    assert orphans.stop_all(tmp_path) == []
    assert not list(tmp_path.glob("*.json"))


def test_a_deaf_child_is_killed_by_the_next_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """An orphan that does not listen is killed after its grace and its record is gone."""
    monkeypatch.setattr(orphans, "_GRACE_S", 0.3)
    pid = _left_behind(tmp_path, _DEAF)
    assert birth(pid) is not None
    assert orphans.stop_all(tmp_path) == ["worker-1"]
    assert birth(pid) is None
    assert not list(tmp_path.glob("*.json"))


def test_a_process_that_has_the_pid_by_chance_is_left_alone(
    tmp_path: Path, stranger: subprocess.Popen[bytes]
) -> None:
    """A record whose process is dead never leads to a stranger that got its pid."""
    record = {"name": "valkey", "pid": stranger.pid, "birth": "another boot/1", "signal": int(signal.SIGTERM)}
    (tmp_path / "valkey.pid.json").write_text(json.dumps(record))
    assert orphans.stop_all(tmp_path) == []
    assert stranger.poll() is None


@pytest.mark.parametrize("content", ["", "{", "[]", '{"pid": "x"}'])
def test_a_record_cut_short_is_forgotten(tmp_path: Path, content: str) -> None:
    """A record nobody can read stops nothing and does not stop a start."""
    (tmp_path / "shim.pid.json").write_text(content)
    assert orphans.stop_all(tmp_path) == []
    assert not list(tmp_path.glob("*.json"))


@linux
def test_a_zombie_is_dead() -> None:
    """A process that ended and was not waited for counts as gone."""
    process = subprocess.Popen(["/bin/true"])
    eventually(lambda: birth(process.pid) is None, "the zombie is seen as dead")
    process.wait()
    assert birth(os.getpid()) is not None
