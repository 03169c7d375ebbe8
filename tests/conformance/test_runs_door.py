"""The door of runs: what may be asked, by whom, and what is refused how."""

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import httpx
import pytest
from jsonschema import Draft202012Validator

from api_shim.doors.routes import RUNS, SEAMS
from api_shim.runs.workflows import WORKFLOWS
from tests.acceptance.tenants import Tenant, assert_error, bad_fields
from tests.conformance.host import AS_JSON, NOOP, PREFIX, Host, frames

UNKNOWN = "01a22b0a-0000-7000-8000-000000000000"


def test_unmounted_is_unknown(product: dict[str, Any]) -> None:
    """Without the settings every path of runs and seams answers as a path that never was."""
    with Tenant.fresh(product).door() as door:
        nowhere = door.get("/v1/nowhere")
        for route in (*RUNS, *SEAMS):
            answer = door.request(route.method, route.path.replace("{runId}", UNKNOWN), json={})
            assert (answer.status_code, answer.content) == (404, nowhere.content), route.path
    told = httpx.get(f"{product['url']}/.well-known/openwop").json()
    assert told["fixtures"] == []
    assert "manifestRuntime" not in told["agents"]


def test_discovery_names_what_runs(host: Host) -> None:
    """Each fixture that is named can be started, and each that can be started is named."""
    told = host.door.get("/.well-known/openwop").json()
    assert sorted(told["fixtures"]) == sorted(WORKFLOWS)
    assert told["memory"]["attribution"] == {"supported": True, "emitsWriteEvents": True}
    assert told["agents"]["manifestRuntime"] == {"supported": True}


def test_a_run_is_created(host: Host) -> None:
    """201 with its id and where to look, and these places answer; a tenantId changes nothing."""
    started = host.start(NOOP, tenantId="mem-attr-replay", tags=["t"], metadata={"a": 1}, later=True)
    assert started.keys() == {"runId", "status", "eventsUrl", "statusUrl"}
    found = host.door.get(started["statusUrl"]).json()
    assert (found["runId"], found["workflowId"]) == (started["runId"], NOOP)
    assert host.door.get(started["eventsUrl"], headers=AS_JSON).status_code == 200
    ended = host.ended(started["runId"])
    assert host.ledger("SELECT tenant_id FROM runs WHERE run_id = %s", started["runId"]) == [
        {"tenant_id": host.tenant.number}
    ]
    assert ended["completedAt"] >= ended["startedAt"]


def test_bad_runs_are_refused(host: Host) -> None:
    """An unknown workflow, bad fields, bad JSON and the wrong media type are refused as everywhere."""
    assert bad_fields(host.door.post("/v1/runs", json={"workflowId": "nothing"})) == {"workflowId"}
    assert bad_fields(host.door.post("/v1/runs", json={})) == {"workflowId"}
    assert bad_fields(host.door.post("/v1/runs", json={"workflowId": NOOP, "tags": 1})) == {"tags"}
    json = {"Content-Type": "application/json"}
    assert bad_fields(host.door.post("/v1/runs", content=b"{", headers=json)) == {"body"}
    assert_error(host.door.post("/v1/runs", content=b"x"), 415, "unsupported_media_type")
    assert bad_fields(host.door.post("/v1/runs?a=1", json={"workflowId": NOOP})) == {"a"}
    assert bad_fields(host.door.get(f"/v1/runs/{UNKNOWN}?a=1")) == {"a"}


def test_bad_forks_are_refused(host: Host) -> None:
    """What a fork cannot meet is refused; a run that goes on is not repeated."""
    run_id = host.start(f"{PREFIX}ttl")["runId"]
    fork = f"/v1/runs/{run_id}:fork"
    assert_error(host.door.post(fork, json={"mode": "replay"}), 409, "conflict")
    host.ended(run_id)
    last = host.events(run_id)[-1]["sequence"]
    assert host.fork(run_id, mode="replay", fromSeq=last)["fromSeq"] == last
    assert bad_fields(host.door.post(fork, json={"mode": "replay", "fromSeq": last + 1})) == {"fromSeq"}
    assert bad_fields(host.door.post(fork, json={"mode": "branch", "fromSeq": 1})) == {"fromSeq"}
    overlay = {"mode": "replay", "runOptionsOverlay": {"inputs": {}}}
    assert bad_fields(host.door.post(fork, json=overlay)) == {"runOptionsOverlay"}


