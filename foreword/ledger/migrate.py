"""Brings a ledger to this version: a fresh one from ``schema.sql``, an older one by numbered migrations.

Functions and grants have one copy each and are applied anew every time. Runs as the owner, under an advisory
lock, in one transaction.
"""

from importlib.resources import files

import psycopg
from psycopg import sql

from foreword.errors import ConfigurationError
from foreword.resources import text

_PACKAGE = "foreword.ledger"
_LOCK = 0x666F7265776F7264
_OLDEST_SERVER = 150000
ROLES = ("foreword_shim", "foreword_worker")


def migrations() -> list[str]:
    """Names of the numbered migrations, oldest first."""
    folder = files(_PACKAGE).joinpath("migrations")
    return sorted(entry.name for entry in folder.iterdir() if entry.name.endswith(".sql"))


def migrate(database_url: str, *, shim_password: str, worker_password: str) -> list[str]:
    """Migrates and sets the application roles' passwords; the names of what was applied."""
    with psycopg.connect(database_url) as conn, conn.transaction():
        if conn.info.server_version < _OLDEST_SERVER:
            raise ConfigurationError("PostgreSQL 15 or newer is needed.")
        conn.execute("SELECT pg_advisory_xact_lock(%s)", (_LOCK,))
        applied = apply(conn)
        for role, password in zip(ROLES, (shim_password, worker_password), strict=True):
            conn.execute(
                sql.SQL("ALTER ROLE {} PASSWORD {}").format(sql.Identifier(role), sql.Literal(password))
            )
    return applied


def apply(conn: psycopg.Connection, *, from_schema: bool = True) -> list[str]:
    """Applies what is missing; without ``from_schema`` a fresh ledger takes the migrations' road too."""
    conn.execute("CREATE EXTENSION IF NOT EXISTS vector")
    conn.execute(
        "CREATE TABLE IF NOT EXISTS migrations (name text PRIMARY KEY, applied_at timestamptz DEFAULT now())"
    )
    known = {name for (name,) in conn.execute("SELECT name FROM migrations")}
    missing = [name for name in migrations() if name not in known]
    if from_schema and not known:
        _run(conn, text(_PACKAGE, "schema.sql"))
    else:
        for name in missing:
            _run(conn, text(_PACKAGE + ".migrations", name))
    for name in missing:
        conn.execute("INSERT INTO migrations (name) VALUES (%s)", (name,))
    _run(conn, text(_PACKAGE, "functions.sql"))
    _run(conn, text(_PACKAGE, "relevance.sql"))
    _run(conn, text(_PACKAGE, "runs.sql"))
    _run(conn, text(_PACKAGE, "roles.sql"))
    return missing


def _run(conn: psycopg.Connection, script: str) -> None:
    conn.execute(script.encode())
