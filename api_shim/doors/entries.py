"""Entries: written, listed, fetched, removed."""

from typing import Any

from starlette.requests import Request
from starlette.responses import Response

from api_shim.accept import Receipt
from api_shim.answer import Answer
from api_shim.doors.body import JSON, apart, parse_json, read_bytes
from api_shim.doors.relevance import relevant
from api_shim.doors.reply import answered
from api_shim.doors.request import entry_id, options, reachable, require_reach
from api_shim.keyring import Caller
from api_shim.options import FIELDS, options_of
from api_shim.parts import Parts
from api_shim.sources.recent import fragment, full_fragment
from foreword.draft import Draft, parse_draft
from foreword.entry import compact
from foreword.errors import Field, NotFound, ValidationError
from foreword.instant import now_ms, to_datetime
from foreword.scope import Scope

LONGEST_WAIT = 30


async def list_entries(request: Request, caller: Caller, parts: Parts) -> Response:
    """``GET /v1/memory/entries``: the newest that fit."""
    query: bytes = request.scope["query_string"]
    asked = options_of(query, caller.tenant, parts.settings.token_counter)
    if asked.rank == "relevance":
        return await relevant(request, caller, parts, asked)
    scope = Scope(caller.tenant, asked.memory_ref)
    reached = reachable(caller, asked.memory_ref) is not None
    return answered(request, await parts.reader.list(scope, asked, reachable=reached))


async def get_entry(request: Request, caller: Caller, parts: Parts) -> Response:
    """``GET /v1/memory/entries/{id}``."""
    given = options(request, "memoryRef", "fields")
    memory_ref, full = given.memory_ref(), given.choice("fields", FIELDS, None) is not None
    given.close()
    scope, wanted = reachable(caller, memory_ref), entry_id(request)
    if scope is None or wanted is None:
        raise NotFound
    rows = await parts.database.read(
        scope.tenant, "entry", {"ref": scope.memory_ref, "id": wanted, "now": to_datetime(now_ms())}
    )
    if not rows:
        raise NotFound
    entry = (full_fragment if full else fragment)(rows[0])
    ref = compact(scope.memory_ref)
    return answered(request, Answer.of(b'{"memoryRef":' + ref + b',"entry":' + entry + b"}"))


async def write_entry(request: Request, caller: Caller, parts: Parts) -> Response:
    """``POST /v1/memory/entries``: 202 once committed; with ``wait`` 201 once it can be read."""
    given = options(request, "wait")
    seconds = given.number("wait", least=0, most=LONGEST_WAIT) or 0
    raw = await read_bytes(request, parts.settings.max_body_bytes, JSON)
    draft = await apart(raw, lambda: given.finish(lambda: _parse_entry(parse_json(raw), parts)))
    require_reach(caller, [draft])
    receipts = await _accept(caller, [draft], seconds, parts)
    return _json(receipts[0].to_wire(), _WRITE_STATUS[receipts[0].status])


async def write_batch(request: Request, caller: Caller, parts: Parts) -> Response:
    """``POST /v1/memory/entries:batch``: all or none; a refusal names the index."""
    given = options(request, "wait")
    seconds = given.number("wait", least=0, most=LONGEST_WAIT) or 0
    raw = await read_bytes(request, parts.settings.max_body_bytes, JSON)
    drafts = await apart(raw, lambda: given.finish(lambda: _parse_batch(parse_json(raw), parts)))
    require_reach(caller, drafts)
    receipts = await _accept(caller, drafts, seconds, parts)
    return _json({"receipts": [receipt.to_wire() for receipt in receipts]}, _batch_status(receipts))


async def get_receipt(request: Request, caller: Caller, parts: Parts) -> Response:
    """``GET /v1/memory/receipts/{id}``."""
    scope, wanted = _named(request, caller)
    receipt = None
    if scope is not None and wanted is not None:
        receipt = await parts.acceptor.receipt(scope, wanted)
    if receipt is None:
        raise NotFound
    return _json(receipt.to_wire())


async def remove_entry(request: Request, caller: Caller, parts: Parts) -> Response:
    """``DELETE /v1/memory/entries/{id}``: filed or not, never served again once this has answered."""
    scope, removed = await _remove(request, caller, parts)
    return _json({"memoryRef": scope.memory_ref, "id": removed, "removed": True})


async def remove_memory(request: Request, caller: Caller, parts: Parts) -> Response:
    """``DELETE /v1/host/foreword/memory/{memoryId}``: the same, in the words of OpenWOP's hosts."""
    scope, removed = await _remove(request, caller, parts)
    return _json({"memoryRef": scope.memory_ref, "memoryId": removed, "removed": True})


async def _remove(request: Request, caller: Caller, parts: Parts) -> tuple[Scope, str]:
    scope, wanted = _named(request, caller)
    if scope is None or wanted is None:
        raise NotFound
    await parts.remover.remove(scope, wanted)
    return scope, wanted


def _named(request: Request, caller: Caller) -> tuple[Scope | None, str | None]:
    given = options(request, "memoryRef")
    memory_ref = given.memory_ref()
    given.close()
    return reachable(caller, memory_ref), entry_id(request)


_WRITE_STATUS = {"accepted": 202, "filed": 201, "failed": 200}


def _batch_status(receipts: list[Receipt]) -> int:
    statuses = {receipt.status for receipt in receipts}
    return _WRITE_STATUS[statuses.pop()] if len(statuses) == 1 else 202 if "accepted" in statuses else 200


async def _accept(caller: Caller, drafts: list[Draft], seconds: float, parts: Parts) -> list[Receipt]:
    receipts = await parts.acceptor.accept(caller.tenant, drafts)
    if not seconds:
        return receipts
    waited = {(r.scope, r.id): r for r in await parts.acceptor.wait(receipts, seconds)}
    return [waited[receipt.scope, receipt.id] for receipt in receipts]


def _parse_entry(body: Any, parts: Parts) -> Draft:
    return parse_draft(body, parts.settings.limits(), now=now_ms())


def _parse_batch(body: Any, parts: Parts) -> list[Draft]:
    if not isinstance(body, dict) or set(body) != {"entries"}:
        raise ValidationError.of("body", 'must be {"entries": [...]} and nothing else')
    entries, most = body["entries"], parts.settings.max_batch
    if not isinstance(entries, list) or not 1 <= len(entries) <= most:
        raise ValidationError.of("entries", f"must be a list of 1 to {most} entries")
    drafts, bad, limits, now = [], [], parts.settings.limits(), now_ms()
    for index, item in enumerate(entries):
        try:
            drafts.append(parse_draft(item, limits, now=now))
        except ValidationError as error:
            bad += [Field(f"entries[{index}].{field.field}", field.reason) for field in error.fields]
    if bad:
        raise ValidationError(bad)
    return drafts


def _json(body: object, status: int = 200) -> Response:
    return Response(compact(body), status_code=status, media_type="application/json")