def test_a_branch_has_inputs_of_its_own(host: Host) -> None:
    """The overlay's inputs are the branch's, and are judged like a run's."""
    workflow = f"{PREFIX}redaction"
    run_id = host.start(workflow)["runId"]
    host.ended(run_id)
    fork = {"mode": "branch", "fromSeq": 0, "runOptionsOverlay": {"inputs": {"byokSecretId": "x"}}}
    found = host.ended(host.fork(run_id, **fork)["runId"])
    assert found["error"]["code"] == "credential_unavailable"
    fork["runOptionsOverlay"] = {"inputs": {"byokSecretId": 1}}
    refused = host.door.post(f"/v1/runs/{run_id}:fork", json=fork)
    assert bad_fields(refused) == {"runOptionsOverlay.inputs.byokSecretId"}


def test_scopes_are_asked_for(host: Host) -> None:
    """Starting needs write, looking needs read, repeating needs both; a refusal names the scope."""
    run_id = host.start(NOOP)["runId"]
    host.ended(run_id)
    url = str(host.door.base_url)
    with host.tenant.door("read", url=url) as reader:
        for path in ("/v1/runs", f"/v1/runs/{run_id}:fork"):
            assert assert_error(reader.post(path, json={}), 403, "forbidden") == {"scopeRequired": "write"}
        assert reader.get(f"/v1/runs/{run_id}").status_code == 200
    with host.tenant.door("write", url=url) as writer:
        for path in (f"/v1/runs/{run_id}", f"/v1/runs/{run_id}/events", "/v1/agents"):
            assert assert_error(writer.get(path), 403, "forbidden") == {"scopeRequired": "read"}
        forked = writer.post(f"/v1/runs/{run_id}:fork", json={"mode": "replay"})
        assert assert_error(forked, 403, "forbidden") == {"scopeRequired": "read"}
    assert_error(httpx.get(f"{url}/v1/runs/{run_id}"), 401, "unauthenticated")


def test_a_bound_key_runs_within_its_bounds(host: Host) -> None:
    """A key bound to other memories starts no run and sees none; one bound to those of runs does."""
    run_id = host.start(NOOP)["runId"]
    host.ended(run_id)
    url = str(host.door.base_url)
    with host.tenant.door(ref_glob="agent/*", url=url) as bound:
        assert_error(bound.post("/v1/runs", json={"workflowId": NOOP}), 403, "forbidden")
        assert_error(bound.get(f"/v1/runs/{run_id}"), 404, "not_found")
        assert_error(bound.get(f"/v1/runs/{run_id}/events"), 404, "not_found")
        assert_error(bound.post(f"/v1/runs/{run_id}:fork", json={"mode": "replay"}), 404, "not_found")
    with host.tenant.door(ref_glob="openwop/*", url=url) as bound:
        assert bound.post("/v1/runs", json={"workflowId": NOOP}).status_code == 201
        assert bound.get(f"/v1/runs/{run_id}").status_code == 200


def test_runs_of_a_tenant_are_bounded(host: Host, neighbour: Host) -> None:
    """A tenant with as many runs as it may gets 429 with Retry-After, and no other tenant does."""

    def start(_: int) -> httpx.Response:
        return host.door.post("/v1/runs", json={"workflowId": f"{PREFIX}ttl"})

    with ThreadPoolExecutor(12) as crowd:
        answers = list(crowd.map(start, range(12)))
    refused = [answer for answer in answers if answer.status_code != 201]
    assert refused
    for answer in refused:
        assert_error(answer, 429, "rate_limited")
        assert int(answer.headers["Retry-After"]) >= 1
    neighbour.completed(NOOP)
    started = [answer.json()["runId"] for answer in answers if answer.status_code == 201]
    assert all(host.ended(run_id)["completedAt"] for run_id in started)
    host.completed(NOOP)


@pytest.mark.parametrize(
    ("accept", "media"),
    [
        (None, "text/event-stream"),
        ("*/*", "text/event-stream"),
        ("text/event-stream", "text/event-stream"),
        ("application/json, text/event-stream", "text/event-stream"),
        ("application/json", "application/json"),
        ("application/json, text/plain, */*", "application/json"),
    ],
)
def test_accept_decides(host: Host, accept: str | None, media: str) -> None:
    """Events are a stream unless JSON is asked for and a stream is not."""
    run_id = host.start(NOOP)["runId"]
    host.ended(run_id)
    headers = {} if accept is None else {"Accept": accept}
    answer = host.door.get(f"/v1/runs/{run_id}/events", headers=headers)
    assert answer.headers["Content-Type"].partition(";")[0] == media
    assert host.door.head(f"/v1/runs/{run_id}/events", headers=headers).content == b""


