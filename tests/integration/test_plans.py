"""How the ledger answers at size: the intended index, little of it, and no table scanned, as the bound roles.

What was used is asked of PostgreSQL's own counters inside the transaction, so that statements within
functions count too. Every statement is prepared and run often enough for its generic plan to be seen.
"""

import json
from collections.abc import Iterator, Mapping
from typing import Any

import psycopg
import pytest
from psycopg.conninfo import make_conninfo

from foreword import instant, resources
from foreword.ledger.migrate import migrate
from foreword.ledger.tenants import ensure_tenant
from tests.services import Services
from worker.stores.sift import LEAST, MOST_LOOKED_AT, MOST_ROWS

ENTRIES = 60_000
NEW_ENTRIES = 20_000
NOW = instant.to_datetime(instant.now_ms())
LATEST = 2**63 - 1

FILL = """
    INSERT INTO scopes (tenant_id, memory_ref, active) VALUES ({t}, 'big', {n}), ({t}, 'small', 0);
    SET session_replication_role = replica;  -- rows as they lie, without what a write does beside
    INSERT INTO receipts (tenant_id, scope_id, id, seq, digest, created_at)
        SELECT {t}, scope_id, 'e' || i, i, '', now() FROM scopes, generate_series(1, {n}) i
        WHERE tenant_id = {t} AND memory_ref = 'big';
    INSERT INTO entries (tenant_id, scope_id, seq, id, content, tags, kind, confidence, pinned, metadata,
                         links, supersedes, observed_at, created_at, expires_at, costs, row_costs)
        SELECT {t}, scope_id, seq, id, 'some text of no matter', ARRAY['common', 'tag' || seq % 500],
               CASE seq % 100 WHEN 0 THEN 'axiom' ELSE 'fact' END, 1, false, '{{}}', '[]', '{{}}', now(),
               now(), CASE seq % 50 WHEN 0 THEN now() + seq * interval '1 hour' END,
               ARRAY[seq % 97 + CASE seq % 1000 WHEN 0 THEN 5000 ELSE 1 END, 9, 9, 9], '{{9,9,9,9}}'
        FROM receipts WHERE tenant_id = {t};
    INSERT INTO entry_tags
        SELECT tenant_id, scope_id, unnest(tags), seq, id FROM entries WHERE tenant_id = {t};
    INSERT INTO inbox (tenant_id, scope_id, seq, id, sealed, accepted_at, failed_at)
        SELECT {t}, scope_id, {n} + i, 'w' || i, '', now(), CASE WHEN i <= {n} - 500 THEN now() END
        FROM scopes, generate_series(1, {n}) i WHERE tenant_id = {t} AND memory_ref = 'big';
    INSERT INTO events (tenant_id, scope_id, type, ids)
        SELECT tenant_id, scope_id, 'memory.written', ARRAY[id] FROM entries WHERE tenant_id = {t};
    INSERT INTO api_keys (tenant_id, key_id, hash, scopes)
        SELECT {t}, lpad(to_hex(i), 8, '0'), '', '{{read}}' FROM generate_series(1, 20000) i
"""

MODEL = "INSERT INTO embedding_models (name, dimension, distance, state) VALUES ('m', 2, 'cosine', 'serving')"
WORDS = """;
    INSERT INTO postings (tenant_id, scope_id, term, seq, tf, length)
        SELECT e.tenant_id, e.scope_id, t.term, e.seq, t.tf, t.length
        FROM entries e, postings_of(e.content, e.speaker) t WHERE e.tenant_id = {t};
    INSERT INTO vectors (tenant_id, scope_id, model_id, seq, id, costs, embedding)
        SELECT tenant_id, scope_id, model_id, seq, id, costs, '[1,0]' FROM entries, embedding_models
        WHERE tenant_id = {t};
    INSERT INTO unembedded (tenant_id, scope_id, id, model_id)
        SELECT tenant_id, scope_id, id, model_id FROM entries, embedding_models WHERE tenant_id = {t};
    UPDATE entries SET turn = seq WHERE tenant_id = {t};
    UPDATE scopes SET documents = {n}, terms = 2 * {n} WHERE tenant_id = {t} AND memory_ref = 'big'
"""

