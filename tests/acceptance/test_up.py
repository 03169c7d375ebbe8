"""``foreword up`` as a person meets it: started, used, killed in every way, started again."""

import os
import pwd
import signal
import socket
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest

import foreword
from foreword.embedded import ports
from foreword.embedded.account import Account
from foreword.embedded.child import Child
from foreword.embedded.credentials import Credentials
from foreword.embedded.folder import Folder
from foreword.embedded.launch import birth
from foreword.embedded.servers import Servers
from tests.services import Product, eventually, start

REF = "agent:up"


@pytest.fixture(scope="module")
def running(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Product]:
    """A product these tests may hurt; it is ready again after each."""
    product = Product(tmp_path_factory.mktemp("up") / "data", "--port", "0").start()
    try:
        product.wait_ready()
        yield product
    finally:
        assert product.stop() == 0


@pytest.fixture
def fresh(tmp_path: Path) -> Iterator[Product]:
    """A product that is not started, in a folder with an awkward name; nothing of it outlives the test."""
    product = Product(tmp_path / 'Mémoire d\'un "agent"', "--port", "0")
    yield product
    if product.process is not None:
        product.stop()


@pytest.fixture
def open_folder() -> Iterator[Path]:
    """A temporary folder no parent of which is closed, as pytest's are."""
    with tempfile.TemporaryDirectory() as folder:
        yield Path(folder)


def _client(ready: dict[str, Any]) -> httpx.Client:
    return httpx.Client(
        base_url=ready["url"], headers={"Authorization": f"Bearer {ready['apiKey']}"}, timeout=30
    )


def _accept(ready: dict[str, Any], *contents: str) -> None:
    with _client(ready) as client:
        for content in contents:
            answer = client.post("/v1/memory/entries", json={"memoryRef": REF, "content": content})
            assert answer.status_code == 202, answer.text


def _stored(ready: dict[str, Any]) -> list[str]:
    with _client(ready) as client:
        answer = client.get("/v1/memory/entries", params={"memoryRef": REF, "limit": 1000})
        assert answer.status_code == 200, answer.text
        return [entry["content"] for entry in answer.json()["entries"]]


def _answers(ready: dict[str, Any]) -> bool:
    try:
        return httpx.get(f"{ready['url']}/readyz", timeout=5).status_code == 200
    except httpx.HTTPError:
        return False


def _pids(ready: dict[str, Any]) -> list[int]:
    """Every process of the product, the supervisor first."""
    found: list[int] = []
    for pids in ready["pids"].values():
        found += pids if isinstance(pids, list) else [pids]
    return found


def test_what_is_ready_can_be_asked_by_meaning(running: Product) -> None:
    """The first question to a product that says it is ready is not too early for its model."""
    asked = {"memoryRef": REF, "query": "anything", "mode": "semantic"}
    with _client(running.wait_ready()) as client:
        assert client.post("/v1/memory/search", json=asked).status_code == 200


def test_the_readiness_file_says_what_the_contract_says(running: Product) -> None:
    """Exactly the promised fields, private to its owner, every pid alive, every address usable."""
    ready = running.wait_ready()
    assert set(ready) == {
        *("url", "apiKey", "tenant", "databaseUrl", "redisUrl", "brokerUrl", "sealKey", "pids"),
    }
    for role in ("supervisor", "valkey", "postgres", "embed", "beat"):
        assert type(ready["pids"][role]) is int, role
    assert [len(ready["pids"][role]) for role in ("worker", "shim")] == [1, 1]
    assert all(birth(pid) for pid in _pids(ready))
    assert ready["tenant"] == "default"
    assert running.ready_file.stat().st_mode & 0o777 == 0o600
    assert _answers(ready)


def test_the_first_key_reads_writes_and_administers(running: Product) -> None:
    """What the first key wrote is filed and read back."""
    ready = running.wait_ready()
    with _client(ready) as client:
        answer = client.post(
            "/v1/memory/entries", params={"wait": 20}, json={"memoryRef": REF, "content": "first"}
        )
        assert (answer.status_code, answer.json()["status"]) == (201, "filed")
        assert client.get("/v1/secrets").status_code == 200
    assert "first" in _stored(ready)


def test_a_second_up_on_the_folder_exits_3_and_harms_nothing(running: Product) -> None:
    """It says who holds the folder; the first goes on with its readiness file untouched."""
    ready = running.wait_ready()
    second = subprocess.run(running.command, capture_output=True, text=True, timeout=60, check=False)
    assert second.returncode == 3
    assert f"process {ready['pids']['supervisor']}" in second.stdout
    assert running.ready() == ready
    assert _answers(ready)


@pytest.mark.parametrize("role", ["worker", "beat", "shim", "valkey", "postgres"])
def test_a_killed_part_is_started_again(running: Product, role: str) -> None:
    """After kill -9 the file names the new pid, addresses are the same, and writes are filed again."""
    before = running.wait_ready()
    victim = before["pids"][role]
    os.kill(victim[0] if isinstance(victim, list) else victim, signal.SIGKILL)
    eventually(lambda: (running.ready() or before)["pids"][role] != victim, f"{role} has a new pid")
    after = running.wait_ready()
    assert {**after, "pids": None} == {**before, "pids": None}
    assert after["pids"]["supervisor"] == before["pids"]["supervisor"]
    eventually(lambda: _answers(after), "the shim is ready again")
    _accept(after, f"after {role}")
    eventually(lambda: f"after {role}" in _stored(after), "a write is filed again")


