"""Run: what the ledger knows of one, and how its snapshot and events look on the wire."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Final

from foreword.errors import RunFailed
from foreword.instant import from_datetime, to_wire

TERMINAL: Final = frozenset({"completed", "failed"})
MODES: Final = ("replay", "branch")
STREAM_MODES: Final = ("updates", "values", "messages", "debug")

QUIET: Final = frozenset({"node.started"})
"""Events that the stream mode ``updates`` leaves out."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Run:
    """One run. ``forked_from`` is the run it repeats, ``error`` why it failed."""

    id: str
    workflow_id: str
    status: str
    variables: Mapping[str, Any] = field(default_factory=dict)
    error: Mapping[str, Any] | None = None
    mode: str | None = None
    forked_from: str | None = None
    started_at: datetime
    finished_at: datetime | None = None

    @classmethod
    def of(cls, row: Mapping[str, Any]) -> "Run":
        """From a ledger row."""
        return cls(
            id=row["run_id"],
            workflow_id=row["workflow_id"],
            status=row["status"],
            variables=row["variables"],
            error=row["error"],
            mode=row["mode"],
            forked_from=row["forked_from"],
            started_at=row["created_at"],
            finished_at=row["finished_at"],
        )

    @property
    def is_over(self) -> bool:
        """Whether nothing more will happen in it."""
        return self.status in TERMINAL

    @property
    def origin(self) -> str:
        """The run that wrote what this one tells of: itself, or the one that it replays."""
        return self.forked_from if self.mode == "replay" and self.forked_from else self.id

    def memory_ref(self) -> str:
        """The memory that it tells of."""
        return own_ref(self.workflow_id, self.origin)

    def to_wire(self) -> dict[str, Any]:
        """The snapshot."""
        wire: dict[str, Any] = {
            "runId": self.id,
            "workflowId": self.workflow_id,
            "status": self.status,
            "startedAt": _instant(self.started_at),
            "variables": dict(self.variables),
        }
        if self.finished_at is not None:
            wire["completedAt"] = _instant(self.finished_at)
        return wire if self.error is None else wire | {"error": dict(self.error)}


@dataclass(frozen=True, kw_only=True, slots=True)
class Event:
    """Something that happened in a run. ``sequence`` counts from 0."""

    id: str
    run_id: str
    sequence: int
    type: str
    payload: Mapping[str, Any]
    at: datetime

    @classmethod
    def of(cls, row: Mapping[str, Any]) -> "Event":
        """From a ledger row, whose numbers start at 1."""
        return cls(
            id=row["event_id"],
            run_id=row["run_id"],
            sequence=row["seq"] - 1,
            type=row["type"],
            payload=row["payload"],
            at=row["at"],
        )

    def to_wire(self) -> dict[str, Any]:
        """The event document (OpenWOP run-event): these fields and no others."""
        wire = {
            "eventId": self.id,
            "runId": self.run_id,
            "type": self.type,
            "payload": dict(self.payload),
            "timestamp": _instant(self.at),
            "sequence": self.sequence,
        }
        node = self.payload.get("nodeId")
        return wire if node is None else wire | {"nodeId": node}


def own_ref(workflow_id: str, run_id: str) -> str:
    """The memoryRef that is minted for a run."""
    return f"openwop/{workflow_id}/{run_id}"


def error_of(failure: RunFailed) -> dict[str, str]:
    """A failure as a snapshot tells it."""
    return {"code": failure.reason, "message": failure.message}


def projected(events: Sequence[Event], modes: Collection[str], run: Run) -> list[dict[str, Any]]:
    """What stream modes tell of events: ``values`` is a snapshot for each update, as the run stands now.

    ``messages`` is what models say, and none speaks here.
    """
    told: list[dict[str, Any]] = []
    for event in events:
        updates = event.type not in QUIET
        if "debug" in modes or (updates and "updates" in modes):
            told.append(event.to_wire())
        if updates and "values" in modes:
            told.append(event.to_wire() | {"type": "state.snapshot", "payload": run.to_wire()})
    return told


def _instant(moment: datetime) -> str:
    return to_wire(from_datetime(moment))
