"""Entries: written, listed, fetched, removed."""

import re
from typing import Any

from starlette.datastructures import QueryParams
from starlette.requests import Request
from starlette.responses import Response

from api_shim.accept import Receipt
from api_shim.answer import Answer
from api_shim.doors.body import read_json
from api_shim.keyring import Caller
from api_shim.options import read_options, single_options
from api_shim.parts import Parts
from api_shim.sources.recent import fragment, full_fragment
from foreword.draft import Draft, parse_draft
from foreword.entry import compact
from foreword.errors import Field, Forbidden, NotFound, ValidationError
from foreword.instant import now_ms, to_datetime
from foreword.scope import Scope, is_readable_ref

_SECONDS = re.compile(r"[0-9]{1,2}(\.[0-9]{1,3})?")
_LONGEST_WAIT = 30.0


async def list_entries(request: Request, caller: Caller, parts: Parts) -> Response:
    """``GET /v1/memory/entries``: the newest that fit."""
    options = read_options(request.query_params.multi_items(), parts.settings.token_counter)
    scope = Scope(caller.tenant, options.memory_ref)
    reached = reachable(caller, options.memory_ref) is not None
    return answered(request, await parts.reader.list(scope, options, reachable=reached))


async def get_entry(request: Request, caller: Caller, parts: Parts) -> Response:
    """``GET /v1/memory/entries/{id}``."""
    given = single_options(request.query_params.multi_items(), {"memoryRef": 0, "fields": 3})
    if given.get("fields", "all") != "all":
        raise ValidationError.of("fields", "must be all")
    scope = reachable(caller, given["memoryRef"])
    entry_id = path_id(request)
    if scope is None or entry_id is None:
        raise NotFound
    rows = await parts.database.read(
        scope.tenant,
        "entry",
        {"ref": scope.memory_ref, "id": entry_id, "now": to_datetime(now_ms())},
    )
    if not rows:
        raise NotFound
    entry = (full_fragment if "fields" in given else fragment)(rows[0])
    ref = compact(scope.memory_ref)
    return answered(request, Answer.of(b'{"memoryRef":' + ref + b',"entry":' + entry + b"}"))


async def write_entry(request: Request, caller: Caller, parts: Parts) -> Response:
    """``POST /v1/memory/entries``: 202 once committed; with ``wait`` 201 once it can be read."""
    seconds = _wait(request.query_params)
    body = await read_json(request, parts.settings.max_body_bytes)
    draft = parse_draft(body, parts.settings.limits(), now=now_ms())
    _require_reach(caller, [draft])
    receipts = await parts.acceptor.accept(caller.tenant, [draft])
    if seconds > 0:
        receipts = await parts.acceptor.wait(receipts, seconds)
    return _json(receipts[0].to_wire(), _WRITE_STATUS[receipts[0].status])


async def write_batch(request: Request, caller: Caller, parts: Parts) -> Response:
    """``POST /v1/memory/entries:batch``: all or none; a refusal names the index."""
    seconds = _wait(request.query_params)
    body = await read_json(request, parts.settings.max_body_bytes)
    drafts = _parse_batch(body, parts)
    _require_reach(caller, drafts)
    receipts = await parts.acceptor.accept(caller.tenant, drafts)
    if seconds > 0:
        waited = {(r.scope, r.id): r for r in await parts.acceptor.wait(receipts, seconds)}
        receipts = [waited[receipt.scope, receipt.id] for receipt in receipts]
    return _json({"receipts": [receipt.to_wire() for receipt in receipts]}, _batch_status(receipts))


async def get_receipt(request: Request, caller: Caller, parts: Parts) -> Response:
    """``GET /v1/memory/receipts/{id}``."""
    given = single_options(request.query_params.multi_items(), {"memoryRef": 0})
    scope = reachable(caller, given["memoryRef"])
    entry_id = path_id(request)
    receipt = None
    if scope is not None and entry_id is not None:
        receipt = await parts.acceptor.receipt(scope, entry_id)
    if receipt is None:
        raise NotFound
    return _json(receipt.to_wire())


async def remove_entry(request: Request, caller: Caller, parts: Parts) -> Response:
    """``DELETE /v1/memory/entries/{id}``: filed or not, never served again once this has answered."""
    given = single_options(request.query_params.multi_items(), {"memoryRef": 0})
    scope = reachable(caller, given["memoryRef"])
    entry_id = path_id(request)
    if scope is None or entry_id is None:
        raise NotFound
    await parts.remover.remove(scope, entry_id)
    return _json({"memoryRef": scope.memory_ref, "id": entry_id, "removed": True})


def reachable(caller: Caller, memory_ref: str) -> Scope | None:
    """The scope of a ref, or None where it can hold nothing for this caller."""
    if not is_readable_ref(memory_ref) or not caller.may_reach(memory_ref):
        return None
    return Scope(caller.tenant, memory_ref)


def path_id(request: Request) -> str | None:
    """The id in the path, or None when no id can look like that."""
    found: str = request.path_params["id"]
    return found if re.fullmatch(r"[A-Za-z0-9._:-]{1,128}", found) else None


def answered(request: Request, answer: Answer) -> Response:
    """An answer with its ETag, or 304 when the caller has it."""
    headers = {"ETag": answer.etag, "Cache-Control": "private, no-cache"}
    known = request.headers.get("if-none-match")
    if known is not None:
        tags = {tag.strip().removeprefix("W/") for tag in known.split(",")}
        if answer.etag in tags or "*" in tags:
            return Response(status_code=304, headers=headers)
    return Response(answer.body, headers=headers, media_type="application/json")


_WRITE_STATUS = {"accepted": 202, "filed": 201, "failed": 200}


def _batch_status(receipts: list[Receipt]) -> int:
    statuses = {receipt.status for receipt in receipts}
    return _WRITE_STATUS[statuses.pop()] if len(statuses) == 1 else 202 if "accepted" in statuses else 200


def _wait(query: QueryParams) -> float:
    given = single_options(query.multi_items(), {"wait": 8})
    text = given.get("wait", "0")
    if _SECONDS.fullmatch(text) is None or float(text) > _LONGEST_WAIT:
        raise ValidationError.of("wait", "must be a number of seconds from 0 to 30")
    return float(text)


def _parse_batch(body: Any, parts: Parts) -> list[Draft]:
    if not isinstance(body, dict) or set(body) != {"entries"}:
        raise ValidationError.of("body", 'must be {"entries": [...]} and nothing else')
    entries, most = body["entries"], parts.settings.max_batch
    if not isinstance(entries, list) or not 1 <= len(entries) <= most:
        raise ValidationError.of("entries", f"must be a list of 1 to {most} entries")
    drafts, bad, now = [], [], now_ms()
    for index, item in enumerate(entries):
        try:
            drafts.append(parse_draft(item, parts.settings.limits(), now=now))
        except ValidationError as error:
            bad += [Field(f"entries[{index}].{field.field}", field.reason) for field in error.fields]
    if bad:
        raise ValidationError(bad[:100])
    return drafts


def _require_reach(caller: Caller, drafts: list[Draft]) -> None:
    if not all(caller.may_reach(draft.memory_ref) for draft in drafts):
        raise Forbidden("The API key is bound to other memories.")


def _json(body: object, status: int = 200) -> Response:
    return Response(compact(body), status_code=status, media_type="application/json")
