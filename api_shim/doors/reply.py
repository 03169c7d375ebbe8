"""The reply of a read: an answer under its ETag, or 304 when the caller has it."""

from starlette.requests import Request
from starlette.responses import Response

from api_shim.answer import Answer
from api_shim.doors.body import JSON


def answered(request: Request, answer: Answer, media_type: str = JSON) -> Response:
    """An answer with its ETag, or 304 when the caller has it."""
    headers = {"ETag": answer.etag, "Cache-Control": "private, no-cache"}
    known = request.headers.get("if-none-match")
    if known is not None:
        tags = {tag.strip().removeprefix("W/") for tag in known.split(",")}
        if answer.etag in tags or "*" in tags:
            return Response(status_code=304, headers=headers)
    return Response(answer.body, headers=headers, media_type=media_type)
