"""API keys: ``fw_<tenant hex>_<key id>_<secret>``. Shown once; the ledger keeps SHA-256 of the secret.

The secret has 256 random bits, so that a fast hash is enough and a lookup can lead with the tenant.
"""

import hashlib
import re
import secrets
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

import psycopg
from psycopg.rows import class_row

from foreword.errors import NotFound, ValidationError

SCOPES = ("read", "write", "admin")

_KEY = re.compile(r"fw_([0-9a-f]{1,8})_([0-9a-f]{8})_([A-Za-z0-9_-]{43})")


@dataclass(frozen=True, slots=True)
class PresentedKey:
    """A key as a caller presents it: which one it claims to be, and the hash of its secret."""

    tenant: int
    key_id: str
    hash: bytes


@dataclass(frozen=True, kw_only=True)
class ApiKey:
    """A key as it is listed: everything but the secret."""

    key_id: str
    tenant: str
    scopes: list[str]
    ref_glob: str | None
    created_at: datetime
    revoked_at: datetime | None


def parse_key(text: str) -> PresentedKey | None:
    """The parts of a key, or None when it has not the shape of one."""
    match = _KEY.fullmatch(text)
    if match is None or int(match[1], 16) >= 2**31:
        return None
    return PresentedKey(int(match[1], 16), match[2], hashlib.sha256(match[3].encode()).digest())


def create_key(
    database_url: str, tenant_name: str, scopes: Sequence[str], ref_glob: str | None = None
) -> str:
    """A new key of a tenant; the only time it can be seen."""
    if not scopes or not set(scopes) <= set(SCOPES):
        raise ValidationError.of("scope", "must be of " + ", ".join(SCOPES))
    key_id, secret = secrets.token_hex(4), secrets.token_urlsafe(32)
    with psycopg.connect(database_url) as conn:
        row = conn.execute("SELECT tenant_id FROM tenants WHERE name = %s", (tenant_name,)).fetchone()
        if row is None:
            raise NotFound("There is no tenant of this name.")
        conn.execute(
            "INSERT INTO api_keys (tenant_id, key_id, hash, scopes, ref_glob) VALUES (%s, %s, %s, %s, %s)",
            (row[0], key_id, hashlib.sha256(secret.encode()).digest(), sorted(set(scopes)), ref_glob),
        )
    return f"fw_{row[0]:x}_{key_id}_{secret}"


def list_keys(database_url: str, tenant_name: str | None = None) -> list[ApiKey]:
    """Keys of one tenant or of all, oldest first, revoked ones too."""
    with psycopg.connect(database_url, row_factory=class_row(ApiKey)) as conn:
        return conn.execute(
            """SELECT k.key_id, t.name AS tenant, k.scopes, k.ref_glob, k.created_at, k.revoked_at
               FROM api_keys k JOIN tenants t USING (tenant_id)
               WHERE %(name)s::text IS NULL OR t.name = %(name)s
               ORDER BY k.created_at, k.key_id""",
            {"name": tenant_name},
        ).fetchall()


def revoke_key(database_url: str, key_id: str) -> bool:
    """Revokes a key; it stops working within 5 s everywhere. Whether there was such a living key."""
    with psycopg.connect(database_url) as conn:
        return (
            conn.execute(
                "UPDATE api_keys SET revoked_at = now() WHERE key_id = %s AND revoked_at IS NULL", (key_id,)
            ).rowcount
            > 0
        )
