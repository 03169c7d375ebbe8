"""The ledger's second lock: row-level security, roles that it binds, and keys that lead with the tenant."""

from collections.abc import Iterator
from typing import Any

import psycopg
import pytest
from psycopg import sql

from api_shim.runs.store import OUTSIDER, OUTSIDER_NAME
from foreword.ledger.migrate import ROLES
from foreword.ledger.tenants import ensure_tenant
from tests.architecture.ledger_catalog import tenant_tables
from tests.services import Services

TABLES = (
    "api_keys",
    "entries",
    "entry_tags",
    "events",
    "inbox",
    "jobs",
    "postings",
    "receipts",
    "run_events",
    "run_secrets",
    "runs",
    "scopes",
    "secrets",
    "supersessions",
    "tenants",
    "unembedded",
    "vectors",
)
SHARED_INDEXES = {
    *("counters_pkey", "counters_name_key", "migrations_pkey", "tenants_name_key"),
    *("embedding_models_pkey", "embedding_models_name_key", "embedding_models_serving"),
}
"""Indexes that lead with no tenant: of tables without tenants, and of the name a tenant is found by."""
GRAPH = "vectors_graph_"
"""A model's graph over the vectors of large scopes leads with the vector; the policy sees what it brings."""
OF_THE_WORKER = {"register_model", "serve_model", "tenants_unembedded", "tenants_outgrown"}
DEFINERS = {
    "find_key",
    "tenants_with_work",
    "all_tenants",
    "inbox_backlog",
    "embedding_backlog",
} | OF_THE_WORKER

FILL = """
    INSERT INTO scopes (tenant_id, memory_ref) VALUES (%(t)s, 'lock/ref');
    INSERT INTO receipts (tenant_id, scope_id, id, seq, digest, created_at)
        SELECT tenant_id, scope_id, 'same', 1, '', now() FROM scopes
        WHERE tenant_id = %(t)s AND memory_ref = 'lock/ref';
    INSERT INTO inbox (tenant_id, scope_id, seq, id, sealed, accepted_at)
        SELECT tenant_id, scope_id, 9, 'waiting', '', now() FROM receipts WHERE tenant_id = %(t)s;
    INSERT INTO entries (tenant_id, scope_id, seq, id, content, tags, kind, confidence, pinned, metadata,
                         links, supersedes, observed_at, created_at, costs, row_costs)
        SELECT tenant_id, scope_id, 1, 'same', 'text', '{t}', 'fact', 1, false, '{}', '[]', '{}', now(),
               now(), '{1,1,1,1}', '{1,1,1,1}' FROM receipts WHERE tenant_id = %(t)s;
    INSERT INTO entry_tags SELECT tenant_id, scope_id, 't', seq, id FROM entries WHERE tenant_id = %(t)s;
    INSERT INTO supersessions SELECT tenant_id, scope_id, 'old', 'new' FROM entries WHERE tenant_id = %(t)s;
    INSERT INTO events (tenant_id, scope_id, type, ids)
        SELECT tenant_id, scope_id, 'memory.written', '{same}' FROM entries WHERE tenant_id = %(t)s;
    INSERT INTO secrets (tenant_id, secret_id, sealed) VALUES (%(t)s, 'secret', '');
    INSERT INTO jobs (tenant_id, kind, status) VALUES (%(t)s, 'secret-sweep', 'succeeded');
    INSERT INTO runs (tenant_id, run_id, workflow_id, status, lease_until)
        VALUES (%(t)s, 'run', 'flow', 'running', now() + interval '1 day');
    INSERT INTO run_events VALUES (%(t)s, 'run', 1, 'event', 'run.started', '{}', now());
    INSERT INTO run_secrets (tenant_id, run_id, secret_id, sealed) VALUES (%(t)s, 'run', 'secret', '');
    INSERT INTO api_keys (tenant_id, key_id, hash, scopes) VALUES (%(t)s, 'aaaaaaaa', '', '{read}');
    INSERT INTO embedding_models (name, dimension, distance, state)
        VALUES ('lock-model', 2, 'cosine', 'retired') ON CONFLICT DO NOTHING;
    INSERT INTO unembedded (tenant_id, scope_id, id, model_id)
        SELECT tenant_id, scope_id, id, model_id FROM entries, embedding_models
        WHERE tenant_id = %(t)s AND name = 'lock-model';
    INSERT INTO vectors (tenant_id, scope_id, model_id, seq, id, costs, embedding)
        SELECT tenant_id, scope_id, model_id, seq, id, costs, '[1,0]' FROM entries, embedding_models
        WHERE tenant_id = %(t)s AND name = 'lock-model';
"""


