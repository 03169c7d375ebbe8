"""Tenants: who owns memory. Administration runs as the ledger's owner."""

import re
from dataclasses import dataclass
from datetime import datetime

import psycopg
from psycopg.rows import class_row

from foreword.errors import ValidationError

PII_KINDS = ("email", "phone", "card", "iban")

_NAME = re.compile(r"[a-z0-9][a-z0-9_-]{0,63}")


@dataclass(frozen=True, kw_only=True)
class Tenant:
    """A tenant and its choices."""

    tenant_id: int
    name: str
    pii: list[str]
    created_at: datetime


def ensure_tenant(database_url: str, name: str) -> int:
    """The number of the tenant of this name, made if there is none."""
    if _NAME.fullmatch(name) is None:
        raise ValidationError.of(
            "name", "must be 1 to 64 characters of a-z 0-9 _ -, starting with a letter or digit"
        )
    with psycopg.connect(database_url) as conn:
        conn.execute("INSERT INTO tenants (name) VALUES (%s) ON CONFLICT DO NOTHING", (name,))
        row = conn.execute("SELECT tenant_id FROM tenants WHERE name = %s", (name,)).fetchone()
    if row is None:
        raise RuntimeError("a tenant that was just made is not there")
    return int(row[0])


def remove_tenant(database_url: str, name: str) -> bool:
    """Removes a tenant with its keys and everything it holds; whether there was one."""
    with psycopg.connect(database_url) as conn:
        return conn.execute("DELETE FROM tenants WHERE name = %s", (name,)).rowcount == 1


def list_tenants(database_url: str) -> list[Tenant]:
    """Every tenant, oldest first."""
    with psycopg.connect(database_url, row_factory=class_row(Tenant)) as conn:
        return conn.execute(
            "SELECT tenant_id, name, pii, created_at FROM tenants ORDER BY tenant_id"
        ).fetchall()


def set_pii(database_url: str, name: str, kinds: list[str]) -> bool:
    """Chooses which personal data is redacted for a tenant; whether the tenant exists."""
    unknown = sorted(set(kinds) - set(PII_KINDS))
    if unknown:
        raise ValidationError.of("pii", "must be of " + ", ".join(PII_KINDS))
    with psycopg.connect(database_url) as conn:
        return (
            conn.execute("UPDATE tenants SET pii = %s WHERE name = %s", (sorted(set(kinds)), name)).rowcount
            == 1
        )
