"""Request bodies: bounded, UTF-8, JSON, or refused."""

import asyncio
import json
from collections.abc import Callable
from typing import Any, NoReturn, TypeVar

from starlette.requests import Request

from foreword.errors import PayloadTooLarge, UnsupportedMediaType, ValidationError

T = TypeVar("T")

JSON = "application/json"
NDJSON = "application/x-ndjson"

_SMALL = 64 * 1024
"""Bytes that are read on the event loop itself."""


async def read_bytes(request: Request, most: int, *media: str) -> bytes:
    """The body, at most ``most`` bytes long and of one of these media types."""
    given = request.headers.get("content-type", "").partition(";")[0].strip().lower()
    if given not in media:
        raise UnsupportedMediaType(f"The body must be {' or '.join(media)}.")
    if request.headers.get("content-encoding", "identity").strip().lower() != "identity":
        raise UnsupportedMediaType("The body must not be encoded.")
    length = request.headers.get("content-length", "0")
    if length.isdecimal() and int(length) > most:
        raise PayloadTooLarge(details={"maxBytes": most})
    pieces, size = [], 0
    async for piece in request.stream():
        size += len(piece)
        if size > most:
            raise PayloadTooLarge(details={"maxBytes": most})
        pieces.append(piece)
    return b"".join(pieces)


async def apart(raw: bytes, read: Callable[[], T]) -> T:
    """What ``read`` makes of a body: a large one off the event loop, so that others need not wait for it."""
    return read() if len(raw) <= _SMALL else await asyncio.to_thread(read)


def parse_json(raw: bytes) -> Any:
    """Strict JSON: UTF-8, no NaN, no Infinity, no name twice in an object; ValidationError names ``body``."""
    try:
        return json.loads(raw.decode(), parse_constant=_refuse, object_pairs_hook=_object)
    except (ValueError, RecursionError) as error:
        raise ValidationError.of("body", "must be JSON in UTF-8, with no name twice in an object") from error


def _refuse(_: str) -> NoReturn:
    raise ValueError


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) != len(pairs):
        raise ValueError
    return found
