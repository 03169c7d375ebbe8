"""The reply of a read: an answer under its ETag, or 304 when the caller has it."""

from starlette.requests import Request
from starlette.responses import Response

from api_shim.answer import Answer
from api_shim.doors.body import JSON


def answered(request: Request, answer: Answer, media_type: str = JSON) -> Response:
    """An answer with its ETag, or 304 when the caller has it."""
    known = request.headers.get("if-none-match")
    if known is not None and _names(known, answer.etag):
        response = Response(status_code=304)
    else:
        response = Response(answer.body, media_type=media_type)
    response.raw_headers += ((b"etag", answer.etag.encode()), _CACHING)
    return response


def _names(known: str, etag: str) -> bool:
    tags = {tag.strip().removeprefix("W/") for tag in known.split(",")}
    return etag in tags or "*" in tags


_CACHING = (b"cache-control", b"private, no-cache")