def test_a_taken_port_is_said_before_anything_starts(tmp_path: Path) -> None:
    """Exit code 4, a message with the port and the remedy, and no server was made."""
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        product = Product(tmp_path / "data", "--port", str(port)).start()
        assert product.wait_ended() == 4
    said = product.printed.read_text()
    assert str(port) in said
    assert "--port" in said
    assert product.ready() is None
    assert not (product.data_dir / "postgres" / "data").exists()


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_stop_leaves_no_process_and_loses_nothing(fresh: Product, number: signal.Signals) -> None:
    """Writes accepted just before a stop are filed after the next start, under the same key, shown once."""
    first = fresh.start().wait_ready()
    said = fresh.printed.read_text()
    assert first["url"] in said
    assert first["apiKey"] in said
    texts = [f"note {count}" for count in range(40)]
    _accept(first, *texts)
    os.kill(first["pids"]["supervisor"], number)
    assert fresh.wait_ended() == 0
    assert not any(birth(pid) for pid in _pids(first))
    assert fresh.ready() is None
    second = fresh.start().wait_ready()
    assert second["apiKey"] == first["apiKey"] not in fresh.printed.read_text()
    eventually(lambda: len(_stored(second)) == len(texts), "every accepted write is filed")
    assert sorted(_stored(second)) == sorted(texts)


@pytest.mark.parametrize("victims", ["all", "supervisor", "supervisor and shim"])
def test_the_next_up_recovers_from_kill_9(fresh: Product, victims: str) -> None:
    """Whichever processes were killed, the next start needs no help and every accepted write is there."""
    first = fresh.start().wait_ready()
    texts = [f"note {count}" for count in range(20)]
    _accept(first, *texts)
    everyone = _pids(first)
    chosen = {"all": everyone, "supervisor": everyone[:1]}.get(victims, [everyone[0], *first["pids"]["shim"]])
    for pid in chosen:
        os.kill(pid, signal.SIGKILL)
    fresh.wait_ended()
    second = fresh.start().wait_ready()
    assert not any(birth(pid) for pid in everyone)
    assert {**second, "url": None, "pids": None} == {**first, "url": None, "pids": None}
    eventually(lambda: len(_stored(second)) == len(texts), "every accepted write is filed")
    assert sorted(_stored(second)) == sorted(texts)


@pytest.mark.skipif(os.geteuid() != 0, reason="every other test runs without root here")
def test_a_user_without_root_runs_it_as_well(open_folder: Path) -> None:
    """Started by an unprivileged user it serves, and everything it made and runs is that user's."""
    nobody = pwd.getpwnam("nobody").pw_uid
    account = Account(nobody, nobody)
    if not all(account.can_reach(Path(path).resolve()) for path in (sys.executable, foreword.__file__)):
        pytest.skip("Python or Foreword is installed where only root can read it")
    os.chown(open_folder, nobody, -1)
    product = Product(open_folder / "data", "--port", "0", user=nobody, HOME=str(open_folder)).start()
    try:
        ready = product.wait_ready()
        _accept(ready, "mine")
        eventually(lambda: _stored(ready) == ["mine"], "the write is filed")
        assert {Path(f"/proc/{pid}").stat().st_uid for pid in _pids(ready)} == {nobody}
        assert {path.stat().st_uid for path in product.data_dir.rglob("*")} == {nobody}
    finally:
        assert product.stop() == 0


def test_a_ledger_that_refuses_is_reported(tmp_path: Path) -> None:
    """An outside PostgreSQL that is not there ends the start with its name and no traceback."""
    nowhere = f"postgresql://owner:top@127.0.0.1:{ports.free()}/mem"
    product = Product(tmp_path / "data", "--port", "0", FOREWORD_DATABASE_URL=nowhere).start()
    assert product.wait_ended() == 1
    said = product.printed.read_text()
    assert "could not be prepared" in said
    assert "Traceback" not in said
    assert "top" not in said


def test_lost_credentials_are_asked_back(fresh: Product) -> None:
    """Without its credentials file a ledger is neither opened nor replaced."""
    fresh.start().wait_ready()
    fresh.stop()
    (fresh.data_dir / "credentials.json").unlink()
    assert fresh.start().wait_ended() == 1
    assert "restore it" in fresh.printed.read_text()
    assert not (fresh.data_dir / "credentials.json").exists()


def test_outside_servers_are_used_instead(tmp_path: Path) -> None:
    """With the three addresses set nothing is embedded, and the product works on what they name."""
    folder = Folder(tmp_path / "outside")
    folder.create()
    servers = Servers.of(folder, Credentials.fresh(), {}, sync=False)
    children = [Child(spec) for spec in servers.specs()]
    try:
        for child in children:
            start(child)
        servers.create_database()
        product = Product(
            tmp_path / "data",
            *("--port", str(ports.free())),
            FOREWORD_DATABASE_URL=servers.database_url,
            FOREWORD_REDIS_URL=servers.redis_url,
            FOREWORD_BROKER_URL=servers.broker_url,
        ).start()
        ready = product.wait_ready()
        assert set(ready["pids"]) == {"supervisor", "worker", "embed", "beat", "shim"}
        assert ready["databaseUrl"] == servers.database_url
        _accept(ready, "outside")
        eventually(lambda: _stored(ready) == ["outside"], "the write is filed")
        assert product.stop() == 0
    finally:
        for child in children:
            child.stop()
        servers.remove_borrowed()
