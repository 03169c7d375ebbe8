"""The embedded Valkey under the faults it is meant to stand."""

import os
import signal
from collections.abc import Iterator
from pathlib import Path

import pytest
import redis
from redis.backoff import NoBackoff
from redis.retry import Retry

from foreword.embedded import ports
from foreword.embedded.child import Child
from foreword.embedded.folder import Folder
from foreword.embedded.supervisor import Supervisor
from foreword.embedded.valkey import Valkey
from tests.integration.embedded.quiet import NeverAsked
from tests.services import eventually, start


@pytest.fixture
def folder(tmp_path: Path) -> Folder:
    """An empty data folder."""
    folder = Folder(tmp_path / "data")
    folder.create()
    return folder


@pytest.fixture
def valkey(folder: Folder) -> Valkey:
    """A server that is not started."""
    return Valkey(folder, port=ports.free(), password="secret")


@pytest.fixture
def supervisor(valkey: Valkey) -> Iterator[Supervisor]:
    """Watches the server, started."""
    supervisor = Supervisor(NeverAsked(), lambda line: None)
    supervisor.start([valkey.spec()])
    yield supervisor
    supervisor.stop()


def _newest_file(folder: Folder) -> Path:
    return max(folder.valkey.glob("appendonlydir/*.incr.aof"))


def _stopped_with_a_key(valkey: Valkey) -> None:
    child = start(Child(valkey.spec()))
    with redis.Redis.from_url(valkey.redis_url) as client:
        client.set("kept", "1")
        client.set("last", "2")
    child.stop()


def test_a_stop_keeps_every_key(valkey: Valkey) -> None:
    """What was written just before a clean stop is there after it."""
    _stopped_with_a_key(valkey)
    child = start(Child(valkey.spec()))
    with redis.Redis.from_url(valkey.redis_url) as client:
        assert client.mget("kept", "last") == [b"1", b"2"]
    child.stop()


def test_a_cut_tail_costs_the_last_write_only(valkey: Valkey, folder: Folder) -> None:
    """A file cut inside its last command is loaded up to there."""
    _stopped_with_a_key(valkey)
    file = _newest_file(folder)
    os.truncate(file, file.stat().st_size - 3)
    child = start(Child(valkey.spec()))
    with redis.Redis.from_url(valkey.redis_url) as client:
        assert client.mget("kept", "last") == [b"1", None]
    child.stop()


@pytest.mark.parametrize("harm", ["garbled", "*.base.rdb", "*.incr.aof"])
def test_an_unreadable_file_is_set_aside(valkey: Valkey, folder: Folder, harm: str) -> None:
    """A file Valkey refuses is kept under another name and the server comes up empty, by itself."""
    _stopped_with_a_key(valkey)
    file = _newest_file(folder)
    if harm == "garbled":
        file.write_bytes(file.read_bytes().replace(b"*3", b"\x00\x00", 1))
    else:
        next(folder.valkey.glob(f"appendonlydir/{harm}")).unlink()
    supervisor = Supervisor(NeverAsked(), lambda line: None)
    try:
        assert supervisor.start([valkey.spec()])
        with redis.Redis.from_url(valkey.redis_url) as client:
            assert client.dbsize() == 0
        assert (folder.valkey / "unreadable-1").is_dir()
    finally:
        supervisor.stop()


def test_its_folder_may_vanish_under_it(valkey: Valkey, supervisor: Supervisor, folder: Folder) -> None:
    """Killed with its file lost, it comes back empty on the same port."""
    [pid] = supervisor.pids()["valkey"]
    for path in sorted(folder.valkey.rglob("*"), reverse=True):
        path.rmdir() if path.is_dir() else path.unlink()
    folder.valkey.rmdir()
    os.kill(pid, signal.SIGKILL)
    eventually(lambda: supervisor.look_after() and supervisor.pids()["valkey"] != [pid], "Valkey is back")
    with redis.Redis.from_url(valkey.redis_url) as client:
        assert client.set("again", "1")


def test_the_password_is_asked_and_shown_to_nobody(valkey: Valkey, supervisor: Supervisor) -> None:
    """Without the password nothing is answered; it is in no command line and in no file others can read."""
    with (
        redis.Redis(port=valkey._port, retry=Retry(NoBackoff(), 0)) as client,
        pytest.raises(redis.AuthenticationError),
    ):
        client.ping()
    [pid] = supervisor.pids()["valkey"]
    assert b"secret" not in Path(f"/proc/{pid}/cmdline").read_bytes()
    assert valkey._configuration.stat().st_mode & 0o077 == 0


def test_settings_are_those_of_a_store_and_not_of_a_cache(valkey: Valkey, supervisor: Supervisor) -> None:
    """It appends, flushes every second, evicts nothing and listens on this machine alone."""
    with redis.Redis.from_url(valkey.redis_url) as client:
        found = client.config_get("appendonly", "appendfsync", "maxmemory-policy", "bind", "save")
    assert found == {
        "appendonly": "yes",
        "appendfsync": "everysec",
        "maxmemory-policy": "noeviction",
        "bind": "127.0.0.1",
        "save": "",
    }