@pytest.fixture(scope="module")
def owner(services: Services) -> Iterator[psycopg.Connection[Any]]:
    """The owner's connection."""
    with psycopg.connect(services.owner_url, autocommit=True) as conn:
        yield conn


@pytest.fixture(scope="module")
def pair(services: Services, owner: psycopg.Connection[Any]) -> Iterator[tuple[int, int]]:
    """Two tenants with a row in every table, under equal refs and ids."""
    tenants = tuple(ensure_tenant(services.owner_url, f"lock-{name}") for name in ("one", "two"))
    for tenant in tenants:
        for statement in FILL.replace("%(t)s", str(tenant)).split(";\n"):
            owner.execute(statement.encode())
    yield (tenants[0], tenants[1])
    owner.execute("DELETE FROM tenants WHERE tenant_id = ANY (%s)", [list(tenants)])
    owner.execute("DELETE FROM embedding_models WHERE name = 'lock-model'")


@pytest.fixture(params=ROLES)
def restricted(request: pytest.FixtureRequest, services: Services) -> Iterator[psycopg.Connection[Any]]:
    """A connection as one of the application's roles."""
    url = services.shim_url if request.param == "foreword_shim" else services.worker_url
    with psycopg.connect(url) as conn:
        yield conn
        conn.rollback()


def test_every_table_of_tenants_is_known_and_locked(owner: psycopg.Connection[Any]) -> None:
    """Each table with a tenant has row-level security on and one policy, on the transaction's tenant."""
    assert tenant_tables(owner) == sorted(TABLES)
    locked = owner.execute(
        """SELECT c.relname, c.relrowsecurity, p.permissive, p.roles::text, p.cmd, p.qual, p.with_check
           FROM pg_class c JOIN pg_policies p ON p.tablename = c.relname
           WHERE c.relnamespace = 'public'::regnamespace AND p.policyname <> 'outsider' ORDER BY 1"""
    ).fetchall()
    assert locked == [
        (name, True, "PERMISSIVE", "{public}", "ALL", "(tenant_id = current_tenant())", None)
        for name in sorted(TABLES)
    ]


def test_the_shim_makes_one_tenant_and_no_other(services: Services) -> None:
    """Row-level security lets the shim make the tenant that has no key, by number and name, and no other."""
    insert = (
        "INSERT INTO tenants (tenant_id, name) OVERRIDING SYSTEM VALUE VALUES (%s, %s) ON CONFLICT DO NOTHING"
    )
    with psycopg.connect(services.shim_url) as conn:
        for number, name in ((0, "other"), (999_999, "openwop:outsider"), (999_999, "other")):
            _set_tenant(conn, number)
            with pytest.raises(psycopg.errors.InsufficientPrivilege, match="row-level security"):
                conn.execute(insert, [number, name])
            conn.rollback()
        _set_tenant(conn, OUTSIDER)
        conn.execute(insert, [OUTSIDER, OUTSIDER_NAME])
        conn.rollback()


def test_every_key_leads_with_the_tenant(owner: psycopg.Connection[Any]) -> None:
    """Each index, unique or not, has the tenant as its first column, but for the few that have none."""
    leading = owner.execute(
        """SELECT i.indexrelid::regclass::text, a.attname
           FROM pg_index i JOIN pg_class c ON c.oid = i.indrelid
           LEFT JOIN pg_attribute a ON a.attrelid = i.indrelid AND a.attnum = i.indkey[0]
           WHERE c.relnamespace = 'public'::regnamespace"""
    ).fetchall()
    others = {name for name, column in leading if column != "tenant_id"}
    assert {name for name in others if not name.startswith(GRAPH)} == SHARED_INDEXES
    assert len(leading) > 15