def test_stream_modes(host: Host) -> None:
    """Each mode answers in JSON and as a stream; one that is not there is refused in both."""
    run_id = host.start(NOOP)["runId"]
    ended = host.ended(run_id)
    for mode in ("updates,nothing", "x", ""):
        for headers in ({}, AS_JSON):
            path = f"/v1/runs/{run_id}/events?streamMode={mode}"
            assert bad_fields(host.door.get(path, headers=headers)) == {"streamMode"}
    assert bad_fields(host.door.get(f"/v1/runs/{run_id}/events?bufferMs=x")) == {"bufferMs"}
    assert host.events(run_id, "messages") == []
    assert len(host.events(run_id, "updates")) < len(host.events(run_id, "debug"))
    assert [event["payload"] for event in host.events(run_id, "values")][-1] == ended
    for mode in ("updates", "debug", "values", "messages", "updates,values"):
        answer = host.door.get(f"/v1/runs/{run_id}/events", params={"streamMode": mode})
        assert [document for *_, document in frames(answer.text)] == host.events(run_id, mode)


def test_the_inventory_is_not_empty(host: Host) -> None:
    """Agents are counted, and degraded if and only if a dimension lacks, which here none does."""
    told = host.door.get("/v1/agents").json()
    assert told["total"] == len(told["agents"]) > 0
    for agent in told["agents"]:
        assert agent["agentId"].startswith("core.")
        assert agent["memoryShape"]["longTerm"] is True
        assert not {"memoryDegraded", "degradedMemoryDimensions"} & agent.keys()


def test_the_seed_seam_writes(host: Host) -> None:
    """Seeded entries are in the list under their ids; a repeat changes nothing; an empty body is refused."""
    seeds = [{"id": f"seed-{n}", "content": f"Seed {n}.", "tags": ["t"], "more": 1} for n in range(3)]
    body = {"memoryRef": "mem://conformance/seeded", "entries": seeds}
    for _ in range(2):
        answer = host.door.post("/v1/test/memory/seed", json=body)
        assert answer.status_code == 201
    assert [entry["id"] for entry in host.listed(body["memoryRef"])] == ["seed-2", "seed-1", "seed-0"]
    assert bad_fields(host.door.post("/v1/test/memory/seed", json={})) == {"entries"}
    twice = {"memoryRef": "a", "entries": [{"content": ""}, {"id": "/", "content": "x"}]}
    refused = host.door.post("/v1/test/memory/seed", json=twice)
    assert bad_fields(refused) == {"entries[0].content", "entries[1].id"}
    assert bad_fields(host.door.post("/v1/test/memory/seed", json={"entries": seeds})) == {"memoryRef"}


@pytest.mark.parametrize(
    "path",
    [
        "/v1/test/memory/compact",
        "/v1/host/sample/memory/distill",
        "/v1/host/sample/memory/consolidate",
        "/v1/host/sample/commitment/fire",
    ],
)
def test_seams_of_what_is_not_there_are_not_there(host: Host, path: str) -> None:
    """The seam of a feature that does not exist answers as a path that never was."""
    answer = host.door.post(path, json={"memoryRef": "a"})
    assert (answer.status_code, answer.content) == (404, host.door.get("/v1/nowhere").content)


def test_answers_are_described(host: Host) -> None:
    """What is mounted is in the OpenAPI document, and what it answers is what the document says."""
    document = host.door.get("/v1/openapi.json").json()
    assert {route.path for route in (*RUNS, *SEAMS)} <= set(document["paths"])
    run_id = host.start(NOOP)["runId"]
    host.ended(run_id)
    calls: list[tuple[Callable[[], httpx.Response], str, str, str]] = [
        (lambda: host.door.post("/v1/runs", json={"workflowId": NOOP}), "post", "/v1/runs", "201"),
        (lambda: host.door.get(f"/v1/runs/{run_id}"), "get", "/v1/runs/{runId}", "200"),
        (lambda: host.door.get(f"/v1/runs/{run_id}/events", headers=AS_JSON), "get",
         "/v1/runs/{runId}/events", "200"),
        (lambda: host.door.post(f"/v1/runs/{run_id}:fork", json={"mode": "replay"}), "post",
         "/v1/runs/{runId}:fork", "201"),
        (lambda: host.door.get("/v1/agents"), "get", "/v1/agents", "200"),
        (lambda: host.door.post("/v1/test/memory/seed",
                                json={"memoryRef": "a", "entries": [{"content": "x"}]}), "post",
         "/v1/test/memory/seed", "201"),
    ]  # fmt: skip
    for call, method, path, status in calls:
        answer = call()
        assert str(answer.status_code) == status, answer.text
        told = document["paths"][path][method]["responses"][status]["content"]["application/json"]["schema"]
        Draft202012Validator({**told, "components": document["components"]}).validate(answer.json())
