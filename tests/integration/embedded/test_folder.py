"""What ``foreword up`` keeps besides the servers' own files: lock, ports, credentials, logs."""

import socket
import subprocess
import sys
from pathlib import Path

import pytest

from foreword.embedded import ports
from foreword.embedded.credentials import Credentials
from foreword.embedded.environment import Environment, as_role
from foreword.embedded.folder import Folder, rotate
from foreword.embedded.lock import Lock
from foreword.embedded.readiness import Address
from foreword.embedded.servers import Servers
from foreword.errors import ConfigurationError
from foreword.seal import new_secret_key, public_key
from tests.services import eventually

_HOLDER = """
import sys, time
from pathlib import Path
from foreword.embedded.lock import Lock
assert Lock(Path(sys.argv[1])).acquire()
print("held", flush=True)
time.sleep(600)
"""


def test_the_lock_has_one_holder_and_falls_with_it(tmp_path: Path) -> None:
    """A lock held by a living process is refused and names it; after kill -9 it is free."""
    path = tmp_path / "up.lock"
    with subprocess.Popen([sys.executable, "-c", _HOLDER, path], stdout=subprocess.PIPE, text=True) as holder:
        try:
            assert holder.stdout is not None
            assert holder.stdout.readline() == "held\n"
            mine = Lock(path)
            assert not mine.acquire()
            assert mine.holder() == str(holder.pid)
        finally:
            holder.kill()
    assert mine.acquire()
    mine.release()


def test_a_child_does_not_inherit_the_lock(tmp_path: Path) -> None:
    """A process started while the lock is held does not hold it on."""
    lock = Lock(tmp_path / "up.lock")
    assert lock.acquire()
    child = subprocess.Popen(["/bin/sleep", "600"], close_fds=False)
    try:
        lock.release()
        again = Lock(tmp_path / "up.lock")
        eventually(again.acquire, "the lock is free while the child lives", limit=10)
        assert child.poll() is None
        again.release()
    finally:
        child.kill()
        child.wait()


def test_ports_are_kept_while_they_are_free(tmp_path: Path) -> None:
    """A server gets the port of last time; one that somebody took meanwhile is replaced, the other stays."""
    path = tmp_path / "ports.json"
    first = ports.kept(path, "postgres", "valkey")
    assert ports.kept(path, "postgres", "valkey") == first
    with socket.create_server(("127.0.0.1", first["postgres"])):
        second = ports.kept(path, "postgres", "valkey")
    assert second["postgres"] != first["postgres"]
    assert second["valkey"] == first["valkey"]


def test_a_taken_port_and_a_foreign_host_are_refused_with_a_reason() -> None:
    """Why nothing can listen there is said before anything starts."""
    with socket.create_server(("127.0.0.1", 0)) as taken:
        assert ports.refusal("127.0.0.1", taken.getsockname()[1]) == "Address already in use"
    assert ports.refusal("203.0.113.1", 0) is not None
    assert ports.refusal("127.0.0.1", 0) is None


def test_credentials_return_as_they_were_saved_and_are_private(tmp_path: Path) -> None:
    """What is saved is loaded; nobody else can read the file; no two folders have a secret in common."""
    path = tmp_path / "credentials.json"
    kept = Credentials.fresh().with_api_key("fw_1_x_y")
    kept.save(path)
    assert Credentials.load(path) == kept
    assert path.stat().st_mode & 0o777 == 0o600
    assert kept.owner_password != Credentials.fresh().owner_password


@pytest.mark.parametrize("content", ["", "[]", "{}", '{"unknown": 1}', "\x00\x00"])
def test_spoilt_credentials_are_refused_not_replaced(tmp_path: Path, content: str) -> None:
    """A file that is no credentials file stops the start and stays as it is."""
    path = tmp_path / "credentials.json"
    path.write_text(content)
    with pytest.raises(ConfigurationError, match="restore it"):
        Credentials.load(path)
    assert path.read_text() == content


def test_a_log_over_ten_mebibytes_is_set_aside(tmp_path: Path) -> None:
    """A long log starts anew and one older one is kept; a short one goes on."""
    log = tmp_path / "shim.log"
    log.write_text("short")
    rotate(log)
    assert log.read_text() == "short"
    log.write_bytes(b"x" * (10 * 1024 * 1024 + 1))
    rotate(log)
    assert not log.exists()
    assert (tmp_path / "shim.log.1").stat().st_size > 10 * 1024 * 1024


def test_each_child_is_told_no_more_than_it_needs(tmp_path: Path) -> None:
    """The shim and beat get no opening key, nobody the owner's URL; the caller's settings pass through."""
    folder = Folder(tmp_path / "data")
    folder.create()
    given = new_secret_key()
    caller = {
        "FOREWORD_DATABASE_URL": "postgresql://owner:top@db.example:6543/mem?sslmode=require",
        "FOREWORD_REDIS_URL": "redis://cache.example/3",
        "FOREWORD_SEAL_KEYS": given,
        "FOREWORD_LOG_LEVEL": "DEBUG",
    }
    kept = Credentials.fresh()
    environment = Environment(caller=caller, credentials=kept, servers=Servers.of(folder, kept, caller))
    shim = environment.shim(Address(host="127.0.0.1", port=1))
    worker, beat = environment.worker(), environment.beat()
    for told in (shim, worker, beat):
        assert not any("top@" in value for value in told.values())
        assert told["FOREWORD_LOG_LEVEL"] == "DEBUG"
        assert told["FOREWORD_BROKER_URL"] == told["FOREWORD_REDIS_URL"] == "redis://cache.example/3"
    assert shim["FOREWORD_SEAL_PUBLIC_KEY"] == public_key(given)
    assert worker["FOREWORD_SEAL_KEYS"].split(",") == [given, *kept.seal_keys]
    secrets = [key.partition(":")[2] for key in (given, *kept.seal_keys)]
    assert not any(secret in value for told in (shim, beat) for value in told.values() for secret in secrets)
    assert shim["FOREWORD_DATABASE_URL"] == (
        f"postgresql://foreword_shim:{kept.shim_password}@db.example:6543/mem?sslmode=require"
    )


def test_only_a_url_names_a_ledger_for_a_role() -> None:
    """A keyword string would be passed on with the owner's password, so it is refused."""
    with pytest.raises(ConfigurationError, match="must be a postgresql:// URL"):
        as_role("host=db user=owner password=top", "foreword_shim", "x")


@pytest.mark.parametrize(
    ("host", "url"),
    [("127.0.0.1", "http://127.0.0.1:80"), ("0.0.0.0", "http://127.0.0.1:80"), ("::", "http://[::1]:80")],
)
def test_the_url_is_one_a_client_here_can_call(host: str, url: str) -> None:
    """Listening everywhere is called on this machine's own address."""
    assert Address(host=host, port=80).url == url