def test_the_roles_are_bound_and_own_nothing(owner: psycopg.Connection[Any]) -> None:
    """Neither role is powerful, belongs to another, or owns anything that a policy would not bind."""
    for role in ROLES:
        powers = owner.execute(
            """SELECT rolsuper, rolbypassrls, rolcreaterole, rolcreatedb, rolreplication
               FROM pg_roles WHERE rolname = %s""",
            [role],
        ).fetchone()
        assert powers == (False,) * 5
        owned = owner.execute(
            "SELECT count(*) FROM pg_shdepend WHERE refobjid = %s::regrole AND deptype = 'o'", [role]
        ).fetchone()
        member = owner.execute(
            "SELECT count(*) FROM pg_auth_members WHERE member = %s::regrole", [role]
        ).fetchone()
        assert (owned, member) == ((0,), (0,))


def test_statements_are_bounded_and_never_compiled(restricted: psycopg.Connection[Any]) -> None:
    """What a role runs ends after 15 seconds, and no guess of its cost makes PostgreSQL compile it first."""
    assert restricted.execute("SHOW statement_timeout").fetchone() == ("15s",)
    assert restricted.execute("SHOW jit").fetchone() == ("off",)


def test_definers_are_few_and_fixed(owner: psycopg.Connection[Any]) -> None:
    """Only the known functions see across tenants, each with a fixed search path, none for everybody."""
    definers = owner.execute(
        """SELECT proname, proconfig FROM pg_proc
           WHERE pronamespace = 'public'::regnamespace AND prosecdef"""
    ).fetchall()
    assert {name for name, _ in definers} == DEFINERS
    assert all(config == ["search_path=pg_catalog, public"] for _, config in definers)
    open_to_all = owner.execute(
        """SELECT p.proname FROM pg_proc p JOIN pg_language l ON l.oid = p.prolang
           WHERE p.pronamespace = 'public'::regnamespace AND l.lanname IN ('sql', 'plpgsql')
             AND has_function_privilege('public', p.oid, 'EXECUTE')"""
    ).fetchall()
    assert open_to_all == []


def test_only_the_worker_changes_the_model(owner: psycopg.Connection[Any]) -> None:
    """What registers a model, lets it serve or looks for waiting entries of all tenants is not the shim's."""
    for role in ROLES:
        may = owner.execute(
            """SELECT proname FROM pg_proc
               WHERE proname = ANY (%s) AND has_function_privilege(%s, oid, 'EXECUTE')""",
            [list(OF_THE_WORKER), role],
        ).fetchall()
        assert {name for (name,) in may} == (OF_THE_WORKER if role == "foreword_worker" else set())


@pytest.mark.parametrize("table", TABLES)
def test_a_forgotten_predicate_returns_nothing(
    table: str, restricted: psycopg.Connection[Any], pair: tuple[int, int]
) -> None:
    """A query without a tenant's predicate sees nothing with no tenant set, and one's own with one set."""
    one, two = pair
    query = sql.SQL("SELECT tenant_id FROM {}").format(sql.Identifier(table))
    if table == "api_keys" or not _may(restricted, table, "SELECT"):
        with pytest.raises(psycopg.errors.InsufficientPrivilege):
            restricted.execute(query)
        return
    for unset in (None, ""):
        if unset is not None:
            _set_tenant(restricted, unset)
        assert restricted.execute(query).fetchall() == []
    for tenant in (two, one):
        _set_tenant(restricted, tenant)
        assert set(restricted.execute(query).fetchall()) == {(tenant,)}


@pytest.mark.parametrize("table", TABLES)
def test_a_forgotten_predicate_changes_nothing_of_others(
    table: str, restricted: psycopg.Connection[Any], pair: tuple[int, int], owner: psycopg.Connection[Any]
) -> None:
    """A bare DELETE or UPDATE touches the set tenant's rows alone, and a row of another cannot be put in."""
    one, two = pair
    _set_tenant(restricted, two)
    others = sql.SQL("SELECT count(*) FROM {} WHERE tenant_id = %s").format(sql.Identifier(table))
    before = owner.execute(others, [one]).fetchone()
    assert before != (0,)
    if _may(restricted, table, "DELETE"):
        bare = sql.SQL("DELETE FROM {} RETURNING tenant_id").format(sql.Identifier(table))
        assert set(restricted.execute(bare).fetchall()) == {(two,)}
    if _may(restricted, table, "INSERT"):
        copy = sql.SQL("INSERT INTO {} (tenant_id) VALUES (%s)").format(sql.Identifier(table))
        with pytest.raises(psycopg.errors.InsufficientPrivilege, match="row-level security"):
            restricted.execute(copy, [one])
    restricted.rollback()
    assert owner.execute(others, [one]).fetchone() == before


