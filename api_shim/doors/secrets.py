"""Registered secrets: values go in sealed and never come out."""

import re

from starlette.requests import Request
from starlette.responses import Response

from api_shim.doors.body import read_json
from api_shim.keyring import Caller
from api_shim.options import single_options
from api_shim.parts import Parts
from foreword.entry import compact
from foreword.errors import Field, NotFound, ValidationError

_ID = re.compile(r"[A-Za-z0-9._-]{1,64}")
_SHORTEST, _LONGEST = 8, 4096


async def put_secret(request: Request, caller: Caller, parts: Parts) -> Response:
    """``PUT /v1/secrets/{secretId}``: later writes are redacted; a job sweeps what is already filed."""
    single_options(request.query_params.multi_items(), {})
    body = await read_json(request, parts.settings.max_body_bytes)
    secret_id, value = _checked(request.path_params["id"], body)
    async with parts.database.transaction(caller.tenant) as transaction:
        rows = await transaction.run(
            "put_secret", {"id": secret_id, "sealed": parts.sealer.seal(value.encode())}
        )
    parts.bell.jobs(caller.tenant)
    return Response(status_code=204, headers={"Location": f"/v1/memory/jobs/{rows[0]['job_id']}"})


async def delete_secret(request: Request, caller: Caller, parts: Parts) -> Response:
    """``DELETE /v1/secrets/{secretId}``: later writes are not redacted by it; what is redacted stays so."""
    single_options(request.query_params.multi_items(), {})
    secret_id = request.path_params["id"]
    if _ID.fullmatch(secret_id) is None:
        raise NotFound
    async with parts.database.transaction(caller.tenant) as transaction:
        rows = await transaction.run("delete_secret", {"id": secret_id})
    if rows[0]["n"] == 0:
        raise NotFound
    return Response(status_code=204)


async def list_secrets(request: Request, caller: Caller, parts: Parts) -> Response:
    """``GET /v1/secrets``: ids only."""
    single_options(request.query_params.multi_items(), {})
    rows = await parts.database.read(caller.tenant, "secret_ids", {})
    return Response(compact({"secrets": [row["secret_id"] for row in rows]}), media_type="application/json")


def _checked(secret_id: str, body: object) -> tuple[str, str]:
    bad = []
    value = body.get("value") if isinstance(body, dict) else None
    if _ID.fullmatch(secret_id) is None:
        bad.append(Field("secretId", "must be 1 to 64 characters of A-Z a-z 0-9 . _ -"))
    if not isinstance(body, dict) or set(body) != {"value"}:
        bad.append(Field("body", 'must be {"value": ...} and nothing else'))
    elif not isinstance(value, str) or not _SHORTEST <= len(value) <= _LONGEST:
        bad.append(Field("value", f"must be a string of {_SHORTEST} to {_LONGEST} characters"))
    elif "\x00" in value or any("\ud800" <= c <= "\udfff" for c in value):
        bad.append(Field("value", "must not hold U+0000 or a lone surrogate"))
    if bad or not isinstance(value, str):
        raise ValidationError(bad)
    return secret_id, value
