"""A sealed Draft that came through the queue: opened, authenticated, and put in the inbox like any other."""

import base64
import binascii
import hashlib
import hmac
import json
import logging
import uuid
from dataclasses import dataclass

from foreword.digest import digest
from foreword.draft import parse_draft
from foreword.errors import Conflict, Forbidden, SealError, Unauthenticated, ValidationError
from foreword.instant import now_ms
from foreword.ledger.api_keys import parse_key
from foreword.ref_glob import allows
from foreword.scope import Scope
from worker.parts import Parts

log = logging.getLogger(__name__)


def accept(sealed: str, parts: Parts) -> int | None:
    """The tenant whose inbox now holds the Draft; None when it was refused, which only the log can say.

    Raises Unavailable when the ledger is away, so that the message is tried again.
    """
    try:
        payload, key = _open(sealed, parts)
        tenant = _authenticate(key, parts)
        draft = parse_draft(payload, parts.limits, now=now_ms())
        if not allows(tenant.ref_glob, draft.memory_ref):
            raise Forbidden
        draft = draft if draft.id else draft.with_id(_id_of(sealed))
        scope = Scope(tenant.number, draft.memory_ref)
        with parts.ledger.transaction(tenant.number) as filing:
            filing.accept(
                draft,
                digest=digest(parts.digest_key, scope, draft),
                sealed=parts.sealer.seal(draft.to_bytes()),
            )
    except (ValidationError, Unauthenticated, Forbidden, Conflict, SealError) as error:
        log.warning("refused a queued draft: %s", error.code)
        return None
    return tenant.number


@dataclass(frozen=True)
class _Tenant:
    number: int
    ref_glob: str | None


def _open(sealed: str, parts: Parts) -> tuple[object, object]:
    """The draft and the API key inside a seal."""
    try:
        payload = json.loads(parts.opener.open(base64.b64decode(sealed, validate=True)))
        return payload["draft"], payload["apiKey"]
    except (binascii.Error, ValueError, KeyError, TypeError) as error:
        raise ValidationError.of("payload", "is not a sealed draft") from error


def _authenticate(key: object, parts: Parts) -> _Tenant:
    presented = parse_key(key) if isinstance(key, str) else None
    if presented is None:
        raise Unauthenticated
    with parts.ledger.transaction(presented.tenant) as filing:
        found = filing.run("find_key", tenant=presented.tenant, key_id=presented.key_id).fetchone()
    if found is None or not hmac.compare_digest(bytes(found["hash"]), presented.hash):
        raise Unauthenticated
    if "write" not in found["scopes"]:
        raise Forbidden
    return _Tenant(presented.tenant, found["ref_glob"])


def _id_of(sealed: str) -> str:
    """The id of a Draft that brings none: the same for every delivery of the same message."""
    return str(uuid.UUID(bytes=hashlib.blake2b(sealed.encode(), digest_size=16).digest(), version=4))
