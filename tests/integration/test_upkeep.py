"""Upkeep while reads go on: a counter is added, a secret is registered late, a removed id is free again."""

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from types import MappingProxyType
from typing import Any

import psycopg
import pytest
from psycopg.conninfo import make_conninfo

from api_shim import counting, options
from api_shim.counting import Counting
from api_shim.sources import recent
from foreword import counters, instant
from foreword.counters import CounterSpec
from foreword.doctor.contents import contents
from foreword.doctor.finding import Place
from foreword.draft import Draft
from foreword.errors import Unavailable
from foreword.json_row import render_json_row
from foreword.ledger.migrate import migrate
from foreword.scope import Scope
from tests.integration.rig import Rig, everything, ids_of
from tests.services import Services
from worker.parts import Parts
from worker.steps import count
from worker.stores.rebuild import rebuild
from worker.upkeep import jobs, recount, resweep
from worker.upkeep.expire import expire
from worker.write import drain

WORDS = CounterSpec(name="words", ordinal=4, load=lambda: lambda text: len(text.split()))
PLANTED = "correct-horse-battery"


@pytest.fixture
def rig(services: Services) -> Iterator[Rig]:
    """A rig on a database of its own: upkeep visits every tenant there is."""
    name = "upkeep"
    with psycopg.connect(services.owner_url, autocommit=True) as conn:
        conn.execute(f"CREATE DATABASE {name}".encode())
    urls = {
        role: make_conninfo(getattr(services, role), dbname=name)
        for role in ("owner_url", "shim_url", "worker_url")
    }
    kept = services.credentials
    migrate(urls["owner_url"], shim_password=kept.shim_password, worker_password=kept.worker_password)
    made = Rig(replace(services, **urls))
    yield made
    made.close()
    with psycopg.connect(services.owner_url, autocommit=True) as conn:
        conn.execute(f"DROP DATABASE {name} WITH (FORCE)".encode())


@pytest.fixture
def owner(rig: Rig) -> Iterator[psycopg.Connection[Any]]:
    """The owner's connection."""
    with psycopg.connect(rig.services.owner_url, autocommit=True) as conn:
        yield conn


@pytest.fixture
def warm(rig: Rig) -> tuple[Scope, Parts]:
    """A memory of 30 entries, more than its head holds, and its worker."""
    parts = rig.parts(rig.hot_view(head_entries=4))
    scope = rig.scope(rig.tenant())
    _write(rig, scope, parts, "old", 30)
    return scope, parts


@pytest.fixture
def new_counter(rig: Rig, warm: tuple[Scope, Parts], monkeypatch: pytest.MonkeyPatch) -> str:
    """A counter is registered in this version of the code, and in the ledger as incomplete."""
    grown = MappingProxyType({**counters.COUNTERS, WORDS.name: WORDS})
    for module in (counters, options, recent, count, recount):
        monkeypatch.setattr(module, "COUNTERS", grown)
    monkeypatch.setattr(recount, "_BATCH", 8)
    assert recount.announce(rig.services.owner_url) == [WORDS.name]
    return WORDS.name