RECENT: dict[str, Any] = {
    "ref": "big",
    "ordinal": 0,
    "budget": 1024,
    "limit": 1000,
    "fit": "prefix",
    "before": LATEST,
    "tag": None,
    "kind": None,
    "now": NOW,
    "most": 1000,
}

SHIM = [
    ("recent", {}, "entries_recency", 400),
    ("recent", {"budget": None, "limit": 100}, "entries_recency", 500),
    ("recent", {"fit": "pack"}, "entries_recency", 3_000),
    ("recent", {"fit": "strict"}, "entries_recency", 400),
    ("recent", {"before": 30_000}, "entries_recency", 400),
    ("recent", {"budget": 8}, "entries_recency", 2_000),
    ("recent", {"tag": "tag7"}, "entry_tags_pkey", 1_500),
    ("recent", {"tag": "tag7", "kind": "fact"}, "entry_tags_pkey", 1_500),
    ("recent", {"kind": "axiom"}, "entries_kind", 2_500),
    ("entry", {"id": "e777"}, "entries_pkey", 20),
    ("is_pending", {"seq": 59_000}, "inbox_pkey|inbox_waiting", 50),
    ("receipt", {"id": "e777"}, "receipts_pkey", 20),
    ("statuses", {"ids": ["e1", "e2", "e59999"]}, "receipts_pkey", 50),
    ("events", {"behind": 0, "limit": 100}, "events_pkey", 300),
    ("events", {"behind": 900, "limit": 100}, "events_pkey", 300),
    ("export", {"behind": 0, "limit": 500}, "entries_recency", 2_000),
    ("export", {"behind": 59_000, "limit": 500}, "entries_recency|entries_kind", 2_000),
]

NEWEST = {"limit": 256, "room": 4096, "tokens": None, "now": NOW}
SIFT = {"limit": MOST_ROWS, "most": MOST_LOOKED_AT, "whole": False, "now": NOW}
WAITING = """
    INSERT INTO scopes (tenant_id, memory_ref) VALUES ({t}, 'big');
    INSERT INTO inbox (tenant_id, scope_id, seq, id, sealed, accepted_at)
        SELECT {t}, scope_id, i, 'w' || i, '', now() FROM scopes, generate_series(1, {n}) i
        WHERE tenant_id = {t}
"""
DRAFTS = """
    SELECT scope_id, seq, id, 'some text that matters' AS content, '{a,b}'::text[] AS tags, 'fact' AS kind,
           1 AS confidence, false AS pinned, '{}'::json AS metadata, '[]'::json AS links,
           ARRAY['e' || seq %% 1000] AS supersedes, 'talk' || seq %% 9 AS conversation, now() AS observed_at,
           now() AS created_at, '{1,1,1,1}'::integer[] AS costs, '{1,1,1,1}'::integer[] AS row_costs,
           '{1,1,1,1}'::integer[] AS json_costs
    FROM inbox WHERE failed_at IS NULL"""
REWRITTEN = """
    SELECT scope_id, id, 'other words' AS content, tags, metadata, '{2,2,2,2}'::integer[] AS costs, row_costs,
           json_costs, encode(sha256(convert_to(content, 'UTF8')), 'hex') AS digest
    FROM entries WHERE id = 'e778'"""

