"""The entry points of docker-compose.yml, run as processes against servers that Foreword did not start.

Every process gets exactly the variables its service gets there.
"""

import os
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import httpx
import psycopg
import pytest
import redis
import yaml

from foreword import seal
from foreword.embedded import ports
from foreword.embedded.child import Child
from foreword.embedded.credentials import Credentials
from foreword.embedded.environment import as_role
from foreword.embedded.folder import Folder
from foreword.embedded.servers import Servers
from foreword.wake import QUEUE
from tests.services import LIMIT_S, eventually, start

COMPOSE = yaml.safe_load((Path(__file__).parents[2] / "docker-compose.yml").read_text(encoding="utf-8"))
BIN = Path(sys.executable).parent


class Outside:
    """The compose file's services as processes; ``servers`` plays its Valkey and PostgreSQL."""

    def __init__(self, servers: Servers, credentials: Credentials, folder: Path) -> None:
        self._folder = folder
        self.owner_url, self.broker_url = servers.database_url, servers.broker_url
        self.port = ports.free("127.0.0.1")
        roles = {
            "migrate": servers.database_url,
            "worker": as_role(servers.database_url, "foreword_worker", credentials.worker_password),
            "embed": as_role(servers.database_url, "foreword_worker", credentials.worker_password),
            "beat": as_role(servers.database_url, "foreword_worker", credentials.worker_password),
            "shim": as_role(servers.database_url, "foreword_shim", credentials.shim_password),
        }
        self._values = {
            service: {
                "FOREWORD_DATABASE_URL": url,
                "FOREWORD_REDIS_URL": servers.redis_url,
                "FOREWORD_BROKER_URL": servers.broker_url,
                "FOREWORD_DIGEST_KEY": credentials.digest_key,
                "FOREWORD_LOG_LEVEL": "INFO",
                "FOREWORD_SHIM_PASSWORD": credentials.shim_password,
                "FOREWORD_WORKER_PASSWORD": credentials.worker_password,
                "FOREWORD_SEAL_KEYS": credentials.seal_keys[0],
                "FOREWORD_SEAL_PUBLIC_KEY": seal.public_key(credentials.seal_keys[0]),
                "FOREWORD_HOST": "127.0.0.1",
                "FOREWORD_PORT": str(self.port),
                "FOREWORD_METRICS": "true",
                "FOREWORD_EMBEDDER": "minilm",
                "FOREWORD_EMBEDDER_URL": "",
                "FOREWORD_EMBEDDER_API_KEY": "",
                "FOREWORD_EMBEDDER_MODEL": "",
                "FOREWORD_EMBEDDER_DIMENSION": "0",
            }
            for service, url in roles.items()
        }
        self._running: dict[str, subprocess.Popen[bytes]] = {}

    def environment(self, service: str) -> dict[str, str]:
        """What the service is told, and where programs are."""
        named = COMPOSE["services"][service]["environment"]
        told = {
            name: self._values[service][name]
            for name, value in named.items()
            if value is not None or name in self._values[service]
        }
        path = f"{BIN}{os.pathsep}{os.environ.get('PATH', '')}"
        return {"PATH": path, "HOME": str(self._folder), "HOSTNAME": socket.gethostname(), **told}

    def run(self, service: str, *arguments: str) -> str:
        """What ``docker compose run --rm SERVICE ARGUMENTS`` would print."""
        return self._run(service, ["foreword", *arguments])

    def check_health(self, service: str) -> str:
        """Runs the service's health check; fails when it does."""
        how, *test = COMPOSE["services"][service]["healthcheck"]["test"]
        test = [word.replace("$$", "$").replace(":8321", f":{self.port}") for word in test]
        return self._run(service, ["sh", "-c", *test] if how == "CMD-SHELL" else test)

    def _run(self, service: str, command: list[str]) -> str:
        done = subprocess.run(
            command,
            env=self.environment(service),
            cwd=self._folder,
            capture_output=True,
            text=True,
            timeout=LIMIT_S,
            check=False,
        )
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout

    def start(self, service: str) -> None:
        """Starts a service as the image would."""
        with (self._folder / f"{service}.log").open("wb") as log:
            self._running[service] = subprocess.Popen(
                ["foreword", *COMPOSE["services"][service]["command"]],
                executable=BIN / "foreword",
                env=self.environment(service),
                cwd=self._folder,
                stdout=log,
                stderr=subprocess.STDOUT,
            )

    def stop(self, service: str) -> int:
        """Asks it to stop as Docker would; the exit code."""
        process = self._running.pop(service)
        process.send_signal(signal.SIGTERM)
        return process.wait(LIMIT_S)

    def kill(self) -> None:
        """Leaves nothing behind."""
        for process in self._running.values():
            process.kill()
            process.wait()


