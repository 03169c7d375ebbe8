"""A host as a conformance suite meets it: workflows by their ids, snapshots, events, and what those hide.

Nothing here trusts what a run tells of itself: the memory is listed over HTTP and in the ledger.
"""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import httpx
import psycopg
from psycopg.rows import dict_row

from tests.acceptance.tenants import Tenant
from tests.services import eventually

PREFIX = "conformance-agent-memory-"
NOOP = "conformance-noop"
AS_JSON = {"Accept": "application/json"}


@dataclass(frozen=True, kw_only=True)
class Host:
    """One tenant's view of a host."""

    tenant: Tenant
    door: httpx.Client

    def start(self, workflow_id: str, **body: Any) -> dict[str, Any]:
        """The answer to a run's creation."""
        answer = self.door.post("/v1/runs", json={"workflowId": workflow_id} | body)
        assert answer.status_code == 201, answer.text
        return dict(answer.json())

    def snapshot(self, run_id: str) -> dict[str, Any]:
        """A run as it stands."""
        answer = self.door.get(f"/v1/runs/{run_id}")
        assert answer.status_code == 200, answer.text
        return dict(answer.json())

    def ended(self, run_id: str) -> dict[str, Any]:
        """A run once it is over."""

        def over() -> dict[str, Any] | None:
            found = self.snapshot(run_id)
            return found if found["status"] in ("completed", "failed", "cancelled") else None

        return dict(eventually(over, "the run is over"))

    def run(self, workflow_id: str, **body: Any) -> dict[str, Any]:
        """The snapshot of a new run once it is over."""
        return self.ended(self.start(workflow_id, **body)["runId"])

    def completed(self, workflow_id: str, **body: Any) -> dict[str, Any]:
        """The variables of a new run that completed."""
        found = self.run(workflow_id, **body)
        assert found["status"] == "completed", found
        return dict(found["variables"])

    def events(self, run_id: str, mode: str = "debug") -> list[dict[str, Any]]:
        """Events in JSON."""
        answer = self.door.get(f"/v1/runs/{run_id}/events", params={"streamMode": mode}, headers=AS_JSON)
        assert answer.status_code == 200, answer.text
        return list(answer.json()["events"])

    def fork(self, run_id: str, **body: Any) -> dict[str, Any]:
        """The answer to a fork."""
        answer = self.door.post(f"/v1/runs/{run_id}:fork", json=body)
        assert answer.status_code == 201, answer.text
        return dict(answer.json())

    def listed(self, memory_ref: str, **options: Any) -> list[dict[str, Any]]:
        """A memory over HTTP, newest first."""
        answer = self.door.get("/v1/memory/entries", params={"memoryRef": memory_ref, **options})
        assert answer.status_code == 200, answer.text
        return list(answer.json()["entries"])

    def ledger(self, query: str, *params: object) -> list[dict[str, Any]]:
        """Rows of the ledger, as its owner."""
        with psycopg.connect(self.tenant.database_url, row_factory=dict_row) as conn:
            return conn.execute(query.encode(), params).fetchall()

    def kept(self, memory_ref: str) -> list[dict[str, Any]]:
        """Entries of this tenant's ref, as the ledger has them, newest first."""
        return self.ledger(
            "SELECT e.* FROM entries e JOIN scopes s USING (tenant_id, scope_id) "
            "WHERE s.tenant_id = %s AND s.memory_ref = %s ORDER BY e.seq DESC",
            self.tenant.number,
            memory_ref,
        )


def written(events: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    """Payloads of the events that tell of writes."""
    return [event["payload"] for event in events if event["type"] == "memory.written"]


def frames(text: str) -> list[tuple[str, str, dict[str, Any]]]:
    """Id, type and document of each event in a stream."""
    found = []
    for block in text.split("\n\n"):
        fields = dict(line.split(": ", 1) for line in block.split("\n") if ": " in line)
        if "data" in fields:
            found.append((fields["id"], fields["event"], json.loads(fields["data"])))
    return found
