"""Registered secrets: values go in sealed and never come out."""

import re

from starlette.requests import Request
from starlette.responses import Response

from api_shim.database import WRITE_S, patient
from api_shim.doors.body import JSON, parse_json, read_bytes
from api_shim.doors.request import options, path_id
from api_shim.keyring import Caller
from api_shim.parts import Parts
from foreword.entry import compact
from foreword.errors import NotFound, ValidationError

_ID = re.compile(r"[A-Za-z0-9._-]{1,64}")
SHORTEST, LONGEST = 8, 4096


@patient(WRITE_S)
async def put_secret(request: Request, caller: Caller, parts: Parts) -> Response:
    """``PUT /v1/secrets/{secretId}``: later writes are redacted; a job sweeps what is already filed."""
    given = options(request)
    secret_id = path_id(request)
    if _ID.fullmatch(secret_id) is None:
        given.refuse("secretId", "must be 1 to 64 characters of A-Z a-z 0-9 . _ -")
    raw = await read_bytes(request, parts.settings.max_body_bytes, JSON)
    value = given.finish(lambda: _value(parse_json(raw)))
    async with parts.database.transaction(caller.tenant) as transaction:
        rows = await transaction.run(
            "put_secret", {"id": secret_id, "sealed": parts.sealer.seal(value.encode())}
        )
    parts.bell.jobs(caller.tenant)
    return Response(status_code=204, headers={"Location": f"/v1/memory/jobs/{rows[0]['job_id']}"})


@patient(WRITE_S)
async def delete_secret(request: Request, caller: Caller, parts: Parts) -> Response:
    """``DELETE /v1/secrets/{secretId}``: later writes are not redacted by it; what is redacted stays so."""
    options(request).close()
    secret_id = path_id(request)
    if _ID.fullmatch(secret_id) is None:
        raise NotFound
    async with parts.database.transaction(caller.tenant) as transaction:
        rows = await transaction.run("delete_secret", {"id": secret_id})
    if rows[0]["n"] == 0:
        raise NotFound
    return Response(status_code=204)


async def list_secrets(request: Request, caller: Caller, parts: Parts) -> Response:
    """``GET /v1/secrets``: ids only."""
    options(request).close()
    rows = await parts.database.read(caller.tenant, "secret_ids", {})
    return Response(compact({"secrets": [row["secret_id"] for row in rows]}), media_type="application/json")


def _value(body: object) -> str:
    if not isinstance(body, dict) or set(body) != {"value"}:
        raise ValidationError.of("body", 'must be {"value": ...} and nothing else')
    value = body["value"]
    if not isinstance(value, str) or not SHORTEST <= len(value) <= LONGEST:
        raise ValidationError.of("value", f"must be a string of {SHORTEST} to {LONGEST} characters")
    if re.search(r"[\x00\ud800-\udfff]", value) is not None:
        raise ValidationError.of("value", "must not hold U+0000 or a lone surrogate")
    return value
