"""The server about itself: health, readiness, metrics, the public seal key, discovery."""

import asyncio

from starlette.requests import Request
from starlette.responses import Response

from api_shim.doors.request import options
from api_shim.keyring import Caller
from api_shim.parts import Parts
from foreword.entry import compact
from foreword.errors import NotFound, Unavailable


async def healthz(_: Request, __: Parts) -> Response:
    """``GET /healthz``: this process answers."""
    return _json({"status": "ok"})


async def readyz(_: Request, parts: Parts) -> Response:
    """``GET /readyz``: 200 when ledger and hot view answer, else 503 and which does not."""
    checks = {"ledger": parts.database.ask("ping"), "hotView": parts.hot_view.ping()}
    found = await asyncio.gather(*checks.values(), return_exceptions=True)
    states = {
        name: "unavailable" if isinstance(state, BaseException) else "ok"
        for name, state in zip(checks, found, strict=True)
    }
    away = sorted(name for name, state in states.items() if state != "ok")
    if away:
        error = Unavailable("Not ready: " + ", ".join(away) + " cannot be reached.")
        error.details = states
        raise error
    return _json({"status": "ok", "parts": states})


async def metrics(_: Request, parts: Parts) -> Response:
    """``GET /metrics``: Prometheus text, where the setting allows."""
    if not parts.settings.metrics:
        raise NotFound
    await parts.backlog.refresh()
    return Response(parts.metrics.page(), media_type="text/plain; version=0.0.4")


async def seal_key(request: Request, _: Caller, parts: Parts) -> Response:
    """``GET /v1/seal-key``: what runtimes seal queued Drafts to."""
    options(request).close()
    return _json({"sealKey": parts.sealer.key})


async def discovery(_: Request, parts: Parts) -> Response:
    """``GET /.well-known/openwop``: what this host really does (OpenWOP RFC 0073)."""
    return _json((await parts.serving.capabilities()).document())


def _json(body: object) -> Response:
    return Response(compact(body), media_type="application/json")
