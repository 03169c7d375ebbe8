"""Whole memories: forgotten, exported, imported, counted; their events and jobs."""

import uuid
from collections.abc import AsyncIterator
from datetime import datetime
from typing import Any

from starlette.requests import Request
from starlette.responses import Response, StreamingResponse

from api_shim.doors.body import parse_json, read_bytes
from api_shim.doors.entries import reachable
from api_shim.keyring import Caller
from api_shim.options import single_options
from api_shim.parts import Parts
from api_shim.sources.recent import draft_fields
from foreword.draft import Draft, parse_draft
from foreword.entry import compact
from foreword.errors import Conflict, Field, NotFound, ValidationError
from foreword.instant import from_datetime, from_wire, now_ms, to_datetime, to_wire
from foreword.scope import Scope

_PAGE = 500
NDJSON = "application/x-ndjson"


async def forget(request: Request, caller: Caller, parts: Parts) -> Response:
    """``DELETE /v1/memory``: by tag, by age, or everything of a ref."""
    given = single_options(request.query_params.multi_items(), {"memoryRef": 0, "tag": 256, "before": 64})
    before = None
    if "before" in given:
        try:
            before = from_wire(given["before"])
        except ValueError as error:
            raise ValidationError.of("before", "must be an RFC 3339 instant with a zone") from error
    scope = reachable(caller, given["memoryRef"])
    removed = 0 if scope is None else await parts.remover.forget(scope, given.get("tag"), before)
    return _json({"removed": removed})


async def export(request: Request, caller: Caller, parts: Parts) -> Response:
    """``GET /v1/memory/export``: JSON Lines, oldest first, that import reads back."""
    given = single_options(request.query_params.multi_items(), {"memoryRef": 0})
    scope = reachable(caller, given["memoryRef"])
    first = [] if scope is None else await _export_page(parts, scope, 0)
    return StreamingResponse(_lines(parts, scope, first), media_type=NDJSON)


async def _lines(parts: Parts, scope: Scope | None, rows: list[dict[str, Any]]) -> AsyncIterator[bytes]:
    while rows and scope is not None:
        for row in rows:
            yield compact({"memoryRef": scope.memory_ref} | draft_fields(row)) + b"\n"
        rows = await _export_page(parts, scope, rows[-1]["seq"]) if len(rows) == _PAGE else []


async def _export_page(parts: Parts, scope: Scope, behind: object) -> list[dict[str, Any]]:
    params = {
        "ref": scope.memory_ref,
        "behind": behind,
        "now": to_datetime(now_ms()),
        "limit": _PAGE,
    }
    return await parts.database.read(scope.tenant, "export", params)


async def import_entries(request: Request, caller: Caller, parts: Parts) -> Response:
    """``POST /v1/memory/import``: export lines with their ids, order and ``createdAt``; all or none."""
    single_options(request.query_params.multi_items(), {})
    raw = await read_bytes(request, parts.settings.max_body_bytes, NDJSON, "application/json")
    drafts: list[Draft] = []
    bad: list[Field] = []
    for number, line in enumerate(raw.split(b"\n"), start=1):
        if line.strip():
            try:
                drafts.append(_parse_line(line, parts, caller))
            except ValidationError as error:
                bad += [Field(f"line[{number}].{f.field}", f.reason) for f in error.fields]
    if not drafts and not bad:
        bad = [Field("body", "must hold at least one line")]
    if bad:
        raise ValidationError(bad[:100])
    try:
        receipts = await parts.acceptor.accept(caller.tenant, drafts)
    except Conflict as error:
        index = (error.details or {}).get("index", 0)
        raise Conflict(details={"line": index + 1, "field": "id"}) from error
    return _json({"accepted": len(receipts), "position": receipts[-1].to_wire()["position"]}, 202)


def _parse_line(line: bytes, parts: Parts, caller: Caller) -> Draft:
    draft = parse_draft(parse_json(line, "body"), parts.settings.limits(), imported=True)
    if not caller.may_reach(draft.memory_ref):
        raise ValidationError.of("memoryRef", "is not one this API key is bound to")
    return draft


async def stats(request: Request, caller: Caller, parts: Parts) -> Response:
    """``GET /v1/memory/stats``."""
    given = single_options(request.query_params.multi_items(), {"memoryRef": 0})
    scope = reachable(caller, given["memoryRef"])
    rows = []
    if scope is not None:
        params = {"ref": scope.memory_ref, "now": to_datetime(now_ms())}
        rows = await parts.database.read(scope.tenant, "stats", params)
    found = rows[0] if rows else {"entries": 0, "pending": 0, "failed": 0, "costs": None, "kinds": None}
    hot = None if scope is None else await parts.hot_view.window(scope)
    return _json(
        {
            "memoryRef": given["memoryRef"],
            "entries": found["entries"],
            "pending": found["pending"],
            "failed": found["failed"],
            "kinds": found["kinds"] or {},
            "costs": found["costs"] or {},
            "hotWindow": hot,
        }
    )


async def events(request: Request, caller: Caller, parts: Parts) -> Response:
    """``GET /v1/memory/events``: what happened, ids only, oldest first."""
    given = single_options(request.query_params.multi_items(), {"memoryRef": 0, "after": 20, "limit": 4})
    behind, limit = given.get("after", "0"), given.get("limit", "100")
    if not (behind.isascii() and behind.isdecimal()) or int(behind) >= 2**63:
        raise ValidationError.of("after", "is not an event token of this server")
    if not (limit.isascii() and limit.isdecimal()) or not 1 <= int(limit) <= 1000:
        raise ValidationError.of("limit", "must be an integer from 1 to 1000")
    scope = reachable(caller, given["memoryRef"])
    rows = []
    if scope is not None:
        params = {"ref": scope.memory_ref, "behind": int(behind), "limit": int(limit)}
        rows = await parts.database.read(scope.tenant, "events", params)
    found = [
        {"type": row["type"], "memoryRef": given["memoryRef"], "memoryId": id_, "at": _at(row["at"])}
        for row in rows
        for id_ in row["ids"]
    ]
    after = str(rows[-1]["event_seq"]) if rows else behind
    return _json({"memoryRef": given["memoryRef"], "events": found, "after": after})


def _at(moment: datetime) -> str:
    return to_wire(from_datetime(moment))


async def job(request: Request, caller: Caller, parts: Parts) -> Response:
    """``GET /v1/memory/jobs/{jobId}``."""
    single_options(request.query_params.multi_items(), {})
    try:
        job_id = str(uuid.UUID(request.path_params["id"]))
    except ValueError as error:
        raise NotFound from error
    rows = await parts.database.read(caller.tenant, "job", {"job_id": job_id})
    if not rows:
        raise NotFound
    row = rows[0]
    body = {"jobId": job_id, "status": row["status"], "progress": round(row["progress"], 4)}
    return _json(body if row["error"] is None else body | {"error": row["error"]})


def _json(body: object, status: int = 200) -> Response:
    return Response(compact(body), status_code=status, media_type="application/json")
