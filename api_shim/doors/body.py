"""Request bodies: bounded, UTF-8, JSON, or refused."""

import json
from typing import Any, NoReturn

from starlette.requests import Request

from foreword.errors import PayloadTooLarge, UnsupportedMediaType, ValidationError


async def read_bytes(request: Request, most: int, *media: str) -> bytes:
    """The body, at most ``most`` bytes long and of one of these media types."""
    given = request.headers.get("content-type", "").partition(";")[0].strip().lower()
    if given not in media:
        raise UnsupportedMediaType(f"The body must be {' or '.join(media)}.")
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


async def read_json(request: Request, most: int) -> Any:
    """The body as JSON; ValidationError names ``body`` when it is not."""
    return parse_json(await read_bytes(request, most, "application/json"), "body")


def parse_json(raw: bytes, name: str) -> Any:
    """Strict JSON: UTF-8, no NaN, no Infinity."""
    try:
        return json.loads(raw.decode(), parse_constant=_refuse)
    except (ValueError, RecursionError) as error:
        raise ValidationError.of(name, "must be JSON in UTF-8") from error


def _refuse(_: str) -> NoReturn:
    raise ValueError
