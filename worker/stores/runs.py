"""Runs as the worker meets them: what one resolved, what it is told when its Drafts are filed."""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from foreword.ids import uuid7
from worker.stores.ledger import Claimed, Filing


@dataclass(frozen=True, kw_only=True)
class Written:
    """An entry that a run wrote. The tags have passed the gate; there is no content to tell (RFC 0057)."""

    claimed: Claimed
    run: str
    node: str | None
    tags: tuple[str, ...]

    def payload(self) -> dict[str, Any]:
        """The event's payload on the wire."""
        told: dict[str, Any] = {
            "memoryRef": self.claimed.scope.memory_ref,
            "memoryId": self.claimed.id,
            "tags": list(self.tags),
        }
        return told if self.node is None else told | {"nodeId": self.node}


def resolved(filing: Filing, run: str) -> list[tuple[str, bytes]]:
    """The sealed values of a run of this tenant, by secret id, oldest first; empty for any other run.

    Whatever was registered before a Draft was accepted is among them once the Draft is claimed.
    """
    return [(row["secret_id"], bytes(row["sealed"])) for row in filing.run("run_secrets", of="runs", run=run)]


def tell(filing: Filing, written: Sequence[Written]) -> None:
    """One ``memory.written`` for each entry to the run that wrote it, if it is this tenant's."""
    filing.run(
        "tell",
        of="runs",
        runs=[one.run for one in written],
        ids=[uuid7() for _ in written],
        types=["memory.written"] * len(written),
        payloads=[json.dumps(one.payload()) for one in written],
    )