@pytest.fixture(scope="module")
def outside(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Outside]:
    """A Valkey and a PostgreSQL with an empty database, and the services, not yet started."""
    folder = Folder(tmp_path_factory.mktemp("outside"))
    folder.create()
    credentials = Credentials.fresh()
    servers = Servers.of(folder, credentials, {}, sync=False)
    with ExitStack() as stack:
        stack.callback(servers.remove_borrowed)
        for spec in servers.specs():
            child = Child(spec)
            stack.callback(child.stop)
            start(child)
        servers.create_database()
        services = Outside(servers, credentials, tmp_path_factory.mktemp("services"))
        stack.callback(services.kill)
        yield services


@pytest.fixture(scope="module")
def api_key(outside: Outside) -> str:
    """A key made as ops/README.md says, and every service running."""
    outside.run("migrate", "migrate")
    outside.run("migrate", "tenants", "create", "acme")
    key = outside.run("migrate", "keys", "create", "--tenant", "acme", "--scope", "read,write").strip()
    for service in ("worker", "embed", "beat", "shim"):
        outside.start(service)
    eventually(lambda: _answers(outside), "the shim is ready")
    return key


def _answers(outside: Outside) -> bool:
    try:
        return httpx.get(f"http://127.0.0.1:{outside.port}/readyz").status_code == httpx.codes.OK
    except httpx.TransportError:
        return False


@pytest.fixture
def http(outside: Outside, api_key: str) -> Iterator[httpx.Client]:
    """A client of the shim with the key."""
    headers = {"Authorization": f"Bearer {api_key}"}
    with httpx.Client(base_url=f"http://127.0.0.1:{outside.port}", headers=headers, timeout=60) as client:
        yield client


def test_a_write_becomes_a_read(http: httpx.Client) -> None:
    """What is posted to the shim is filed by the worker and read back within its budget."""
    draft = {"memoryRef": "agent/7", "content": "The deploy window is 14:00 UTC."}
    written = http.post("/v1/memory/entries", params={"wait": 30}, json=draft)
    assert (written.status_code, written.json()["status"]) == (201, "filed")
    found = http.get("/v1/memory/entries", params={"memoryRef": "agent/7", "tokenBudget": 10}).json()
    assert [entry["content"] for entry in found["entries"]] == [draft["content"]]
    assert found["budget"]["used"] == 10


def test_a_write_is_found_by_its_meaning(http: httpx.Client) -> None:
    """What is filed gets its vector from the embedding worker, and other words find it."""
    draft = {"memoryRef": "agent/8", "content": "The customer prefers mornings."}
    assert http.post("/v1/memory/entries", params={"wait": 30}, json=draft).status_code == 201
    asked = {"memoryRef": "agent/8", "query": "early appointments", "mode": "semantic"}

    def found() -> list[str]:
        answer = http.post("/v1/memory/search", json=asked)
        return [entry["content"] for entry in answer.json().get("entries", [])]

    eventually(lambda: found() == [draft["content"]], "the entry has its vector")


def test_the_health_checks_pass(outside: Outside, http: httpx.Client) -> None:
    """The compose file's own health checks accept processes that work."""
    assert "pong" in outside.check_health("worker")
    outside.check_health("embed")
    outside.check_health("beat")
    outside.check_health("shim")


def test_each_process_is_its_own_role(outside: Outside, http: httpx.Client) -> None:
    """Shim and worker are in the ledger as restricted roles, and nobody is there as its owner."""
    assert http.get("/v1/memory/stats", params={"memoryRef": "agent/7"}).is_success
    with psycopg.connect(outside.owner_url) as conn:
        rows = conn.execute(
            "SELECT DISTINCT application_name, usename FROM pg_stat_activity"
            " WHERE datname = current_database() AND pid <> pg_backend_pid()"
        ).fetchall()
    assert set(rows) == {("foreword shim", "foreword_shim"), ("foreword worker", "foreword_worker")}


def test_a_second_migration_changes_nothing(outside: Outside, http: httpx.Client) -> None:
    """Starting the deployment again migrates again, harmlessly."""
    assert "applied" not in outside.run("migrate", "migrate")
    assert http.get("/v1/memory/entries", params={"memoryRef": "agent/7"}).json()["entries"]


def test_everything_stops_when_asked(outside: Outside, http: httpx.Client) -> None:
    """Each service ends by itself on SIGTERM; beat is heard on the broker while no worker listens."""
    assert outside.stop("embed") == 0
    assert outside.stop("worker") == 0
    with redis.Redis.from_url(outside.broker_url) as broker:
        eventually(lambda: broker.llen(f"fw1:broker:{QUEUE}"), "beat sends a wake-up")
    assert outside.stop("shim") == -signal.SIGTERM  # uvicorn closes, then passes the signal on
    assert outside.stop("beat") == 0
