"""Reading what came back: answers by their parser, errors by their code."""

import re
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
_INDEX = re.compile(r"^(entries|line)\[(\d{1,9})\]")
_AWAY = {502, 503, 504}


def error_of(response: httpx.Response, offset: int = 0) -> ForewordError:
    """The error that an answer stands for; ServerError for what is not in our tree.

    ``offset`` is added to the indices in it: a batch's own become those of all that was given.
    """
    body = _object(response)
    code, message, details = body.get("error"), body.get("message"), body.get("details")
    message = message if isinstance(message, str) else None
    details = details if isinstance(details, Mapping) else None
    if code == ValidationError.code:
        return ValidationError(_fields(details, offset), message)
    if code == RateLimited.code or response.status_code == httpx.codes.TOO_MANY_REQUESTS:
        return RateLimited(_retry_after(response), message)
    if code == Unavailable.code or response.status_code in _AWAY:
        return Unavailable(message, retry_after=_retry_after(response))
    if isinstance(code, str) and code in _BY_CODE:
        return _BY_CODE[code](message, details=details and _moved(details, offset))
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


def _moved(details: Mapping[str, Any], offset: int) -> dict[str, Any]:
    return {
        name: value + offset if name in ("index", "line") and isinstance(value, int) else value
        for name, value in details.items()
    }


def _fields(details: Mapping[str, Any] | None, offset: int) -> list[Field]:
    listed = (details or {}).get("fields")
    return [
        Field(
            _INDEX.sub(lambda found: f"{found[1]}[{int(found[2]) + offset}]", str(item.get("field", ""))),
            str(item.get("reason", "")),
        )
        for item in (listed if isinstance(listed, list) else [])
        if isinstance(item, Mapping)
    ]


def _retry_after(response: httpx.Response) -> int:
    header = response.headers.get("retry-after", "")
    return int(header) if header.isascii() and header.isdigit() else 1
