"""Who makes vectors is not alone: others embed too, and entries are rewritten, replaced and removed."""

import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace

import psycopg
import pytest

from foreword.draft import Draft
from foreword.scope import Scope
from tests.integration.relevance.library import Library
from tests.services import eventually
from worker import embed as embedding
from worker.embed import _grow, embed
from worker.write import drain


def at_once(library: Library, scope: Scope, work: Callable[[], object]) -> None:
    """Another process keeps vectors; before its commit the work begins, and ends or waits; then both end."""
    keeping = threading.Thread(target=embed, args=(scope.tenant, library.embedding))
    working = threading.Thread(target=work)
    with psycopg.connect(library.rig.services.owner_url) as held:
        # what waits for a vector leaves the queue last
        held.execute("SELECT FROM unembedded WHERE tenant_id = %s FOR UPDATE", [scope.tenant])
        keeping.start()
        eventually(lambda: waiting(library) >= 1, "vectors are there and not committed")
        working.start()
        eventually(lambda: not working.is_alive() or waiting(library) >= 2, "the work ends or waits")
    for thread in (keeping, working):
        thread.join(30)
        assert not thread.is_alive()


def waiting(library: Library) -> int:
    """How many wait for a lock."""
    found: int = library.rows("SELECT count(*) FROM pg_stat_activity WHERE wait_event_type = 'Lock'")[0][0]
    return found


def owners(library: Library, statement: str) -> Callable[[], None]:
    """A statement of the owner's, on a connection of its own."""

    def run() -> None:
        with psycopg.connect(library.rig.services.owner_url) as conn:
            conn.execute(statement.encode())

    return run


def draft(scope: Scope, content: str, **given: object) -> Draft:
    """One named by its first word."""
    return Draft(memory_ref=scope.memory_ref, content=content, id=content.partition(" ")[0], **given)  # type: ignore[arg-type]


def test_no_vector_is_left_outside_the_graph(library: Library, scope: Scope) -> None:
    """One process says that a scope is in the graph before another commits vectors that are not."""
    library.write(scope, "zebra crossing", "plain", "ship")
    library.write(scope, draft(scope, "giraffe in the rain"), embedded=False)
    library.forget_graph()
    growing = replace(library.embedding, exact_rows=1)
    scopes = "SELECT in_graph FROM scopes WHERE tenant_id = %s"
    vectors = "SELECT in_graph, count(*) FROM vectors WHERE tenant_id = %s GROUP BY 1"
    at_once(library, scope, lambda: _grow(scope.tenant, growing))
    _grow(scope.tenant, growing)
    assert library.rows(scopes, scope.tenant) == [(True,)]
    assert library.rows(vectors, scope.tenant) == [(True, 4)]


def test_several_processes_lose_nothing_and_wait_for_nobody(
    library: Library, scope: Scope, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Four embed while entries are written, rewritten and removed: one vector each, all in the graph."""
    monkeypatch.setattr(embedding, "_BATCH", 8)
    monkeypatch.setattr(embedding, "_GRAPH_BATCH", 20)
    growing, written = replace(library.embedding, exact_rows=60), threading.Event()
    library.write(scope, *(f"zebra {n}" for n in range(80)), embedded=False)

    def work() -> None:
        while not written.is_set():
            embed(scope.tenant, growing)

    with ThreadPoolExecutor(4) as threads:
        running = [threads.submit(work) for _ in range(4)]
        for n in range(12):
            library.write(scope, *(draft(scope, f"n{n}-{i} lion") for i in range(5)), embedded=False)
            library.rig.run(library.rig.remover.remove(scope, f"e{n}"))
            owners(library, f"UPDATE entries SET content = 'tiger {n}' WHERE id = 'n{n}-0'")()
        written.set()
        for one in running:
            one.result(30)
    embed(scope.tenant, growing)
    entries = library.rows("SELECT id FROM entries WHERE tenant_id = %s ORDER BY 1", scope.tenant)
    kept = library.rows("SELECT id, in_graph FROM vectors WHERE tenant_id = %s ORDER BY 1", scope.tenant)
    assert len(entries) == 80 - 12 + 60
    assert kept == [(name, True) for (name,) in entries]
    assert library.traces(scope)["unembedded"] == 0
    tigers = library.search(scope, "semantic", "tiger 3", limit=1).rows
    assert (tigers[0]["id"], round(tigers[0]["similarity"], 2)) == ("n3-0", 1.0)


def test_a_rewrite_outlives_the_vector_of_what_was_said_before(library: Library, scope: Scope) -> None:
    """Who keeps a vector while its entry is rewritten keeps none of the text that has gone."""
    library.write(scope, "zebra crossing", embedded=False)
    rewrite = f"UPDATE entries SET content = 'other' WHERE tenant_id = {scope.tenant}"
    at_once(library, scope, owners(library, rewrite))
    library.embed(scope.tenant)
    found = library.search(scope, "semantic", "other").rows
    assert [round(row["similarity"], 2) for row in found] == [1.0]


def test_an_entry_that_is_being_rewritten_waits_on(library: Library, scope: Scope) -> None:
    """Who comes to an entry in the middle of its rewriting passes it over, and others with it do not wait."""
    library.write(scope, draft(scope, "zebra crossing"), draft(scope, "ship"), embedded=False)
    rewrite = f"UPDATE entries SET content = 'other' WHERE tenant_id = {scope.tenant} AND id = 'zebra'"
    with library.owner.transaction():
        library.owner.execute(rewrite.encode())
        assert library.embed(scope.tenant) == 1
    assert library.embed(scope.tenant) == 1
    found = library.search(scope, "semantic", "other", limit=1).rows
    assert [(row["id"], round(row["similarity"], 2)) for row in found] == [("zebra", 1.0)]


def test_what_is_replaced_takes_no_vector(library: Library, scope: Scope) -> None:
    """Who keeps a vector while a successor is filed keeps it for the successor alone."""
    library.write(scope, draft(scope, "zebra crossing"), embedded=False)
    library.rig.accept(scope.tenant, [draft(scope, "ship", supersedes=("zebra",))])
    at_once(library, scope, lambda: drain(scope.tenant, library.parts))
    library.embed(scope.tenant)
    kept = library.rows("SELECT id FROM vectors WHERE tenant_id = %s", scope.tenant)
    assert kept == [("ship",)]
    assert library.traces(scope)["unembedded"] == 0


def test_what_is_removed_takes_no_vector(library: Library, scope: Scope) -> None:
    """Who keeps vectors while one of the entries is removed keeps those of the others."""
    library.write(scope, draft(scope, "zebra crossing"), draft(scope, "ship"), embedded=False)
    remove = f"DELETE FROM entries WHERE tenant_id = {scope.tenant} AND id = 'zebra'"
    at_once(library, scope, owners(library, remove))
    library.embed(scope.tenant)
    assert library.rows("SELECT id FROM vectors WHERE tenant_id = %s", scope.tenant) == [("ship",)]
    assert library.traces(scope)["unembedded"] == 0
