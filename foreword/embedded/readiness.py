"""The readiness file, and the question that decides when it may be written."""

import http.client
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import psycopg

from foreword.embedded import atomic

_TIMEOUT_S = 2.0
_EVERY_ADDRESS = {"0.0.0.0": "127.0.0.1", "::": "::1", "": "127.0.0.1"}  # noqa: S104


@dataclass(frozen=True, kw_only=True)
class Address:
    """Where the shim listens, and how a client on this machine calls it."""

    host: str
    port: int

    @property
    def called(self) -> str:
        return _EVERY_ADDRESS.get(self.host, self.host)

    @property
    def url(self) -> str:
        host = f"[{self.called}]" if ":" in self.called else self.called
        return f"http://{host}:{self.port}"

    def ready(self) -> bool:
        """Whether ``GET /readyz`` answers 200 within two seconds."""
        connection = http.client.HTTPConnection(self.called, self.port, timeout=_TIMEOUT_S)
        try:
            connection.request("GET", "/readyz")
            return connection.getresponse().status == http.HTTPStatus.OK
        except (OSError, http.client.HTTPException):
            return False
        finally:
            connection.close()


def model_serves(database_url: str) -> bool:
    """Whether the ledger has a model, so that questions can be asked by meaning; asked as the owner."""
    try:
        with psycopg.connect(database_url, connect_timeout=2) as conn:
            query = "SELECT 1 FROM embedding_models WHERE state = 'serving'"
            return conn.execute(query).fetchone() is not None
    except psycopg.Error:
        return False


@dataclass(frozen=True, kw_only=True)
class Readiness:
    """What the readiness file tells: where to call, with what, and who runs."""

    url: str
    api_key: str
    tenant: str
    database_url: str
    redis_url: str
    broker_url: str
    seal_key: str

    def write(self, path: Path, *, supervisor: int, pids: dict[str, list[int]]) -> None:
        """Replaces the file (mode 0600: it holds the key). Parts that run elsewhere have no pid here."""
        atomic.write(path, self._to_json() | {"pids": {"supervisor": supervisor, **_by_contract(pids)}})

    def _to_json(self) -> dict[str, Any]:
        return {
            "url": self.url,
            "apiKey": self.api_key,
            "tenant": self.tenant,
            "databaseUrl": self.database_url,
            "redisUrl": self.redis_url,
            "brokerUrl": self.broker_url,
            "sealKey": self.seal_key,
        }


def _by_contract(pids: dict[str, list[int]]) -> dict[str, Any]:
    """``worker`` and ``shim`` are lists, the others have one process."""
    return {role: found if role in ("worker", "shim") else found[0] for role, found in pids.items()}