WORKER: list[tuple[str, str, dict[str, Any], str, int]] = [
    ("ledger", "claim", {"limit": 256}, "inbox_waiting", 1_200),
    ("ledger", "newest", NEWEST | {"whole": [True]}, "entries_recency", 600),
    ("ledger", "newest", NEWEST | {"whole": [False]}, "entries_recency", 400),
    ("ledger", "sifted", SIFT | {"large": 1024}, "entries_recency", 600),
    ("ledger", "sifted", SIFT | {"large": 0}, "entries_recency", 20_200),
    ("ledger", "summaries", {"most": 65, "now": NOW}, "entries_expiry", 500),
    ("upkeep", "expired_scopes", {"now": NOW}, "entries_expiry", 50),
    ("upkeep", "next_entries", {"scope_id": 0, "id": "", "limit": 200}, "entries_pkey", 1_000),
    ("upkeep", "next_entries", {"scope_id": 1, "id": "e5", "limit": 200}, "entries_pkey", 1_000),
    ("upkeep", "purge_receipts", {"before": NOW}, "receipts_removed", 50),
]


@pytest.fixture(scope="module")
def big(services: Services) -> Iterator[tuple[Services, int, int]]:
    """A ledger of its own, with one tenant of many entries and one of few; the number of each."""
    name = "plans"
    with psycopg.connect(services.owner_url, autocommit=True) as conn:
        conn.execute(f"CREATE DATABASE {name}".encode())
    owner = make_conninfo(services.owner_url, dbname=name)
    kept = services.credentials
    migrate(owner, shim_password=kept.shim_password, worker_password=kept.worker_password)
    tenants = ensure_tenant(owner, "large"), ensure_tenant(owner, "little")
    with psycopg.connect(owner, autocommit=True) as conn:
        for tenant, number in zip(tenants, (ENTRIES, 1_000), strict=True):
            for statement in FILL.format(t=tenant, n=number).split(";\n"):
                conn.execute(statement.encode())
        conn.execute(MODEL.encode())
        conn.execute("VACUUM ANALYZE")
    yield services, *tenants
    with psycopg.connect(services.owner_url, autocommit=True) as conn:
        conn.execute(f"DROP DATABASE {name} WITH (FORCE)".encode())


@pytest.fixture(scope="module")
def newcomer(big: tuple[Services, int, int]) -> int:
    """A tenant with much, of which the planner's statistics know nothing; its entries have their words."""
    owner = make_conninfo(big[0].owner_url, dbname="plans")
    number = ensure_tenant(owner, "newcomer")
    with psycopg.connect(owner, autocommit=True) as conn:
        for statement in (FILL + WORDS).format(t=number, n=NEW_ENTRIES).split(";\n"):
            conn.execute(statement.encode())
    return number


@pytest.fixture(scope="module")
def settled(big: tuple[Services, int, int], newcomer: int) -> int:
    """The same tenant once the planner's statistics know it."""
    with psycopg.connect(make_conninfo(big[0].owner_url, dbname="plans"), autocommit=True) as conn:
        conn.execute("VACUUM ANALYZE")
    return newcomer


@pytest.fixture(scope="module", params=["large", "little"])
def tenant(request: pytest.FixtureRequest, big: tuple[Services, int, int]) -> int:
    """The plans must not depend on who was asked for first."""
    return big[1] if request.param == "large" else big[2]


@pytest.fixture(scope="module")
def shim(big: tuple[Services, int, int]) -> Iterator[psycopg.Connection[Any]]:
    """A connection as the shim's role."""
    with psycopg.connect(make_conninfo(big[0].shim_url, dbname="plans")) as conn:
        yield conn


@pytest.fixture(scope="module")
def worker(big: tuple[Services, int, int]) -> Iterator[psycopg.Connection[Any]]:
    """A connection as the worker's role."""
    with psycopg.connect(make_conninfo(big[0].worker_url, dbname="plans")) as conn:
        yield conn


@pytest.mark.parametrize(("name", "changes", "index", "most"), SHIM)
def test_the_shims_statements_use_their_index(
    shim: psycopg.Connection[Any], tenant: int, name: str, changes: dict[str, Any], index: str, most: int
) -> None:
    """A read touches little more than what it answers with, through the index made for it."""
    query = resources.queries("api_shim.sources", "ledger.sql")[name]
    params = RECENT | changes if name == "recent" else {"ref": "big", "now": NOW} | changes
    use = _use(shim, tenant, query, params)
    assert use.scanned == set()
    assert use.indexes.keys() & set(index.split("|"))
    assert sum(use.indexes.values()) <= most, use.indexes


