"""OpenWOP's own Python client, of the protocol's major version 1, is at home here."""

import pytest
from openwop_client import (
    CreateRunRequest,
    ForkRunRequest,
    OpenwopClient,
    RunSnapshot,
    WopError,
)

from api_shim.capabilities import PROTOCOL
from tests.acceptance.tenants import Tenant
from tests.conformance.host import NOOP, PREFIX, Host
from tests.services import eventually


def client(tenant: Tenant, url: str) -> OpenwopClient:
    """The SDK with a key of the tenant's."""
    return OpenwopClient(base_url=url, api_key=tenant.key())


def ended(sdk: OpenwopClient, run_id: str) -> RunSnapshot:
    """A run once it is over."""

    def over() -> RunSnapshot | None:
        found = sdk.runs_get(run_id)
        return found if found.status in ("completed", "failed") else None

    snapshot: RunSnapshot = eventually(over, "the run is over")
    return snapshot


def test_the_client_reads_discovery(host: Host, host_url: str) -> None:
    """It finds protocol, limits and the injection budget with its counter."""
    told = client(host.tenant, host_url).discovery_capabilities()
    assert told.protocolVersion == PROTOCOL
    assert told.memory is not None
    assert told.memory.injectionBudget is not None
    assert told.memory.injectionBudget.supported is True
    assert told.memory.injectionBudget.tokenCounter == "o200k_base"


def test_the_client_runs_polls_and_reads(host: Host, host_url: str) -> None:
    """It creates a run, polls it to its end, and reads the same events as a stream and by polling."""
    sdk = client(host.tenant, host_url)
    request = CreateRunRequest(workflowId=f"{PREFIX}ttl", tenantId="whoever", tags=["sdk"])
    started = sdk.runs_create(request)
    snapshot = ended(sdk, started.runId)
    assert (snapshot.status, snapshot.error) == ("completed", None)
    assert snapshot.variables is not None
    streamed = list(sdk.runs_events(started.runId, stream_mode="updates"))
    polled = sdk.runs_poll_events(started.runId)
    assert polled.isComplete is True
    assert streamed == polled.events
    assert [event.type for event in streamed][-1] == "run.completed"
    written = [event for event in streamed if event.type == "memory.written"]
    assert {event.payload["memoryId"] for event in written} >= {
        snapshot.variables["freshId"],
        snapshot.variables["expiredId"],
    }
    resumed = list(sdk.runs_events(started.runId, last_event_id=streamed[1].eventId))
    assert resumed == streamed[2:]
    rest = sdk.runs_poll_events(started.runId, last_sequence=streamed[-2].sequence, timeout_seconds=1)
    assert rest.events == streamed[-1:]


def test_the_client_forks(host: Host, host_url: str) -> None:
    """It replays a run and finds the events it knows."""
    sdk = client(host.tenant, host_url)
    run_id = sdk.runs_create(CreateRunRequest(workflowId=NOOP)).runId
    ended(sdk, run_id)
    fork = sdk.runs_fork(run_id, ForkRunRequest(fromSeq=0, mode="replay"))
    assert (fork.sourceRunId, fork.mode, fork.fromSeq) == (run_id, "replay", 0)
    again = [event.eventId for event in sdk.runs_events(fork.runId)]
    assert again == [event.eventId for event in sdk.runs_events(run_id)]


def test_the_client_reads_manifests(host: Host, host_url: str) -> None:
    """Every advertised fixture has one, with the inputs a run of it reads; what is not there is not found."""
    sdk = client(host.tenant, host_url)
    fixtures = host.door.get("/.well-known/openwop").json()["fixtures"]
    for workflow_id in fixtures:
        told = sdk.workflows_get(workflow_id)
        assert told["workflowId"] == workflow_id
        assert [node["typeId"] for node in told["nodes"]] == ["core.identity"]
    budgeted = sdk.workflows_get(f"{PREFIX}injection-budget")
    assert budgeted["nodes"][0]["config"] == {"memoryAction": "list-budgeted"}
    least = budgeted["inputs"]["tokenBudget"]["minimum"]
    body = {"workflowId": budgeted["workflowId"], "inputs": {"tokenBudget": least - 1}}
    assert host.door.post("/v1/runs", json=body).status_code == 400
    with pytest.raises(WopError) as missing:
        sdk.workflows_get("conformance-nothing")
    assert missing.value.status == 404


def test_the_client_meets_agents_and_errors(host: Host, host_url: str) -> None:
    """It reads the inventory, and an error as one of the protocol's."""
    sdk = client(host.tenant, host_url)
    (agent,) = sdk.agents_list() or []
    assert agent.memoryShape == {"scratchpad": False, "conversation": False, "longTerm": True}
    with pytest.raises(WopError) as missing:
        sdk.runs_get("01a22b0a-0000-7000-8000-000000000000")
    assert missing.value.status == 404
    assert missing.value.envelope is not None
    assert missing.value.envelope.error == "not_found"
