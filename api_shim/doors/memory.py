"""Whole memories: forgotten, exported, imported, counted; their events and jobs."""

import re
from collections.abc import AsyncIterator
from datetime import datetime
from typing import Any

from starlette.requests import Request
from starlette.responses import Response, StreamingResponse

from api_shim.answer import shown
from api_shim.doors.body import JSON, NDJSON, apart, parse_json, read_bytes
from api_shim.doors.request import options, path_id, reachable, require_reach
from api_shim.given import Given
from api_shim.keyring import Caller
from api_shim.options import MAX_TAG
from api_shim.parts import Parts
from api_shim.sources.recent import draft_fields
from foreword.draft import Draft, parse_draft
from foreword.entry import compact
from foreword.errors import Conflict, Field, NotFound, ValidationError
from foreword.instant import from_datetime, from_wire, now_ms, to_datetime, to_wire
from foreword.scope import Scope

_PAGE = 500
_JOB_ID = re.compile(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}")
MAX_EVENTS = 1000
_EVENTS = 100


async def forget(request: Request, caller: Caller, parts: Parts) -> Response:
    """``DELETE /v1/memory``: by tag, by age, or everything of a ref."""
    given = options(request, "memoryRef", "tag", "before")
    memory_ref, tag = given.memory_ref(), given.text("tag", MAX_TAG)
    before = given.take(lambda: _instant(given, "before"))
    given.close()
    scope = reachable(caller, memory_ref)
    removed = 0 if scope is None else await parts.remover.forget(scope, tag, before)
    return _json({"removed": removed})


def _instant(given: Given, name: str) -> int | None:
    text = given.values.get(name)
    try:
        return None if text is None else from_wire(text)
    except ValueError as error:
        raise ValidationError.of(name, "must be an RFC 3339 instant with a zone") from error


async def export(request: Request, caller: Caller, parts: Parts) -> Response:
    """``GET /v1/memory/export``: JSON Lines, oldest first, that import reads back."""
    memory_ref = _only_ref(request)
    if request.method == "HEAD":
        return Response(media_type=NDJSON)
    scope = reachable(caller, memory_ref)
    first = [] if scope is None else await _export_page(parts, scope, 0)
    return StreamingResponse(_lines(parts, scope, first), media_type=NDJSON)


def _only_ref(request: Request) -> str:
    given = options(request, "memoryRef")
    memory_ref = given.memory_ref()
    given.close()
    return memory_ref


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
    given = options(request)
    raw = await read_bytes(request, parts.settings.max_body_bytes, NDJSON, JSON)
    numbers, drafts = await apart(raw, lambda: given.finish(lambda: _parse_lines(raw, parts)))
    require_reach(caller, drafts)
    try:
        receipts = await parts.acceptor.accept(caller.tenant, drafts, revive=True)
    except Conflict as error:
        index = (error.details or {}).get("index", 0)
        raise Conflict(details={"line": numbers[index], "field": "id"}) from error
    return _json({"accepted": len(receipts), "position": receipts[-1].to_wire()["position"]}, 202)


def _parse_lines(raw: bytes, parts: Parts) -> tuple[list[int], list[Draft]]:
    """The Drafts and the numbers of the lines they stand on."""
    numbers, drafts, bad, limits = [], [], [], parts.settings.limits()
    for number, line in enumerate(raw.split(b"\n"), start=1):
        if line.strip():
            try:
                drafts.append(parse_draft(parse_json(line), limits, imported=True))
                numbers.append(number)
            except ValidationError as error:
                bad += [Field(f"line[{number}].{f.field}", f.reason) for f in error.fields]
    if not drafts and not bad:
        bad = [Field("body", "must hold at least one line")]
    if bad:
        raise ValidationError(bad)
    return numbers, drafts


async def stats(request: Request, caller: Caller, parts: Parts) -> Response:
    """``GET /v1/memory/stats``."""
    memory_ref = _only_ref(request)
    scope = reachable(caller, memory_ref)
    rows = []
    if scope is not None:
        params = {"ref": scope.memory_ref, "now": to_datetime(now_ms())}
        rows = await parts.database.read(scope.tenant, "stats", params)
    found = rows[0] if rows else {"entries": 0, "pending": 0, "failed": 0, "costs": None, "kinds": None}
    hot = None if scope is None else await parts.hot_view.window(scope)
    return _json(
        {
            "memoryRef": shown(memory_ref),
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
    given = options(request, "memoryRef", "after", "limit")
    memory_ref = given.memory_ref()
    behind = given.integer("after", least=0) or 0
    limit = given.integer("limit", least=1, most=MAX_EVENTS) or _EVENTS
    given.close()
    scope = reachable(caller, memory_ref)
    rows = []
    if scope is not None:
        params = {"ref": scope.memory_ref, "behind": behind, "limit": limit}
        rows = await parts.database.read(scope.tenant, "events", params)
    ref = shown(memory_ref)
    found = [
        {"type": row["type"], "memoryRef": ref, "memoryId": id_, "at": _at(row["at"])}
        for row in rows
        for id_ in row["ids"]
    ]
    after = str(rows[-1]["event_seq"] if rows else behind)
    return _json({"memoryRef": ref, "events": found, "after": after})


def _at(moment: datetime) -> str:
    return to_wire(from_datetime(moment))


async def job(request: Request, caller: Caller, parts: Parts) -> Response:
    """``GET /v1/memory/jobs/{jobId}``."""
    options(request).close()
    job_id = path_id(request)
    if _JOB_ID.fullmatch(job_id) is None:
        raise NotFound
    rows = await parts.database.read(caller.tenant, "job", {"job_id": job_id})
    if not rows:
        raise NotFound
    row = rows[0]
    body = {"jobId": job_id, "status": row["status"], "progress": round(row["progress"], 4)}
    return _json(body if row["error"] is None else body | {"error": row["error"]})


def _json(body: object, status: int = 200) -> Response:
    return Response(compact(body), status_code=status, media_type="application/json")