@pytest.mark.parametrize(("file", "name", "changes", "index", "most"), WORKER)
def test_the_workers_statements_use_their_index(
    worker: psycopg.Connection[Any],
    tenant: int,
    file: str,
    name: str,
    changes: dict[str, Any],
    index: str,
    most: int,
) -> None:
    """Claiming, showing and upkeep cost what they take, not what is there."""
    package = "worker.stores" if file == "ledger" else "worker.upkeep"
    query = resources.queries(package, f"{file}.sql")[name].replace("{least}", LEAST)
    with worker.transaction(force_rollback=True):
        _set_tenant(worker, tenant)
        scopes = [id_ for (id_,) in worker.execute("SELECT scope_id FROM scopes WHERE memory_ref = 'big'")]
    use = _use(worker, tenant, query, {"scopes": scopes, "scope": scopes[0]} | changes)
    assert use.scanned == set()
    assert use.indexes.keys() & set(index.split("|"))
    assert sum(use.indexes.values()) <= most, use.indexes


@pytest.mark.parametrize(("name", "most"), [("claim", 1_200), ("file", 3_000), ("newest", 1_000)])
def test_filing_touches_what_it_files(
    worker: psycopg.Connection[Any], newcomer: int, name: str, most: int
) -> None:
    """A batch is filed and shown without a scan of its scope or the inbox, whatever the planner thinks."""
    given = _change(worker, newcomer, DRAFTS, 256) | NEWEST | {"limit": 256, "whole": [True]}
    use = _use(worker, newcomer, _query("ledger", name), given)
    assert use.scanned == set()
    assert sum(use.indexes.values()) <= most, use.indexes


def test_filing_needs_no_statistics(services: Services) -> None:
    """In a ledger that was never analysed the eighth batch of a memory reads no more than the first may."""
    with psycopg.connect(services.owner_url, autocommit=True) as conn:
        conn.execute("CREATE DATABASE unplanned")
    owner = make_conninfo(services.owner_url, dbname="unplanned")
    kept = services.credentials
    migrate(owner, shim_password=kept.shim_password, worker_password=kept.worker_password)
    tenant = ensure_tenant(owner, "first")
    with psycopg.connect(owner, autocommit=True) as conn:
        conn.execute(MODEL.encode())
        for statement in WAITING.format(t=tenant, n=8 * 256).split(";\n"):
            conn.execute(statement.encode())
    with psycopg.connect(make_conninfo(services.worker_url, dbname="unplanned")) as conn:
        for _ in range(8):
            given = _change(conn, tenant, DRAFTS, 256)
            with conn.transaction():
                _set_tenant(conn, tenant)
                before = Use(conn)
                conn.execute(_query("ledger", "file").encode(), given, prepare=True)
                used = Used(before, Use(conn))
    assert sum(used.indexes.values()) <= 3_000, used.indexes
    with psycopg.connect(services.owner_url, autocommit=True) as conn:
        conn.execute("DROP DATABASE unplanned WITH (FORCE)")


@pytest.mark.parametrize(
    ("file", "name"), [("ledger", "supersede"), ("upkeep", "rewrite"), ("upkeep", "recount")]
)
def test_a_change_touches_what_it_changes(
    worker: psycopg.Connection[Any], settled: int, file: str, name: str
) -> None:
    """Superseding, rewriting or recounting one entry of many reads its own rows and words alone."""
    use = _use(worker, settled, _query(file, name), _change(worker, settled, REWRITTEN, 1))
    assert use.scanned == set()
    assert sum(use.indexes.values()) <= 50, use.indexes