def test_an_update_cannot_move_a_row_to_another_tenant(services: Services, pair: tuple[int, int]) -> None:
    """The policy also checks what an UPDATE writes."""
    one, two = pair
    with psycopg.connect(services.worker_url) as conn:
        _set_tenant(conn, one)
        with pytest.raises(psycopg.errors.InsufficientPrivilege, match="row-level security"):
            conn.execute("UPDATE jobs SET tenant_id = %s", [two])


def test_functions_see_the_set_tenant_alone(
    services: Services, pair: tuple[int, int], owner: psycopg.Connection[Any]
) -> None:
    """A function called with another tenant's scope or ref finds, removes and awaits nothing of it."""
    one, two = pair
    owner.execute("UPDATE scopes SET memory_ref = 'lock/alone' WHERE tenant_id = %s", [one])
    found = owner.execute("SELECT scope_id FROM scopes WHERE tenant_id = %s", [one]).fetchone()
    assert found is not None
    with psycopg.connect(services.shim_url) as conn:
        _set_tenant(conn, two)
        asked = (found[0], 0, None, 10, "prefix", 2**62, None, None, 1000)
        walked = conn.execute(
            "SELECT kept, visited FROM walk_recent(%s, %s, %s, %s, %s, %s, %s, %s, now(), %s)", asked
        ).fetchone()
        assert walked == ([], 0)
        for call, answer in (
            ("count_live(%s, NULL, NULL, now())", None),
            ("count_live(%s, 't', NULL, now())", 0),
            ("(SELECT count(*) FROM score_words(%s, 'text'))", 0),
            ("(SELECT count(*) FROM speakers_of(%s))", 0),
        ):
            assert conn.execute(f"SELECT {call}".encode(), [found[0]]).fetchone() == (answer,)
        for call, answer in (
            ("remove_entry('lock/alone', 'same')", "unknown"),
            ("forget_entries('lock/alone', NULL, NULL)", 0),
            ("is_pending('lock/alone', 1000000)", False),
        ):
            assert conn.execute(f"SELECT {call}".encode()).fetchone() == (answer,)
        _set_tenant(conn, one)
        assert conn.execute("SELECT is_pending('lock/alone', 1000000)").fetchone() == (True,)
    owner.execute("UPDATE scopes SET memory_ref = 'lock/ref' WHERE tenant_id = %s", [one])


def test_a_key_is_found_by_its_whole_name_alone(services: Services, pair: tuple[int, int]) -> None:
    """The look-up of a key gives one key to who names its tenant and id, without a tenant being set."""
    with psycopg.connect(services.shim_url) as conn:
        find = "SELECT tenant_name FROM find_key(%s, %s)"
        assert conn.execute(find, (pair[0], "aaaaaaaa")).fetchall() == [("lock-one",)]
        assert conn.execute(find, (pair[0], "%")).fetchall() == []
        assert conn.execute(find, (None, "aaaaaaaa")).fetchall() == []


def test_a_tenant_lasts_for_one_transaction(services: Services, pair: tuple[int, int]) -> None:
    """A pooled connection forgets the tenant at the end of the transaction that set it."""
    with psycopg.connect(services.shim_url, autocommit=True) as conn:
        with conn.transaction():
            _set_tenant(conn, pair[0])
            assert conn.execute("SELECT count(*) FROM entries").fetchone() == (1,)
        assert conn.execute("SELECT count(*) FROM entries").fetchone() == (0,)


def _set_tenant(conn: psycopg.Connection[Any], tenant: object) -> None:
    conn.execute("SELECT set_config('foreword.tenant', %s::text, true)", [str(tenant)])


def _may(conn: psycopg.Connection[Any], table: str, what: str) -> bool:
    found = conn.execute("SELECT has_table_privilege(%s, %s)", (table, what)).fetchone()
    return bool(found and found[0])
