"""The inventory of agents."""

from starlette.requests import Request
from starlette.responses import Response

from api_shim.doors.request import options
from api_shim.keyring import Caller
from api_shim.parts import Parts
from api_shim.runs.agents import AGENTS, inventory
from foreword.entry import compact


async def list_agents(request: Request, _: Caller, parts: Parts) -> Response:
    """``GET /v1/agents``: who runs here; degraded where this host lacks what they need."""
    options(request).close()
    host = await parts.serving.capabilities()
    body = inventory(AGENTS, host.dimensions())
    return Response(compact(body), media_type="application/json")
