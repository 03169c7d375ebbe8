"""Reading what came back: answers by their parser, errors by their code."""

from collections.abc import Callable, Mapping
from typing import Any, TypeVar

import httpx

from foreword import errors
from foreword.errors import Field, ForewordError, RateLimited, ServerError, Unavailable, ValidationError

_T = TypeVar("_T")

_BY_CODE: dict[str, type[ForewordError]] = {
    kind.code: kind
    for kind in (
        errors.Unauthenticated,
        errors.Forbidden,
        errors.NotFound,
        errors.Conflict,
        errors.PayloadTooLarge,
        errors.UnsupportedMediaType,
        errors.TokenBudgetExceeded,
        errors.CounterUnavailable,
        errors.SealError,
    )
}
_AWAY = {502, 503, 504}


def error_of(response: httpx.Response) -> ForewordError:
    """The error an answer of status 4xx or 5xx stands for; ServerError for what is not in our tree."""
    body = _object(response)
    code, message, details = body.get("error"), body.get("message"), body.get("details")
    message = message if isinstance(message, str) else None
    details = details if isinstance(details, Mapping) else None
    if code == ValidationError.code:
        return ValidationError(_fields(details), message)
    if code == RateLimited.code or response.status_code == httpx.codes.TOO_MANY_REQUESTS:
        return RateLimited(_retry_after(response), message)
    if code == Unavailable.code or response.status_code in _AWAY:
        return Unavailable(message, retry_after=_retry_after(response))
    if isinstance(code, str) and code in _BY_CODE:
        return _BY_CODE[code](message, details=details)
    return ServerError(
        message or f"The server answered with status {response.status_code}.",
        details={"status": response.status_code} | ({"code": code} if isinstance(code, str) else {}),
    )


def read(response: httpx.Response, parse: Callable[[httpx.Response], _T]) -> _T:
    """The parsed answer; ServerError when it has not the shape of one."""
    try:
        return parse(response)
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        raise ServerError(
            "The answer has not the shape this client knows.", details={"status": response.status_code}
        ) from error


def _object(response: httpx.Response) -> Mapping[str, Any]:
    try:
        body = response.json()
    except ValueError:
        return {}
    return body if isinstance(body, Mapping) else {}


def _fields(details: Mapping[str, Any] | None) -> list[Field]:
    listed = (details or {}).get("fields")
    return [
        Field(str(item.get("field", "")), str(item.get("reason", "")))
        for item in (listed if isinstance(listed, list) else [])
        if isinstance(item, Mapping)
    ]


def _retry_after(response: httpx.Response) -> int:
    header = response.headers.get("retry-after", "")
    return int(header) if header.isascii() and header.isdigit() else 1
