"""Workflows: what can be run, and what each reads."""

from starlette.requests import Request
from starlette.responses import Response

from api_shim.doors.request import options, path_id
from api_shim.keyring import Caller
from api_shim.parts import Parts
from api_shim.runs.workflows import WORKFLOWS
from foreword.entry import compact
from foreword.errors import NotFound


async def get_workflow(request: Request, _: Caller, __: Parts) -> Response:
    """``GET /v1/workflows/{workflowId}``: the manifest."""
    options(request).close()
    workflow_id = path_id(request)
    if workflow_id not in WORKFLOWS:
        raise NotFound
    return Response(compact(WORKFLOWS[workflow_id].to_wire(workflow_id)), media_type="application/json")
