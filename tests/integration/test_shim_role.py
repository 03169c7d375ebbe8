"""The shim asks the ledger whether row-level security binds it, however its role escapes it."""

from typing import Any

import psycopg
import pytest
from psycopg.rows import dict_row

from api_shim.database import named
from tests.services import Services


def unsafe(conn: "psycopg.Connection[Any]") -> bool:
    """What the shim's question says of this connection's role."""
    with conn.cursor(row_factory=dict_row) as cursor:
        row = cursor.execute(named("sources", "ping")).fetchone()
    assert row is not None
    return bool(row["unsafe"])


def test_the_shims_role_is_bound(services: Services) -> None:
    """The restricted role may serve."""
    with psycopg.connect(services.shim_url) as conn:
        assert not unsafe(conn)


@pytest.mark.parametrize(
    "escape",
    [
        "ALTER ROLE stronger SUPERUSER",
        "ALTER ROLE stronger BYPASSRLS",
        "ALTER TABLE entries OWNER TO stronger",
    ],
)
def test_a_stronger_role_is_not(services: Services, escape: str) -> None:
    """A superuser, a role that bypasses row-level security and the tables' own owner may not."""
    with psycopg.connect(services.owner_url) as conn:
        conn.execute("CREATE ROLE stronger")
        conn.execute("GRANT USAGE, CREATE ON SCHEMA public TO stronger")
        conn.execute(escape.encode())
        conn.execute("SET LOCAL ROLE stronger")
        assert unsafe(conn)
        conn.rollback()


def test_a_ledger_without_a_schema_answers(services: Services) -> None:
    """Before the first migration the question is answered, by the role's attributes."""
    for url, answer in ((services.shim_url, False), (services.owner_url, True)):
        with psycopg.connect(url) as conn:
            conn.execute("SET LOCAL search_path TO pg_temp")
            assert unsafe(conn) is answer
