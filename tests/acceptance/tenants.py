"""A tenant of the running product's for one test, reached over HTTP."""

import contextlib
import threading
import uuid
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import httpx
import psycopg

from foreword.ledger.api_keys import create_key, revoke_key
from foreword.ledger.tenants import ensure_tenant
from tests.services import eventually

ALL = ("read", "write", "admin")
JSON = {"Content-Type": "application/json"}


@dataclass(frozen=True, kw_only=True)
class Tenant:
    """Nobody else's memory. ``number`` is its id in the ledger."""

    name: str
    number: int
    url: str
    database_url: str

    @classmethod
    def fresh(cls, product: Mapping[str, Any]) -> "Tenant":
        """A new one."""
        name, database_url = f"t{uuid.uuid4().hex}", product["databaseUrl"]
        return cls(
            name=name,
            number=ensure_tenant(database_url, name),
            url=product["url"],
            database_url=database_url,
        )

    def neighbour(self) -> "Tenant":
        """Another tenant of the same product."""
        return Tenant.fresh({"url": self.url, "databaseUrl": self.database_url})

    def key(self, *scopes: str, ref_glob: str | None = None) -> str:
        """A new key; all scopes when none is named."""
        return create_key(self.database_url, self.name, scopes or ALL, ref_glob)

    def door(self, *scopes: str, ref_glob: str | None = None, url: str | None = None) -> httpx.Client:
        """A client with a new key."""
        return door(self.key(*scopes, ref_glob=ref_glob), url or self.url)

    def revoke(self, key: str) -> None:
        """Ends a key."""
        assert revoke_key(self.database_url, key.split("_")[2])

    @contextlib.contextmanager
    def held(self) -> Iterator["psycopg.Connection[Any]"]:
        """Keeps workers from filing anything of this tenant; what the connection did is then committed."""
        with psycopg.connect(self.database_url) as conn:
            conn.execute("SELECT FROM tenants WHERE tenant_id = %s FOR NO KEY UPDATE", (self.number,))
            yield conn

    @contextlib.contextmanager
    def held_for(self, seconds: float) -> Iterator[None]:
        """The same, ended by a timer while the caller goes on."""
        with contextlib.ExitStack() as stack:
            stack.enter_context(self.held())
            timer = threading.Timer(seconds, stack.close)
            timer.start()
            yield
            timer.join()


def door(key: str | None, url: str) -> httpx.Client:
    """A client with this key."""
    headers = {} if key is None else {"Authorization": f"Bearer {key}"}
    return httpx.Client(base_url=url, headers=headers, timeout=40)


def filed(door: httpx.Client, ref: str, content: str, **fields: Any) -> dict[str, Any]:
    """The receipt of a write that can be read."""
    body = {"memoryRef": ref, "content": content, **fields}
    answer = door.post("/v1/memory/entries", params={"wait": 30}, json=body)
    assert (answer.status_code, answer.json()["status"]) == (201, "filed"), answer.text
    return dict(answer.json())


def filed_all(door: httpx.Client, ref: str, *contents: str, **fields: Any) -> list[dict[str, Any]]:
    """Receipts of a batch that can be read."""
    entries = [{"memoryRef": ref, "content": content, **fields} for content in contents]
    answer = door.post("/v1/memory/entries:batch", params={"wait": 30}, json={"entries": entries})
    assert answer.status_code == 201, answer.text
    return list(answer.json()["receipts"])


def embedded(door: httpx.Client, ref: str, n: int) -> None:
    """Waits until ``n`` entries of a memory can be found by meaning."""
    body = {"memoryRef": ref, "query": "x", "mode": "semantic", "topK": 1000}

    def found() -> bool:
        answer = door.post("/v1/memory/search", json=body)
        return answer.status_code == 200 and len(answer.json()["entries"]) == n

    eventually(found, f"{n} entries have vectors")


def page(door: httpx.Client, ref: str, **options: Any) -> dict[str, Any]:
    """The body of a list."""
    answer = door.get("/v1/memory/entries", params={"memoryRef": ref, **options})
    assert answer.status_code == 200, answer.text
    return dict(answer.json())


def contents(door: httpx.Client, ref: str, **options: Any) -> list[str]:
    """The contents a list gives, in its order."""
    return [entry["content"] for entry in page(door, ref, **options)["entries"]]


def bad_fields(answer: httpx.Response) -> set[str]:
    """The fields a refusal names; fails for anything but a well-formed 400."""
    assert answer.status_code == 400, (answer.status_code, answer.text[:500])
    body = answer.json()
    assert body.keys() == {"error", "message", "details"}
    assert body["error"] == "validation_error"
    assert body["details"].keys() == {"fields"}
    assert all(field.keys() == {"field", "reason"} for field in body["details"]["fields"])
    return {field["field"] for field in body["details"]["fields"]}


def assert_error(answer: httpx.Response, status: int, code: str) -> dict[str, Any]:
    """The answer is exactly this error; its details."""
    assert answer.status_code == status, answer.text[:500]
    body = answer.json()
    assert {"error", "message"} <= body.keys() <= {"error", "message", "details"}
    assert body["error"] == code
    return dict(body.get("details") or {})
