"""Runs: started, looked at, repeated."""

from typing import Any

from starlette.requests import Request
from starlette.responses import Response

from api_shim.doors.body import JSON, apart, parse_json, read_bytes
from api_shim.doors.openwop.asked import ForkAsked, fork_asked, is_run_id, require_inputs, run_asked
from api_shim.doors.request import options, path_id
from api_shim.keyring import Caller
from api_shim.parts import Parts
from api_shim.runs.engine import new_run_id
from api_shim.runs.run import Run, own_ref
from api_shim.runs.workflows import WORKFLOWS
from foreword.entry import compact
from foreword.errors import Conflict, Forbidden, NotFound, ValidationError


async def create_run(request: Request, caller: Caller, parts: Parts) -> Response:
    """``POST /v1/runs``: 201 once the run is the ledger's; it goes on by itself."""
    options(request).close()
    raw = await read_bytes(request, parts.settings.max_body_bytes, JSON)
    asked = await apart(raw, lambda: run_asked(parse_json(raw)))
    run_id = _new_id(caller, asked.workflow_id)
    run = await parts.engine.start(caller.tenant, run_id, asked.workflow_id, asked.inputs)
    return _json(_started(run) | {"statusUrl": _url(run.id)}, 201)


async def get_run(request: Request, caller: Caller, parts: Parts) -> Response:
    """``GET /v1/runs/{runId}``: the snapshot."""
    options(request).close()
    return _json((await found(request, caller, parts)).to_wire())


async def fork_run(request: Request, caller: Caller, parts: Parts) -> Response:
    """``POST /v1/runs/{runId}:fork``: tells an ended run again, or runs its workflow anew."""
    caller.require("read")
    options(request).close()
    raw = await read_bytes(request, parts.settings.max_body_bytes, JSON)
    asked = await apart(raw, lambda: fork_asked(parse_json(raw)))
    source = await found(request, caller, parts)
    if not source.is_over:
        raise Conflict("The run has not ended.")
    fork = _branch if asked.mode == "branch" else _replay
    run = await fork(caller, source, asked, parts)
    told = {"sourceRunId": source.id, "fromSeq": asked.from_sequence, "mode": asked.mode}
    return _json(_started(run) | told, 201)


async def _branch(caller: Caller, source: Run, asked: ForkAsked, parts: Parts) -> Run:
    require_inputs(WORKFLOWS[source.workflow_id], asked.inputs)
    run_id = _new_id(caller, source.workflow_id)
    return await parts.engine.start(caller.tenant, run_id, source.workflow_id, asked.inputs, source.id)


async def _replay(caller: Caller, source: Run, asked: ForkAsked, parts: Parts) -> Run:
    """Everything that happened is on record: a replay executes nothing and, from wherever, tells the same."""
    events = await parts.engine.store.events(caller.tenant, source.id)
    if asked.from_sequence >= len(events):
        raise ValidationError.of("fromSeq", "is past the run's last event")
    return await parts.engine.store.replay(caller.tenant, new_run_id(), source.origin)


async def found(request: Request, caller: Caller, parts: Parts) -> Run:
    """The run in the path; NotFound when it is not there, not this tenant's, or not this key's to see."""
    run_id = path_id(request)
    run = await parts.engine.store.find(caller.tenant, run_id) if is_run_id(run_id) else None
    if run is None or not caller.may_reach(run.memory_ref()):
        raise NotFound
    return run


def _new_id(caller: Caller, workflow_id: str) -> str:
    run_id = new_run_id()
    if not caller.may_reach(own_ref(workflow_id, run_id)):
        raise Forbidden("The API key is bound to other memories.")
    return run_id


def _started(run: Run) -> dict[str, Any]:
    return {"runId": run.id, "status": run.status, "eventsUrl": f"{_url(run.id)}/events"}


def _url(run_id: str) -> str:
    return f"/v1/runs/{run_id}"


def _json(body: object, status: int = 200) -> Response:
    return Response(compact(body), status_code=status, media_type="application/json")
