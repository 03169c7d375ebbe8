"""The shim with one route more: ``/null`` answers constant bytes, so that HTTP itself can be taken off.

``python -m bench.server PORT CONSTANT_FILE shared|pooled``; settings as for the shim.
"""

import sys
from pathlib import Path

import uvicorn
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from api_shim import bootstrap
from api_shim.settings import ShimSettings
from bench.pooled import PooledHotView


def app(constant: Path, reader: str) -> Starlette:
    """The shim's own app with the null route in front."""
    settings = ShimSettings()  # type: ignore[call-arg] # filled from the environment
    if reader == "pooled":
        bootstrap.__dict__["HotView"] = PooledHotView
    made = bootstrap.serve(settings)
    body = constant.read_bytes()

    async def null(_: Request) -> Response:
        return Response(body, media_type="application/json")

    made.router.routes.insert(0, Route("/null", null))
    return made


def main(port: str, constant: str, reader: str) -> None:
    """Serves with the shim's own uvicorn settings until stopped."""
    uvicorn.run(
        app(Path(constant), reader),
        host="127.0.0.1",
        port=int(port),
        log_level="warning",
        access_log=False,
        server_header=False,
        date_header=False,
        timeout_graceful_shutdown=10,
    )


if __name__ == "__main__":
    main(*sys.argv[1:])
