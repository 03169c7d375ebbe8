"""Where runs are kept: their rows and what is told of them."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from psycopg.types.json import Jsonb

from api_shim.database import WRITE_S, Database, Transaction, patient
from api_shim.runs.failure import failed
from api_shim.runs.run import Event, Run, error_of
from foreword.ids import uuid7

OUTSIDER: Final = 0
"""The number of the tenant whose memory no key reaches: what a probe of isolation finds must not answer."""
OUTSIDER_NAME: Final = "openwop:outsider"
"""No tenant that anybody makes can have this name."""

Told = tuple[str, Mapping[str, Any]]
"""An event's type and payload."""


@dataclass(frozen=True)
class RunStore:
    """Runs in the ledger; ``lease_s`` is how long a run is its shim's without a renewal."""

    database: Database
    lease_s: float

    @patient(WRITE_S)
    async def open(self, tenant: int, run_id: str, workflow_id: str, source: str | None = None) -> Run:
        """A new running run, told as started."""
        params = {
            "run": run_id,
            "workflow": workflow_id,
            "mode": None if source is None else "branch",
            "source": source,
            "lease": self.lease_s,
        }
        async with self.database.transaction(tenant) as transaction:
            (row,) = await transaction.run("open", params, of="runs")
            await _tell(transaction, run_id, [("run.started", {"workflowId": workflow_id})])
        return Run.of(row)

    @patient(WRITE_S)
    async def tell(self, tenant: int, run_id: str, told: Sequence[Told]) -> None:
        """Appends events to a run's stream."""
        async with self.database.transaction(tenant) as transaction:
            await _tell(transaction, run_id, told)

    @patient(WRITE_S)
    async def renew(self, tenant: int, run_id: str) -> bool:
        """Holds a run for another lease; false when it is no longer ours to hold."""
        async with self.database.transaction(tenant) as transaction:
            return bool(await transaction.run("renew", {"run": run_id, "lease": self.lease_s}, of="runs"))

    @patient(WRITE_S)
    async def finish(
        self,
        tenant: int,
        run_id: str,
        *,
        variables: Mapping[str, Any],
        error: Mapping[str, Any] | None,
        told: Sequence[Told],
    ) -> None:
        """Ends a run, once: what was ended already stays as it is. Its secrets go, unless a Draft waits."""
        params = {
            "run": run_id,
            "status": "completed" if error is None else "failed",
            "variables": Jsonb(dict(variables)),
            "error": None if error is None else Jsonb(dict(error)),
        }
        async with self.database.transaction(tenant) as transaction:
            if await transaction.run("finish", params, of="runs"):
                await _tell(transaction, run_id, told)
            await transaction.run("forget_secrets", {"run": run_id}, of="runs")

    async def find(self, tenant: int, run_id: str) -> Run | None:
        """A run of the tenant, or None; one that nobody holds any more is failed by this very look."""
        rows = await self.database.read(tenant, "run", {"run": run_id}, of="runs")
        if rows and rows[0]["lost"]:
            await self._bury(tenant, run_id)
            rows = await self.database.read(tenant, "run", {"run": run_id}, of="runs")
        return Run.of(rows[0]) if rows else None

    @patient(WRITE_S)
    async def _bury(self, tenant: int, run_id: str) -> None:
        error = error_of(failed("run_lost"))
        async with self.database.transaction(tenant) as transaction:
            if await transaction.run("bury", {"run": run_id, "error": Jsonb(error)}, of="runs"):
                await _tell(transaction, run_id, [("run.failed", {"error": error})])
            await transaction.run("forget_secrets", {"run": run_id}, of="runs")

    async def events(self, tenant: int, run_id: str, behind: int = 0) -> list[Event]:
        """What was told of a run after so many events."""
        rows = await self.database.read(tenant, "events", {"run": run_id, "behind": behind}, of="runs")
        return [Event.of(row) for row in rows]

    async def count_until(self, tenant: int, run_id: str, event_id: str) -> int:
        """How many events a reader has seen who saw this one last; 0 when the run has no such event."""
        rows = await self.database.read(tenant, "event_seq", {"run": run_id, "event": event_id}, of="runs")
        return int(rows[0]["seq"]) if rows else 0

    @patient(WRITE_S)
    async def replay(self, tenant: int, run_id: str, source: str) -> Run:
        """A run that tells again what an ended one told: the same events, ids, instants and outcome."""
        params = {"run": run_id, "source": source}
        async with self.database.transaction(tenant) as transaction:
            (row,) = await transaction.run("replay", params, of="runs")
            await transaction.run("replay_events", params, of="runs")
        return Run.of(row)

    @patient(WRITE_S)
    async def admit_outsider(self) -> None:
        """Makes the tenant that nobody has a key of, where it is not there yet."""
        async with self.database.transaction(OUTSIDER) as transaction:
            await transaction.run("admit_tenant", {"name": OUTSIDER_NAME}, of="runs")


async def _tell(transaction: Transaction, run_id: str, told: Sequence[Told]) -> None:
    params = {
        "runs": [run_id] * len(told),
        "ids": [uuid7() for _ in told],
        "types": [type_ for type_, _ in told],
        "payloads": [Jsonb(dict(payload)) for _, payload in told],
    }
    await transaction.run("tell", params, of="runs")
