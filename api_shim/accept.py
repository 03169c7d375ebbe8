"""THE ACCEPT. Drafts are sealed and committed to the inbox; only then is there a receipt.

draft -> id -> digest -> seal -> inbox (one transaction for a batch) -> receipt -> wake-up
"""

import asyncio
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import psycopg

from api_shim.database import RUN_ENDED, WRITE_S, Database, patient
from api_shim.metrics import Metrics
from api_shim.read import Reader
from foreword.digest import digest
from foreword.draft import Draft
from foreword.errors import Conflict, Unavailable
from foreword.ids import uuid7
from foreword.instant import from_datetime, to_datetime, to_wire
from foreword.position import write_position
from foreword.scope import Scope
from foreword.seal import Sealer

_INLINE = 8
"""Drafts that are sealed without leaving the event loop."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Receipt:
    """What an accepted write returns. ``status`` is accepted, filed or failed; ``created_at`` in ms."""

    id: str
    scope: Scope
    seq: int
    created_at: int
    status: str = "accepted"
    reason: str | None = None

    def to_wire(self) -> dict[str, Any]:
        """The receipt on the wire."""
        wire = {
            "id": self.id,
            "memoryRef": self.scope.memory_ref,
            "status": self.status,
            "createdAt": to_wire(self.created_at),
            "position": write_position(self.scope, self.seq),
        }
        return wire if self.reason is None else wire | {"reason": self.reason}


@dataclass(frozen=True)
class Acceptor:
    """The accept flow. ``announce`` tells workers that a tenant has Drafts."""

    database: Database
    reader: Reader
    sealer: Sealer
    digest_key: bytes
    metrics: Metrics
    announce: Callable[[int], None]

    @patient(WRITE_S)
    async def accept(self, tenant: int, drafts: Sequence[Draft], *, revive: bool = False) -> list[Receipt]:
        """Receipts once all Drafts are committed, or Conflict and nothing is (``details.index``).

        ``revive`` also takes ids that were removed: a restore means to have them back. Conflict too when a
        Draft's run has ended or lost its lease (``details.field`` is ``run``).
        """
        named = [draft if draft.id else draft.with_id(uuid7()) for draft in drafts]
        if len(named) <= _INLINE:
            rows = self._pack(tenant, named)
        else:
            rows = await asyncio.to_thread(self._pack, tenant, named)
        try:
            async with self.database.transaction(tenant) as transaction:
                if revive:
                    await transaction.run("revive", {"refs": rows["refs"], "ids": rows["ids"]})
                found = await transaction.run("accept", rows)
        except psycopg.OperationalError as error:
            if error.sqlstate == RUN_ENDED:
                raise Conflict("The run has ended.", details={"field": "run"}) from error
            index = int(error.diag.message_detail or 0)
            raise Conflict(details={"index": index, "field": "id"}) from error
        self.announce(tenant)
        self.metrics.accepted(len(named))
        return [
            Receipt(
                id=draft.id or "",
                scope=Scope(tenant, draft.memory_ref),
                seq=row["seq"],
                created_at=from_datetime(row["created_at"]),
            )
            for draft, row in zip(named, found, strict=True)
        ]

    async def wait(self, receipts: Sequence[Receipt], seconds: float) -> list[Receipt]:
        """The receipts after all are filed or failed, or after ``seconds``, whichever is first."""
        scopes: dict[Scope, int] = {}
        for receipt in receipts:
            scopes[receipt.scope] = max(receipt.seq, scopes.get(receipt.scope, 0))
        try:
            async with asyncio.timeout(seconds):
                for scope, seq in scopes.items():
                    await self.reader.wait_until_filed(scope, seq, seconds)
        except (TimeoutError, Unavailable):
            pass
        return [status for scope in scopes for status in await self.statuses(scope, receipts)]

    async def statuses(self, scope: Scope, receipts: Sequence[Receipt]) -> list[Receipt]:
        """The receipts of one scope as they stand now."""
        mine = [receipt for receipt in receipts if receipt.scope == scope]
        rows = await self.database.read(
            scope.tenant, "statuses", {"ref": scope.memory_ref, "ids": [receipt.id for receipt in mine]}
        )
        by_seq = {row["seq"]: row for row in rows}
        return [replace(receipt, **_status(by_seq.get(receipt.seq))) for receipt in mine]

    async def receipt(self, scope: Scope, entry_id: str) -> Receipt | None:
        """The receipt of an id; None when it was never accepted here or has been removed."""
        rows = await self.database.read(scope.tenant, "receipt", {"ref": scope.memory_ref, "id": entry_id})
        if not rows:
            return None
        return Receipt(
            id=entry_id,
            scope=scope,
            seq=rows[0]["seq"],
            created_at=from_datetime(rows[0]["created_at"]),
            **_status(rows[0]),
        )

    def _pack(self, tenant: int, drafts: Sequence[Draft]) -> dict[str, list[Any] | None]:
        scopes = [Scope(tenant, draft.memory_ref) for draft in drafts]
        return {
            "refs": [draft.memory_ref for draft in drafts],
            "ids": [draft.id for draft in drafts],
            "digests": [digest(self.digest_key, s, d) for s, d in zip(scopes, drafts, strict=True)],
            "sealed": [self.sealer.seal(draft.to_bytes()) for draft in drafts],
            "created": [None if d.created_at is None else to_datetime(d.created_at) for d in drafts],
            "runs": runs if any(runs := [d.run for d in drafts]) else None,
        }


def _status(row: dict[str, Any] | None) -> dict[str, Any]:
    if row is None or row.get("removed"):
        return {"status": "accepted", "reason": None}
    if row["failed"]:
        return {"status": "failed", "reason": row["reason"]}
    return {"status": "accepted" if row["waiting"] else "filed", "reason": None}
