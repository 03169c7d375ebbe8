"""The keyring: whose a presented API key is, and what it may do.

Verdicts are kept for a few seconds, so that a revoked key stops working soon; while the ledger is away a
known verdict is honoured for ten minutes, and an unknown key gets Unavailable rather than a refusal.
"""

import hashlib
import hmac
import time
from dataclasses import dataclass, replace

from api_shim.database import Database
from foreword.errors import Forbidden, Unauthenticated, Unavailable
from foreword.ledger.api_keys import PresentedKey, parse_key
from foreword.ref_glob import allows

FRESH_SECONDS = 4.0
RETRY_SECONDS = 1.0
HONOURED_SECONDS = 600.0

_MOST = 10_000


@dataclass(frozen=True, slots=True)
class Caller:
    """Who asks: a tenant through a key with scopes, perhaps bound to some memoryRefs."""

    tenant: int
    tenant_name: str
    key_id: str
    scopes: frozenset[str]
    ref_glob: str | None

    def require(self, scope: str) -> None:
        """Forbidden when the key lacks this scope."""
        if scope not in self.scopes:
            raise Forbidden(details={"scopeRequired": scope})

    def may_reach(self, memory_ref: str) -> bool:
        """Whether the key is bound to no refs, or to this one among others."""
        return allows(self.ref_glob, memory_ref)


@dataclass(frozen=True, slots=True)
class _Verdict:
    """A caller the ledger vouched for at ``verified``; asked again after ``due`` (monotonic seconds)."""

    caller: Caller
    verified: float
    due: float


class Keyring:
    """Looks keys up in the ledger and remembers the verdict, under a digest of the header that asked."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self._known: dict[bytes, _Verdict] = {}

    async def caller(self, authorization: str | None) -> Caller:
        """The caller of an ``Authorization`` header; Unauthenticated for anything but a living key."""
        said = hashlib.sha256((authorization or "").encode()).digest()
        now = time.monotonic()
        known = self._known.get(said)
        if known is not None and now < known.due:
            return known.caller
        scheme, _, token = (authorization or "").partition(" ")
        presented = parse_key(token.strip()) if scheme.lower() == "bearer" else None
        caller = None if presented is None else await self._verdict(said, presented, known, now)
        if caller is None:
            raise Unauthenticated
        return caller

    async def _verdict(
        self, said: bytes, presented: PresentedKey, known: _Verdict | None, now: float
    ) -> Caller | None:
        if known is not None and now - known.verified > HONOURED_SECONDS:
            known = None
        if known is not None:  # one request asks anew; those that come meanwhile do not wait for it
            self._known[said] = replace(known, due=now + RETRY_SECONDS)
        try:
            caller = await self._look_up(presented)
        except Unavailable:
            if known is None:
                raise
            return known.caller
        if caller is None:
            self._known.pop(said, None)
            return None
        if len(self._known) >= _MOST:
            self._known.pop(next(iter(self._known)))
        self._known[said] = _Verdict(caller, verified=now, due=now + FRESH_SECONDS)
        return caller

    async def _look_up(self, presented: PresentedKey) -> Caller | None:
        rows = await self._database.ask("find_key", {"tenant": presented.tenant, "key_id": presented.key_id})
        if not rows or not hmac.compare_digest(bytes(rows[0]["hash"]), presented.hash):
            return None
        return Caller(
            tenant=presented.tenant,
            tenant_name=rows[0]["tenant_name"],
            key_id=presented.key_id,
            scopes=frozenset(rows[0]["scopes"]),
            ref_glob=rows[0]["ref_glob"],
        )
