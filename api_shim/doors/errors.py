"""Errors to statuses: the one place that knows both."""

import json
import logging

from starlette.requests import Request
from starlette.responses import Response

from foreword.errors import (
    Conflict,
    Forbidden,
    ForewordError,
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

STATUSES: dict[type[ForewordError], int] = {
    ValidationError: 400,
    Unauthenticated: 401,
    Forbidden: 403,
    NotFound: 404,
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
        json.dumps(error.to_wire(), ensure_ascii=False, separators=(",", ":")).encode(),
        status_code=STATUSES.get(type(error), 500),
        headers=headers,
        media_type="application/json",
    )


def unforeseen(error: Exception) -> Response:
    """The answer of what nobody foresaw; only its type is logged, since its words may hold content."""
    log.error("unforeseen %s", type(error).__name__, exc_info=log.isEnabledFor(logging.DEBUG))
    return error_response(ForewordError("The server failed to answer."))


async def no_route(_: Request, __: Exception) -> Response:
    """No such path."""
    return error_response(NotFound("There is no such path."))


async def no_method(_: Request, error: Exception) -> Response:
    """A path that exists, under a method that does not."""
    response = error_response(NotFound("This path does not answer this method."))
    response.status_code = 405
    response.headers.update(getattr(error, "headers", None) or {})
    return response
