"""The guard before every door: who asks, may they, how long it took, and no error escapes unshaped."""

import time
from collections.abc import Awaitable, Callable

from starlette.requests import ClientDisconnect, Request
from starlette.responses import Response

from api_shim.doors.errors import error_response, unforeseen
from api_shim.keyring import Caller
from api_shim.parts import Parts
from foreword.errors import ForewordError, ValidationError

Handler = Callable[[Request, Caller, Parts], Awaitable[Response]]
OpenHandler = Callable[[Request, Parts], Awaitable[Response]]
Endpoint = Callable[[Request], Awaitable[Response]]


def guarded(handler: Handler, scope: str | None, route: str, parts: Parts) -> Endpoint:
    """An endpoint for callers whose key has ``scope`` (None: any valid key)."""

    async def inner(request: Request, opened: Parts) -> Response:
        caller = await opened.keyring.caller(request.headers.get("authorization"))
        opened.throttle.admit(f"{caller.tenant}:{caller.key_id}")
        if scope is not None:
            caller.require(scope)
        return await handler(request, caller, opened)

    return opened(inner, route, parts)


def opened(handler: OpenHandler, route: str, parts: Parts) -> Endpoint:
    """An endpoint for anybody."""

    async def endpoint(request: Request) -> Response:
        started = time.perf_counter()
        try:
            response = await handler(request, parts)
        except ForewordError as error:
            response = error_response(error)
        except ClientDisconnect:
            response = error_response(ValidationError.of("body", "ended early"))
        except Exception as error:  # noqa: BLE001 - the rim: whatever it is, it gets a shape and no words
            response = unforeseen(error)
        parts.metrics.request(route, response.status_code, time.perf_counter() - started)
        return response

    return endpoint