def test_a_counter_is_added_while_reads_go_on(
    rig: Rig,
    warm: tuple[Scope, Parts],
    new_counter: str,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Entries with and without the new cost live side by side; it is refused until all have it."""
    scope, parts = warm
    monkeypatch.setattr(counting, "FRESH_SECONDS", 0.0)
    gate = Counting(rig.database)

    _write(rig, scope, parts, "new", 3)
    _agree(rig, scope, 33, ordinals=range(4))
    for name in counters.COUNTERS:
        if name != new_counter:
            rig.run(gate.require(name))
    asked = options.ReadOptions(memory_ref=scope.memory_ref, counter=new_counter)
    for reachable in (True, False):
        with pytest.raises(Unavailable) as refused:
            rig.run(rig.reader.list(scope, asked, reachable=reachable))
        assert refused.value.retry_after >= 1

    assert recount.outstanding(parts) == 30
    cut_short = recount.recount(parts)
    assert next(cut_short) == 8
    cut_short.close()
    assert recount.outstanding(parts) == 22
    rebuild(scope, rig.ledger, parts.hot_view, instant.now_ms())
    _agree(rig, scope, 33, ordinals=range(4))
    with pytest.raises(Unavailable):
        rig.run(gate.require(new_counter))

    assert sum(recount.recount(parts)) == 22
    assert recount.outstanding(parts) == 0
    recount.complete(rig.services.owner_url)
    rig.run(gate.require(new_counter))
    answer = rig.run(rig.reader.list(scope, asked, reachable=True))
    assert b'"counter":"words","used":99' in answer.body
    rebuild(scope, rig.ledger, parts.hot_view, instant.now_ms())
    _agree(rig, scope, 33, ordinals=range(5))
    by_words = rig.from_ledger(scope, everything(counter="words", ordinal=4, budget=7), instant.now_ms())
    assert (by_words.report.used, by_words.report.returned) == (6, 2)


def test_a_known_counter_needs_no_ledger(rig: Rig, monkeypatch: pytest.MonkeyPatch) -> None:
    """What was complete once is not asked for again; what is not is asked for every few seconds at most."""
    asked: list[str] = []

    class Watched:
        async def ask(self, name: str) -> list[dict[str, Any]]:
            asked.append(name)
            return await rig.database.ask(name)

    gate = Counting(Watched())  # type: ignore[arg-type]
    for _ in range(3):
        rig.run(gate.require("chars"))
        with pytest.raises(Unavailable):
            rig.run(gate.require("words"))
    assert asked == ["counters"]


def test_a_recount_does_not_overtake_a_sweep(
    rig: Rig, warm: tuple[Scope, Parts], owner: psycopg.Connection[Any]
) -> None:
    """Costs taken of a text that was rewritten meanwhile are not stored with the new text."""
    scope, parts = warm
    with parts.ledger.transaction(scope.tenant) as filing:
        rows = filing.run(
            "uncounted", of="upkeep", scope_id=0, id="", counters=4, everything=True, limit=5
        ).fetchall()
    one = "UPDATE entries SET content = 'rewritten', costs = '{7,7,7,7}' WHERE tenant_id = %s AND id = %s"
    owner.execute(one, [scope.tenant, rows[0]["id"]])
    with parts.ledger.transaction(scope.tenant) as filing:
        recount._rewrite(filing, rows)
    kept = "SELECT costs FROM entries WHERE tenant_id = %s AND id = %s"
    assert owner.execute(kept, [scope.tenant, rows[0]["id"]]).fetchone() == ([7, 7, 7, 7],)


def test_entries_from_before_json_rows_get_their_costs(
    rig: Rig,
    warm: tuple[Scope, Parts],
    owner: psycopg.Connection[Any],
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
) -> None:
    """A recount gives older entries the cost of their JSON row; until all have it JSON is refused."""
    scope, parts = warm
    monkeypatch.setattr(recount, "_BATCH", 8)
    monkeypatch.setattr(counting, "FRESH_SECONDS", 0.0)
    gate = Counting(rig.database)
    place = Place(data_dir=tmp_path, here=None, environment={"FOREWORD_DATABASE_URL": rig.services.owner_url})
    kept = "SELECT array_agg(json_costs ORDER BY seq) FROM entries WHERE tenant_id = %s"
    counted = owner.execute(kept, [scope.tenant]).fetchone()
    owner.execute("UPDATE entries SET json_costs = '{}'")
    owner.execute("UPDATE counters SET json_complete = false")
    assert recount.outstanding(parts) == 30
    cut_short = recount.recount(parts)
    assert next(cut_short) == 8
    cut_short.close()
    assert recount.outstanding(parts) == 22
    rig.run(gate.require("chars"))
    with pytest.raises(Unavailable, match="foreword recount"):
        rig.run(gate.require("chars", json=True))
    assert [one.mend for one in contents(place) if one.state == "warning"] == ["foreword recount"]
    assert sum(recount.recount(parts)) == 22
    assert recount.outstanding(parts) == 0
    recount.complete(rig.services.owner_url)
    rig.run(gate.require("chars", json=True))
    assert [one for one in contents(place) if one.state != "ok"] == []
    assert owner.execute(kept, [scope.tenant]).fetchone() == counted


def test_a_sweep_counts_json_rows_again(rig: Rig, owner: psycopg.Connection[Any]) -> None:
    """What a sweep rewrote costs what its new JSON row does."""
    parts = rig.parts()
    scope = rig.scope(rig.tenant())
    rig.accept(scope.tenant, [Draft(memory_ref=scope.memory_ref, content=f'a "{PLANTED}"', id="e")])
    drain(scope.tenant, parts)
    _put_secret(rig, scope.tenant)
    assert jobs.run_jobs(scope.tenant, parts) == 1
    found = owner.execute(
        "SELECT content, observed_at, json_costs FROM entries WHERE tenant_id = %s", [scope.tenant]
    ).fetchone()
    assert found is not None
    assert found[0] == 'a "[REDACTED:planted]"'
    row = render_json_row(kind="fact", id="e", content=found[0], observed=found[1].strftime("%Y-%m-%d"))
    assert found[2] == [counters.counter(name).count(row) for name in counters.COUNTERS]


def test_a_late_secret_is_swept_from_where_it_stopped(
    rig: Rig, monkeypatch: pytest.MonkeyPatch, owner: psycopg.Connection[Any]
) -> None:
    """A sweep that a crash cut short goes on behind its last step, and leaves nothing of the secret."""
    monkeypatch.setattr(resweep, "_BATCH", 4)
    parts = rig.parts(rig.hot_view(head_entries=4))
    scope = rig.scope(rig.tenant())
    drafts = [
        Draft(memory_ref=scope.memory_ref, content=f"{n} {PLANTED}", id=f"e{n:02}", tags=(f"t {PLANTED}",))
        for n in range(10)
    ]
    rig.accept(scope.tenant, drafts)
    drain(scope.tenant, parts)
    _put_secret(rig, scope.tenant)

    starts: list[str] = []

    def watched(tenant: int, resume: dict[str, Any], parts: Parts) -> Any:
        starts.append(resume.get("id", ""))
        if len(starts) == 2:
            raise Unavailable
        return resweep.resweep_step(tenant, resume, parts)

    monkeypatch.setitem(jobs.STEPPERS, "secret-sweep", watched)
    with pytest.raises(Unavailable):
        jobs.run_jobs(scope.tenant, parts)
    _agree(rig, scope, 10, ordinals=range(4))
    assert jobs.run_jobs(scope.tenant, parts) == 0, "another worker may still be running it"
    monkeypatch.setattr(jobs, "SILENCE", jobs.SILENCE * 0)
    assert jobs.run_jobs(scope.tenant, parts) == 1
    assert starts == ["", "e03", "e03", "e07"]

    rebuild(scope, rig.ledger, parts.hot_view, instant.now_ms())
    _agree(rig, scope, 10, ordinals=range(4))
    told = rig.from_ledger(scope, everything(), instant.now_ms(), full=True)
    assert PLANTED.encode() not in told.entries
    assert told.entries.count(b"[REDACTED:planted]") == 20
    tags = owner.execute(
        "SELECT DISTINCT tag FROM entry_tags WHERE tenant_id = %s", [scope.tenant]
    ).fetchall()
    assert tags == [("t [REDACTED:planted]",)]
    status = owner.execute(
        "SELECT status, progress FROM jobs WHERE tenant_id = %s", [scope.tenant]
    ).fetchall()
    assert status == [("succeeded", 1.0)]


def test_a_removed_id_is_free_after_its_days(
    rig: Rig, warm: tuple[Scope, Parts], owner: psycopg.Connection[Any]
) -> None:
    """Until then a repeat files nothing; afterwards it is a new entry, whatever replaced the old one."""
    scope, parts = warm
    again = [Draft(memory_ref=scope.memory_ref, content="note number 3", id="old3")]
    rig.accept(
        scope.tenant,
        [Draft(memory_ref=scope.memory_ref, content="new", id="heir", supersedes=("old3", "old4"))],
    )
    drain(scope.tenant, parts)
    rig.run(rig.remover.remove(scope, "old3"))
    rig.accept(scope.tenant, again)
    assert drain(scope.tenant, parts) == 0
    owner.execute(
        "UPDATE receipts SET removed_at = removed_at - interval '8 days' WHERE tenant_id = %s", [scope.tenant]
    )
    expire(parts)
    rig.accept(scope.tenant, again)
    assert drain(scope.tenant, parts) == 1
    assert _agree(rig, scope, 30, ordinals=range(4))[:2] == ["old3", "heir"]


def _write(rig: Rig, scope: Scope, parts: Parts, name: str, number: int) -> None:
    drafts = [
        Draft(memory_ref=scope.memory_ref, content=f"note number {n}", id=f"{name}{n}") for n in range(number)
    ]
    rig.accept(scope.tenant, drafts)
    assert drain(scope.tenant, parts) == number


def _agree(rig: Rig, scope: Scope, number: int, *, ordinals: range) -> list[str]:
    """Ids newest first, the same from every source that answers, in every counter."""
    now = instant.now_ms()
    ids: list[str] = []
    for ordinal in ordinals:
        for ask in (everything(ordinal=ordinal), everything(ordinal=ordinal, budget=9)):
            truth = rig.from_ledger(scope, ask, now)
            for found in (rig.from_head(scope, ask, now), rig.from_window(scope, ask, now)):
                assert found is None or found == truth
        ids = ids_of(rig.from_ledger(scope, everything(ordinal=ordinal), now))
        assert len(ids) == number
    return ids


def _put_secret(rig: Rig, tenant: int) -> None:
    async def put() -> None:
        async with rig.database.transaction(tenant) as transaction:
            sealed = rig.acceptor.sealer.seal(PLANTED.encode())
            await transaction.run("put_secret", {"id": "planted", "sealed": sealed})

    rig.run(put())