def test_a_removal_touches_what_it_removes(shim: psycopg.Connection[Any], settled: int) -> None:
    """Removing one entry of many reads its own rows and words alone."""
    use = _use(shim, settled, "SELECT remove_entry('big', 'e777')", {})
    assert use.scanned == set()
    assert sum(use.indexes.values()) <= 50, use.indexes


def _query(file: str, name: str) -> str:
    return resources.queries("worker.stores" if file == "ledger" else "worker.upkeep", f"{file}.sql")[name]


def _change(conn: psycopg.Connection[Any], tenant: int, rows: str, number: int) -> dict[str, Any]:
    """Parameters for whatever changes entries."""
    with conn.transaction(force_rollback=True):
        _set_tenant(conn, tenant)
        found = conn.execute(f"SELECT json_agg(g) FROM ({rows} LIMIT %s) g".encode(), [number]).fetchone()
        scope = conn.execute("SELECT scope_id FROM scopes WHERE memory_ref = 'big'").fetchone()
    assert found is not None
    assert scope is not None
    return {"entries": json.dumps(found[0]), "scopes": [scope[0]], "olds": ["e777"]}


def test_a_key_is_found_by_its_index(shim: psycopg.Connection[Any], tenant: int) -> None:
    """The look-up of an API key, which runs as the owner, reads one row of its index."""
    query = resources.queries("api_shim.sources", "ledger.sql")["find_key"]
    use = _use(shim, 0, query, {"tenant": tenant, "key_id": "00000abc"})
    assert use.scanned == set()
    assert use.indexes == {"api_keys_pkey": 1, "tenants_pkey": 1} or use.indexes == {"api_keys_pkey": 1}


def test_counting_what_is_oversize_reads_what_was_walked(shim: psycopg.Connection[Any], tenant: int) -> None:
    """The report's count of entries larger than the budget looks at the walked stretch alone."""
    query = """SELECT o.* FROM scopes s, count_oversize(s.scope_id, 0, 100, %(before)s, %(from)s, NULL, NULL,
                                                        %(now)s) o WHERE s.memory_ref = 'big'"""
    use = _use(
        shim,
        tenant,
        query,
        {"before": LATEST, "from": 900, "now": NOW}
        if tenant == 2
        else {"before": LATEST, "from": ENTRIES - 100, "now": NOW},
    )
    assert use.scanned == set()
    assert use.indexes["entries_recency"] <= 150


class Use:
    """Tables scanned, and index rows read, by one statement."""

    def __init__(self, conn: psycopg.Connection[Any]) -> None:
        found = conn.execute(
            """SELECT relname, relkind::text, pg_stat_get_xact_numscans(oid),
                      pg_stat_get_xact_tuples_returned(oid)
               FROM pg_class WHERE relnamespace = 'public'::regnamespace AND relkind IN ('r', 'i')"""
        ).fetchall()
        self.tables = {name: scans for name, kind, scans, _ in found if kind == "r"}
        self.rows = {name: (scans, rows) for name, kind, scans, rows in found if kind == "i"}


class Used:
    """The difference of two uses. Tables of a handful of rows may be scanned."""

    def __init__(self, before: Use, after: Use) -> None:
        small = {"scopes", "tenants", "counters", "supersessions", "embedding_models"}
        self.scanned = {name for name, n in after.tables.items() if n > before.tables[name]} - small
        self.indexes = {
            name: rows - before.rows[name][1]
            for name, (scans, rows) in after.rows.items()
            if scans > before.rows[name][0] and not name.startswith("scopes_")
        }


def _use(conn: psycopg.Connection[Any], tenant: int, query: str, params: Mapping[str, Any]) -> Used:
    for _ in range(7):
        with conn.transaction(force_rollback=True):
            _set_tenant(conn, tenant)
            before = Use(conn)
            conn.execute(query.encode(), params, prepare=True)
            used = Used(before, Use(conn))
    return used


def _set_tenant(conn: psycopg.Connection[Any], tenant: int) -> None:
    conn.execute("SELECT set_config('foreword.tenant', %s::text, true)", [tenant])
