"""schema.sql and the numbered migrations are two roads to one ledger; migrating may be repeated and raced."""

import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import psycopg
import pytest
from psycopg import sql
from psycopg.conninfo import make_conninfo

from foreword.ledger import migrate as migrating
from foreword.ledger.migrate import apply, migrate, migrations
from foreword.resources import text
from tests.architecture.ledger_catalog import catalog
from tests.services import Services, eventually

Fresh = Callable[[str], str]


@pytest.fixture
def fresh(services: Services) -> Iterator[Fresh]:
    """Makes empty databases, gone after the test."""
    made: list[str] = []

    def make(name: str) -> str:
        made.append(name)
        with psycopg.connect(services.owner_url, autocommit=True) as conn:
            conn.execute(sql.SQL("CREATE DATABASE {}").format(sql.Identifier(name)))
        return make_conninfo(services.owner_url, dbname=name)

    yield make
    with psycopg.connect(services.owner_url, autocommit=True) as conn:
        for name in made:
            conn.execute(sql.SQL("DROP DATABASE {} WITH (FORCE)").format(sql.Identifier(name)))


def run(services: Services, url: str) -> list[str]:
    """Migrates with the passwords the roles have."""
    kept = services.credentials
    return migrate(url, shim_password=kept.shim_password, worker_password=kept.worker_password)


def test_schema_and_migrations_meet(fresh: Fresh) -> None:
    """Tables, keys, indexes, policies, functions, triggers, grants are the same on either road."""
    found: list[dict[str, list[tuple[Any, ...]]]] = []
    for name, from_schema in (("road_schema", True), ("road_migrations", False)):
        with psycopg.connect(fresh(name)) as conn:
            assert apply(conn, from_schema=from_schema) == migrations()
            found.append(catalog(conn))
    for part, rows in found[0].items():
        assert rows == found[1][part], part
    assert [part for part, rows in found[0].items() if not rows] == []


def test_migrations_are_numbered_one_by_one() -> None:
    """No two have one number, and none is left out: the order is what was meant."""
    assert [name[:5] for name in migrations()] == [f"{n:04}_" for n in range(1, len(migrations()) + 1)]


def test_migrating_again_changes_nothing(services: Services, fresh: Fresh) -> None:
    """A second migrate applies nothing and leaves every definition and grant as it was."""
    url = fresh("again")
    assert run(services, url) == migrations()
    with psycopg.connect(url) as conn:
        once = catalog(conn)
    assert run(services, url) == []
    with psycopg.connect(url) as conn:
        assert catalog(conn) == once


def test_what_was_filed_before_is_found_by_its_words(fresh: Fresh) -> None:
    """Entries of a ledger from before relevance get turns and postings, once however often it is migrated."""
    with psycopg.connect(fresh("before")) as conn:
        conn.execute("CREATE EXTENSION vector")
        conn.execute("CREATE TABLE migrations (name text PRIMARY KEY, applied_at timestamptz DEFAULT now())")
        for name in migrations()[:2]:
            conn.execute(text("foreword.ledger.migrations", name).encode())
            conn.execute("INSERT INTO migrations (name) VALUES (%s)", [name])
        conn.execute(OLD)
        assert apply(conn) == migrations()[2:]
        assert apply(conn) == []
        found = conn.execute("SELECT term, seq FROM postings ORDER BY seq, term").fetchall()
        assert found == [("@Ada", 1), ("friday", 1), ("ship", 1), ("deploy", 2), ("friday", 2)]
        turns = conn.execute("SELECT seq, turn FROM entries ORDER BY seq").fetchall()
        assert turns == [(1, 1), (2, 1), (3, 2)]
        assert conn.execute("SELECT documents, terms FROM scopes").fetchall() == [(2, 4)]
        # of their JSON rows nothing is known, and nothing claims it is
        assert conn.execute("SELECT DISTINCT json_costs FROM entries").fetchall() == [([],)]
        assert conn.execute("SELECT DISTINCT complete, json_complete FROM counters").fetchall() == [
            (True, False)
        ]


OLD = b"""
    INSERT INTO tenants (name) VALUES ('old');
    INSERT INTO scopes (tenant_id, memory_ref, active) SELECT tenant_id, 'a', 2 FROM tenants;
    INSERT INTO receipts (tenant_id, scope_id, id, seq, digest, created_at)
        SELECT tenant_id, scope_id, n::text, n, '', now() FROM scopes, generate_series(1, 3) n;
    INSERT INTO entries (tenant_id, scope_id, seq, id, content, speaker, conversation, superseded, tags, kind,
                         confidence, pinned, metadata, links, supersedes, observed_at, created_at, costs,
                         row_costs)
        SELECT tenant_id, scope_id, seq, id,
               (ARRAY['Ada: we ship on Friday', 'Deploys on Friday', 'gone'])[seq],
               (ARRAY['Ada'])[seq], (ARRAY['talk'])[seq], seq = 3, '{}', 'fact', 1, false, '{}', '[]', '{}',
               now(), now(), '{1,1,1,1}', '{1,1,1,1}' FROM receipts;
"""


def test_two_at_once_migrate_once(services: Services, fresh: Fresh) -> None:
    """Of two migrates that race on an empty database one applies everything and the other nothing."""
    url = fresh("race")
    with ThreadPoolExecutor(2) as pool:
        results = list(pool.map(lambda _: run(services, url), range(2)))
    assert sorted(results) == [[], migrations()]


def test_a_migrate_waits_for_the_lock(services: Services, fresh: Fresh) -> None:
    """While another session holds the migrator's advisory lock nothing is applied."""
    url = fresh("waiting")
    results: list[list[str]] = []
    waiter = threading.Thread(target=lambda: results.append(run(services, url)))
    with psycopg.connect(url) as holder:
        holder.execute("SELECT pg_advisory_lock(%s)", [migrating._LOCK])
        waiter.start()
        eventually(
            lambda: (
                holder.execute(
                    "SELECT count(*) FROM pg_locks WHERE locktype = 'advisory' AND NOT granted"
                ).fetchone()
                == (1,)
            ),
            "the migrate waits for the lock",
        )
        time.sleep(0.1)
        assert results == []
        assert holder.execute("SELECT to_regclass('public.entries')").fetchone() == (None,)
    waiter.join(60)
    assert results == [migrations()]


def test_a_failed_migrate_leaves_nothing(
    services: Services, fresh: Fresh, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A migration that breaks half-way leaves the database as it was."""
    url = fresh("broken")
    whole = migrating.text

    def broken(package: str, name: str) -> str:
        return "SELECT 1/0" if name == "roles.sql" else whole(package, name)

    monkeypatch.setattr(migrating, "text", broken)
    with pytest.raises(psycopg.errors.DivisionByZero):
        run(services, url)
    with psycopg.connect(url) as conn:
        tables = "SELECT count(*) FROM pg_class WHERE relnamespace = 'public'::regnamespace AND relkind = 'r'"
        assert conn.execute(tables).fetchone() == (0,)
