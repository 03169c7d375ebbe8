"""RFC 0057, restated: a run's writes are told on its stream, without content, once, to its tenant alone."""

import json

import pytest

from tests.acceptance.tenants import assert_error
from tests.conformance.host import AS_JSON, NOOP, PREFIX, Host, frames, written

TOLD = {"memoryRef", "memoryId", "nodeId", "agentId", "tags"}
WORKFLOWS = (NOOP, f"{PREFIX}roundtrip", f"{PREFIX}redaction", f"{PREFIX}ttl")


@pytest.mark.parametrize("workflow", WORKFLOWS)
def test_every_write_is_told_without_content(host: Host, workflow: str) -> None:
    """One memory.written for each entry the run has in the ledger, with ref and id, and none of its words."""
    started = host.start(workflow)
    told = host.ended(started["runId"])["variables"]
    payloads = written(host.events(started["runId"]))
    entries = host.kept(told["memoryRef"])
    assert {payload["memoryRef"] for payload in payloads} == {told["memoryRef"]}
    assert sorted(payload["memoryId"] for payload in payloads) == sorted(entry["id"] for entry in entries)
    assert payloads
    text = json.dumps(host.events(started["runId"]))
    assert all(entry["content"][:20] not in text for entry in entries)
    assert all({"memoryRef", "memoryId", "nodeId"} <= payload.keys() <= TOLD for payload in payloads)


def test_reads_are_not_told(host: Host) -> None:
    """A run that lists its memory often tells of its writes alone, in numbers without gaps."""
    run_id = host.start(f"{PREFIX}roundtrip")["runId"]
    host.ended(run_id)
    events = host.events(run_id)
    assert [event["sequence"] for event in events] == list(range(len(events)))
    assert {event["type"] for event in events} == {
        *("run.started", "node.started", "memory.written", "node.completed", "run.completed")
    }
    assert len(written(events)) == 1
    assert {event["runId"] for event in events} == {run_id}


def test_a_replay_tells_the_same_and_writes_nothing(host: Host) -> None:
    """A replay has the recorded events, ids and instants, the same variables, and mints no entry."""
    run_id = host.start(NOOP)["runId"]
    source = host.ended(run_id)
    before = host.ledger("SELECT id FROM receipts WHERE tenant_id = %s", host.tenant.number)
    for body in ({"mode": "replay", "fromSeq": 0}, {"mode": "replay"}):
        fork = host.fork(run_id, **body)
        assert (fork["sourceRunId"], fork["mode"], fork["fromSeq"]) == (run_id, "replay", 0)
        replayed = host.ended(fork["runId"])
        assert (replayed["status"], replayed["variables"]) == (source["status"], source["variables"])
        again, first = host.events(fork["runId"]), host.events(run_id)
        assert [event | {"runId": run_id} for event in again] == first
        assert written(again) == written(first) != []
    assert host.ledger("SELECT id FROM receipts WHERE tenant_id = %s", host.tenant.number) == before


def test_a_replay_can_be_replayed(host: Host) -> None:
    """A replay of a replay tells what the first run told."""
    run_id = host.start(NOOP)["runId"]
    host.ended(run_id)
    once = host.fork(run_id, mode="replay")["runId"]
    twice = host.fork(once, mode="replay")["runId"]
    assert [event["eventId"] for event in host.events(twice)] == [e["eventId"] for e in host.events(run_id)]


def test_a_failed_run_replays_as_failed(host: Host) -> None:
    """The outcome is on record too."""
    run_id = host.start(f"{PREFIX}redaction", inputs={"byokSecretId": "other"})["runId"]
    failed = host.ended(run_id)
    replayed = host.ended(host.fork(run_id, mode="replay")["runId"])
    assert (replayed["status"], replayed["error"]) == ("failed", failed["error"])


def test_a_branch_writes_its_own(host: Host) -> None:
    """A branch runs the workflow anew: other events, another memory."""
    run_id = host.start(NOOP)["runId"]
    host.ended(run_id)
    branch = host.fork(run_id, mode="branch", fromSeq=0)["runId"]
    told = host.ended(branch)
    assert told["status"] == "completed"
    first, again = host.events(run_id), host.events(branch)
    assert not {event["eventId"] for event in first} & {event["eventId"] for event in again}
    assert not {p["memoryId"] for p in written(first)} & {p["memoryId"] for p in written(again)}
    assert len(host.listed(told["variables"]["memoryRef"])) == 1


def test_another_tenant_sees_no_run(host: Host, neighbour: Host) -> None:
    """To another tenant a run is as unknown as one that never was, whatever is asked of it."""
    run_id = host.start(NOOP)["runId"]
    host.ended(run_id)
    unknown = "01a22b0a-0000-7000-8000-000000000000"
    told = set()
    for id_ in (run_id, unknown, "x" * 65, "x.y"):
        for answer in (
            neighbour.door.get(f"/v1/runs/{id_}"),
            neighbour.door.get(f"/v1/runs/{id_}/events"),
            neighbour.door.get(f"/v1/runs/{id_}/events", headers=AS_JSON),
            neighbour.door.post(f"/v1/runs/{id_}:fork", json={"mode": "replay"}),
        ):
            assert_error(answer, 404, "not_found")
            told.add(answer.content)
    assert len(told) == 1
    other = neighbour.start(NOOP)["runId"]
    neighbour.ended(other)
    assert not {e["eventId"] for e in neighbour.events(other)} & {e["eventId"] for e in host.events(run_id)}


def test_a_stream_tells_until_the_end(host: Host) -> None:
    """A stream opened while the run goes on has every event once, numbered, and ends with the run."""
    run_id = host.start(f"{PREFIX}ttl")["runId"]
    with host.door.stream("GET", f"/v1/runs/{run_id}/events", params={"streamMode": "debug"}) as answer:
        assert answer.headers["Content-Type"].startswith("text/event-stream")
        told = frames(answer.read().decode())
    assert [document for _, _, document in told] == host.events(run_id)
    assert [(id_, type_) for id_, type_, _ in told] == [
        (str(event["sequence"]), event["type"]) for event in host.events(run_id)
    ]
    assert told[-1][1] == "run.completed"


def test_a_stream_resumes(host: Host) -> None:
    """After Last-Event-ID, a number or an event's own id, come the events that follow it."""
    run_id = host.start(NOOP)["runId"]
    host.ended(run_id)
    events = host.events(run_id, "updates")
    for n, event in enumerate(events):
        for last in (str(event["sequence"]), event["eventId"]):
            answer = host.door.get(f"/v1/runs/{run_id}/events", headers={"Last-Event-ID": last})
            assert [document for *_, document in frames(answer.text)] == events[n + 1 :]
    everything = host.door.get(f"/v1/runs/{run_id}/events", headers={"Last-Event-ID": "never told"})
    assert [document for *_, document in frames(everything.text)] == events
