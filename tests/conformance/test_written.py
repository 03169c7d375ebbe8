"""Who wrote what (OpenWOP RFC 0057): one ``memory.written`` an entry, of refs and ids and no content."""

import uuid
from dataclasses import replace
from typing import Any

import httpx
import psycopg
import pytest

from foreword.draft import parse_draft
from foreword.seal import Sealer
from tests.acceptance.tenants import Tenant, filed
from tests.services import eventually

CONTENT = "rhododendron"


def write(product: dict[str, Any], tenant: Tenant, run: str, *ids: str, ref: str = "a") -> None:
    """Entries that a run of some tenant writes for this one, once they are filed."""
    sealer = Sealer(product["sealKey"])
    body = {"memoryRef": ref, "content": CONTENT, "tags": ["t"], "metadata": {"word": CONTENT}}
    drafts = [replace(parse_draft(body), id=name, run=run, node="note") for name in ids]
    sealed = [sealer.seal(draft.to_bytes()) for draft in drafts]
    many = len(ids)
    with psycopg.connect(tenant.database_url) as conn:
        conn.execute("SELECT set_config('foreword.tenant', %s, true)", [str(tenant.number)])
        conn.execute(
            "SELECT accept_drafts(%s, %s, %s::bytea[], %s::bytea[], %s::timestamptz[], %s)",
            [[ref] * many, list(ids), [b"digest"] * many, sealed, [None] * many, [run] * many],
        )
    with tenant.door() as door:
        for name in ids:
            path = f"/v1/memory/receipts/{name}"
            eventually(
                lambda path=path: door.get(path, params={"memoryRef": ref}).json()["status"] == "filed",
                "the entry is filed",
            )


def told(tenant: Tenant, run: str) -> list[tuple[str, dict[str, Any]]]:
    """Types and payloads of a tenant's run, in order."""
    with psycopg.connect(tenant.database_url) as conn:
        return conn.execute(
            "SELECT type, payload FROM run_events WHERE tenant_id = %s AND run_id = %s ORDER BY seq",
            [tenant.number, run],
        ).fetchall()


@pytest.fixture
def run(tenant: Tenant) -> str:
    """A running run of the tenant."""
    name = f"run-{uuid.uuid4()}"
    with psycopg.connect(tenant.database_url) as conn:
        conn.execute(
            """INSERT INTO runs (tenant_id, run_id, workflow_id, status, lease_until)
               VALUES (%s, %s, 'flow', 'running', now() + interval '1 hour')""",
            [tenant.number, name],
        )
    return name


def test_one_event_an_entry_without_content(product: dict[str, Any], tenant: Tenant, run: str) -> None:
    """RFC 0057: ``memoryRef`` and ``memoryId`` of each entry a run wrote, node and tags, and nothing else."""
    write(product, tenant, run, "one", "two")
    kinds, payloads = zip(*told(tenant, run), strict=True)
    assert kinds == ("memory.written", "memory.written")
    assert list(payloads) == [
        {"memoryRef": "a", "memoryId": name, "nodeId": "note", "tags": ["t"]} for name in ("one", "two")
    ]
    assert CONTENT not in str(payloads)


def test_reads_and_other_writes_are_not_attributed(
    product: dict[str, Any], tenant: Tenant, door: httpx.Client, run: str
) -> None:
    """RFC 0057: neither a read nor a write of no run is told to a run, and no body can name one."""
    write(product, tenant, run, "one")
    filed(door, "a", "a write of no run")
    assert len(door.get("/v1/memory/entries", params={"memoryRef": "a"}).json()["entries"]) == 2
    for name in ("run", "node", "runId", "nodeId"):
        body = {"memoryRef": "a", "content": "x", name: run}
        assert door.post("/v1/memory/entries", json=body).status_code == 400
    assert [payload["memoryId"] for _, payload in told(tenant, run)] == ["one"]


def test_attribution_is_of_one_tenant(product: dict[str, Any], tenant: Tenant, run: str) -> None:
    """``memory-attribution-tenant-scoped``: what one tenant writes is told to no run of another."""
    other = tenant.neighbour()
    write(product, other, run, "theirs")
    assert told(tenant, run) == told(other, run) == []


def test_the_scopes_own_events_hold_no_content(door: httpx.Client) -> None:
    """The feed of a memory says what was written where, by ids alone."""
    receipt = filed(door, "a", CONTENT, tags=["t"], metadata={"word": CONTENT})
    answer = door.get("/v1/memory/events", params={"memoryRef": "a"})
    assert CONTENT not in answer.text
    (event,) = answer.json()["events"]
    assert (event["type"], event["memoryRef"], event["memoryId"]) == ("memory.written", "a", receipt["id"])
