"""Errors to statuses: the one place that knows both."""

import logging
from typing import Any

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Match

from foreword.entry import compact
from foreword.errors import (
    Conflict,
    Forbidden,
    ForewordError,
    MethodNotAllowed,
    NotFound,
    PayloadTooLarge,
    RateLimited,
    TokenBudgetExceeded,
    Unauthenticated,
    Unavailable,
    UnsupportedMediaType,
    ValidationError,
)

log = logging.getLogger(__name__)

MOST_FIELDS = 100
"""Bad fields one answer names."""

STATUSES: dict[type[ForewordError], int] = {
    ValidationError: 400,
    Unauthenticated: 401,
    Forbidden: 403,
    NotFound: 404,
    MethodNotAllowed: 405,
    Conflict: 409,
    PayloadTooLarge: 413,
    UnsupportedMediaType: 415,
    TokenBudgetExceeded: 422,
    RateLimited: 429,
    Unavailable: 503,
}


def error_response(error: ForewordError) -> Response:
    """The answer of an error: exactly ``error``, ``message`` and, where there are any, ``details``."""
    headers = {}
    if isinstance(error, RateLimited | Unavailable):
        headers["Retry-After"] = str(error.retry_after)
    if isinstance(error, Unauthenticated):
        headers["WWW-Authenticate"] = "Bearer"
    return Response(
        compact(_bounded(error.to_wire())),
        status_code=STATUSES.get(type(error), 500),
        headers=headers,
        media_type="application/json",
    )


def _bounded(body: dict[str, Any]) -> dict[str, Any]:
    details = body.get("details") or {}
    if len(details.get("fields", ())) > MOST_FIELDS:
        body["details"] = details | {"fields": details["fields"][:MOST_FIELDS]}
    return body


def unforeseen(error: Exception) -> Response:
    """The answer of what nobody foresaw; only its type is logged, since its words may hold content."""
    log.error("unforeseen %s", type(error).__name__, exc_info=log.isEnabledFor(logging.DEBUG))
    return error_response(ForewordError("The server failed to answer."))


async def no_route(_: Request, __: Exception) -> Response:
    """No such path."""
    return error_response(NotFound("There is no such path."))


async def no_method(request: Request, _: Exception) -> Response:
    """A path that exists, under a method that does not; ``OPTIONS`` asks which ones do."""
    methods = {"OPTIONS"}
    for route in request.app.routes:
        if route.matches(request.scope)[0] is not Match.NONE:
            methods |= route.methods
    asked = request.method == "OPTIONS"
    response = Response(status_code=204) if asked else error_response(MethodNotAllowed())
    response.headers["Allow"] = ", ".join(sorted(methods))
    return response
