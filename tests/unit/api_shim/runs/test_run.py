"""How a run and its events look on the wire."""

from datetime import UTC, datetime
from typing import Any

import pytest

from api_shim.runs.failure import FAILURES, failed
from api_shim.runs.run import Event, Run, error_of, own_ref, projected
from foreword.draft import parse_draft
from foreword.scope import MAX_REF

AT = datetime(2026, 11, 30, 8, 15, tzinfo=UTC)
TYPES = ("run.started", "node.started", "memory.written", "node.completed", "run.completed")


def run(**given: Any) -> Run:
    """A run that goes on."""
    plain: dict[str, Any] = {
        "id": "r1",
        "workflow_id": "conformance-noop",
        "status": "running",
        "started_at": AT,
    }
    return Run(**(plain | given))


def events() -> list[Event]:
    """One of each type."""
    rows = [
        {"event_id": f"e{n}", "run_id": "r1", "seq": n + 1, "type": type_, "at": AT,
         "payload": {"nodeId": "memory"} if type_.startswith(("node", "memory")) else {}}
        for n, type_ in enumerate(TYPES)
    ]  # fmt: skip
    return [Event.of(row) for row in rows]


def test_a_snapshot_tells_the_end_only_at_the_end() -> None:
    """completedAt stands on an ended run alone, and error on a failed one."""
    going = run().to_wire()
    assert going == {
        "runId": "r1", "workflowId": "conformance-noop", "status": "running",
        "startedAt": "2026-11-30T08:15:00.000Z", "variables": {},
    }  # fmt: skip
    ended = run(status="failed", finished_at=AT, error=error_of(failed("run_lost"))).to_wire()
    assert ended["error"] == {"code": "run_lost", "message": FAILURES["run_lost"]}
    assert ended["completedAt"] == "2026-11-30T08:15:00.000Z"


def test_an_event_has_the_fields_of_the_protocol() -> None:
    """Sequence counts from 0; nodeId is lifted where the payload has one; nothing else is told."""
    first, second, *_ = (event.to_wire() for event in events())
    assert first == {
        "eventId": "e0", "runId": "r1", "type": "run.started", "payload": {},
        "timestamp": "2026-11-30T08:15:00.000Z", "sequence": 0,
    }  # fmt: skip
    assert second.keys() - first.keys() == {"nodeId"}


@pytest.mark.parametrize(
    ("modes", "types"),
    [
        ({"updates"}, [type_ for type_ in TYPES if type_ != "node.started"]),
        ({"debug"}, list(TYPES)),
        ({"messages"}, []),
        ({"updates", "messages"}, [type_ for type_ in TYPES if type_ != "node.started"]),
        ({"messages", "debug"}, list(TYPES)),
    ],
)
def test_a_stream_mode_chooses(modes: set[str], types: list[str]) -> None:
    """debug is everything, updates leaves out what only begins, and no model has messages here."""
    assert [told["type"] for told in projected(events(), modes, run())] == types


def test_values_are_snapshots() -> None:
    """values tells the run as it stands, once for each update, under the update's own number."""
    told = projected(events(), {"values"}, run())
    assert {one["type"] for one in told} == {"state.snapshot"}
    assert [one["sequence"] for one in told] == [0, 2, 3, 4]
    assert all(one["payload"] == run().to_wire() for one in told)
    both = projected(events(), {"updates", "values"}, run())
    assert len(both) == 2 * len(told)


def test_a_replay_tells_of_its_source() -> None:
    """A replay has the memory of the run it repeats; a branch has its own."""
    assert run(mode="replay", forked_from="r0").memory_ref() == own_ref("conformance-noop", "r0")
    assert run(mode="branch", forked_from="r0").memory_ref() == own_ref("conformance-noop", "r1")


def test_a_minted_ref_can_be_written_to() -> None:
    """The refs of a run are good refs, with room for what a workflow puts behind them."""
    ref = own_ref("conformance-agent-memory-injection-budget", "0" * 36) + "/foreign"
    assert len(ref) < MAX_REF
    assert parse_draft({"memoryRef": ref, "content": "x"}).memory_ref == ref
