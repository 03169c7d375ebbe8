"""The shim's connections: a pipeline is one transaction of one tenant, and leaves nothing behind."""

from collections.abc import Iterator

import psycopg
import pytest

from api_shim.database import Database
from tests.integration.rig import Rig

SET = b"SELECT current_setting('foreword.tenant') AS tenant, current_setting('work_mem') AS memory"
LEFT = (
    b"SELECT nullif(current_setting('foreword.tenant', true), '') AS tenant, current_setting('work_mem') AS m"
)


@pytest.fixture
def database(rig: Rig) -> Iterator[Database]:
    """One connection, so that every question meets what the one before left."""
    made = Database(rig.services.shim_url, size=1)
    rig.run(made.open())
    yield made
    rig.run(made.close())


async def left(database: Database) -> dict[str, object]:
    """What the connection knows when nobody is asking."""
    async with database._connection() as conn:
        (row,) = await (await conn.execute(LEFT)).fetchall()
    return row


def test_a_tenant_lasts_for_one_question(rig: Rig, database: Database) -> None:
    """Tenant and settings hold within a search and are gone after it, whoever is asked for next."""
    before = rig.run(left(database))
    assert before["tenant"] is None
    for tenant in (7, 8):
        (row,) = rig.run(database.search(tenant, SET, {}, local={"work_mem": "2MB"}))
        assert row == {"tenant": str(tenant), "memory": "2MB"}
        assert rig.run(left(database)) == before


def test_a_tenant_does_not_outlive_an_error(rig: Rig, database: Database) -> None:
    """A statement that fails takes tenant and settings with it, and the connection goes on."""
    before = rig.run(left(database))
    with pytest.raises(psycopg.errors.DivisionByZero):
        rig.run(database.search(7, b"SELECT 1 / 0", {}, local={"work_mem": "2MB"}))
    assert rig.run(left(database)) == before
    assert rig.run(database.search(8, SET, {}))[0]["tenant"] == "8"


def test_a_connection_that_was_ended_is_not_asked(rig: Rig, database: Database) -> None:
    """A server that ends an idle connection costs the next question nothing."""
    (row,) = rig.run(database.search(7, b"SELECT pg_backend_pid() AS pid", {}))
    with psycopg.connect(rig.services.owner_url) as owner:
        owner.execute("SELECT pg_terminate_backend(%s, 5000)", [row["pid"]])
    (after,) = rig.run(database.search(7, b"SELECT pg_backend_pid() AS pid", {}))
    assert after["pid"] != row["pid"]
