"""Test seams: what a conformance suite may reach that no runtime needs."""

from typing import Any, Final

from starlette.requests import Request
from starlette.responses import Response

from api_shim.doors.body import JSON, apart, parse_json, read_bytes
from api_shim.doors.request import options, require_reach
from api_shim.keyring import Caller
from api_shim.parts import Parts
from foreword.draft import Draft, parse_draft
from foreword.entry import compact
from foreword.errors import Field, Unavailable, ValidationError
from foreword.instant import now_ms

_PATIENCE_S: Final = 10.0
_ENTRY: Final = frozenset({"id", "content", "tags"})


async def seed(request: Request, caller: Caller, parts: Parts) -> Response:
    """``POST /v1/test/memory/seed``: entries under ids of the caller's, readable when this answers."""
    options(request).close()
    raw = await read_bytes(request, parts.settings.max_body_bytes, JSON)
    drafts = await apart(raw, lambda: _drafts(parse_json(raw), parts))
    require_reach(caller, drafts)
    receipts = await parts.acceptor.accept(caller.tenant, drafts)
    waited = await parts.acceptor.wait(receipts, _PATIENCE_S)
    if any(receipt.status != "filed" for receipt in waited):
        raise Unavailable("What was seeded cannot be read yet.")
    body = {"memoryRef": drafts[0].memory_ref, "ids": [receipt.id for receipt in receipts]}
    return Response(compact(body), status_code=201, media_type="application/json")


def _drafts(body: Any, parts: Parts) -> list[Draft]:
    entries = body.get("entries") if isinstance(body, dict) else None
    most = parts.settings.max_batch
    if not isinstance(entries, list) or not 1 <= len(entries) <= most:
        raise ValidationError.of("entries", f"must be a list of 1 to {most} entries")
    drafts, bad, limits, now = list[Draft](), list[Field](), parts.settings.limits(), now_ms()
    for index, item in enumerate(entries):
        known = {name: item[name] for name in _ENTRY & item.keys()} if isinstance(item, dict) else {}
        try:
            drafts.append(parse_draft(known | {"memoryRef": body.get("memoryRef")}, limits, now=now))
        except ValidationError as error:
            bad += [Field(_named(index, field.field), field.reason) for field in error.fields]
    if bad:
        raise ValidationError(list(dict.fromkeys(bad)))
    return drafts


def _named(index: int, field: str) -> str:
    return field if field == "memoryRef" else f"entries[{index}].{field}"
