"""Runs as the shim keeps them, for tests that need no door."""

from typing import Any

import psycopg

from foreword.draft import Draft
from foreword.scope import Scope
from foreword.seal import Sealer, public_key
from tests.integration.rig import Rig


def as_tenant(
    conn: psycopg.Connection[Any], tenant: int, query: str, *given: object
) -> list[tuple[Any, ...]]:
    """Rows of a query in a transaction of one tenant."""
    with conn.transaction():
        conn.execute("SELECT set_config('foreword.tenant', %s, true)", [str(tenant)])
        cursor = conn.execute(query.encode(), given)
        return cursor.fetchall() if cursor.description else []


def begin(shim: psycopg.Connection[Any], tenant: int, run: str, lease: str = "1 hour") -> str:
    """A running run."""
    as_tenant(
        shim,
        tenant,
        """INSERT INTO runs (tenant_id, run_id, workflow_id, status, lease_until)
           VALUES (current_tenant(), %s, 'flow', 'running', now() + %s::interval)""",
        run,
        lease,
    )
    return run


def end(shim: psycopg.Connection[Any], tenant: int, run: str) -> int:
    """Ends a run as its shim does; how many secrets went with it."""
    as_tenant(
        shim,
        tenant,
        "UPDATE runs SET status = 'completed', finished_at = clock_timestamp() WHERE run_id = %s",
        run,
    )
    ((gone,),) = as_tenant(shim, tenant, "SELECT forget_run_secrets(%s)", run)
    return int(gone)


def register(shim: psycopg.Connection[Any], rig: Rig, tenant: int, run: str, secret: str, value: str) -> bool:
    """Adds one value to the registry of a run."""
    sealed = Sealer(public_key(rig.seal_key)).seal(value.encode())
    call = "SELECT register_run_secrets(%s, ARRAY[%s], ARRAY[%s]::bytea[])"
    ((registered,),) = as_tenant(shim, tenant, call, run, secret, sealed)
    return bool(registered)


def draft(scope: Scope, name: str, run: str | None, content: str = "a plain note", **given: Any) -> Draft:
    """A Draft under an id, of a run."""
    return Draft(memory_ref=scope.memory_ref, id=name, content=content, run=run, **given)


def events(owner: psycopg.Connection[Any], tenant: int, run: str) -> list[tuple[int, str, dict[str, Any]]]:
    """What was told of a run, in order."""
    return owner.execute(
        "SELECT seq, type, payload FROM run_events WHERE tenant_id = %s AND run_id = %s ORDER BY seq",
        [tenant, run],
    ).fetchall()


def kept(owner: psycopg.Connection[Any], tenant: int) -> dict[str, str]:
    """Every entry of a tenant, whole, by id."""
    rows = owner.execute("SELECT id, e::text FROM entries e WHERE tenant_id = %s", [tenant])
    return {name: whole for name, whole in rows}  # noqa: C416 # pairs of a cursor are not typed as pairs


def secrets_of(owner: psycopg.Connection[Any], tenant: int) -> int:
    """How many resolved secrets are kept of a tenant's runs."""
    row = owner.execute("SELECT count(*) FROM run_secrets WHERE tenant_id = %s", [tenant]).fetchone()
    return int(row[0]) if row else 0
