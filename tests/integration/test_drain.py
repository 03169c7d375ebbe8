"""The drain: each Draft is filed once, a poisonous one fails alone, and no tenant waits for another's."""

import threading
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import psycopg
import pytest

from foreword import instant
from foreword.draft import Draft
from foreword.errors import SealError
from foreword.scope import Scope
from foreword.seal import Sealer, new_secret_key, public_key
from tests.integration.rig import Rig, everything, ids_of
from tests.integration.stepwise import Drain, Removal
from worker.parts import Parts
from worker.stores.rebuild import rebuild
from worker.upkeep.expire import expire
from worker.upkeep.retry import retry
from worker.upkeep.sweep import sweep
from worker.write import drain


def draft(scope: Scope, name: str, content: str = "a plain note", **given: Any) -> Draft:
    """A Draft under an id."""
    return Draft(memory_ref=scope.memory_ref, content=content, id=name, **given)


def shown(rig: Rig, scope: Scope) -> list[str]:
    """Ids a read shows now, the same from the hot view and the ledger."""
    now = instant.now_ms()
    truth = rig.from_ledger(scope, everything(), now)
    glance = rig.run(rig.glance(scope, everything(), now))
    assert glance.page is None or glance.page == truth
    return ids_of(truth)


def answered(rig: Rig, scope: Scope) -> list[str]:
    """Ids of one read, from wherever it is answered, while others write."""
    now = instant.now_ms()
    glance = rig.run(rig.glance(scope, everything(), now))
    return ids_of(glance.page or rig.from_ledger(scope, everything(), now))


def test_two_workers_file_each_draft_once(rig: Rig, tenant: int, owner: psycopg.Connection[Any]) -> None:
    """Workers that drain one tenant at the same time share the work and file everything exactly once."""
    scopes = [rig.scope(tenant) for _ in range(3)]
    drafts = [draft(scopes[n % 3], f"e{n}") for n in range(90)]
    rig.accept(tenant, drafts)
    both = [rig.parts(batch=7), rig.parts(batch=7)]
    start = threading.Barrier(2)

    def work(parts: Parts) -> int:
        start.wait()
        return drain(tenant, parts)

    with ThreadPoolExecutor(2) as pool:
        filed = list(pool.map(work, both))
    assert sum(filed) + drain(tenant, both[0]) == 90
    for n, scope in enumerate(scopes):
        assert shown(rig, scope) == [f"e{i}" for i in range(89 - (89 - n) % 3, -1, -3)]
    left = owner.execute("SELECT count(*) FROM inbox WHERE tenant_id = %s", [tenant]).fetchone()
    events = owner.execute(
        "SELECT sum(cardinality(ids)) FROM events WHERE tenant_id = %s", [tenant]
    ).fetchone()
    assert (left, events) == ((0,), (90,))


def test_poison_fails_alone_and_is_kept(
    rig: Rig, tenant: int, parts: Parts, owner: psycopg.Connection[Any]
) -> None:
    """A changed seal, an unknown key, and a row that PostgreSQL refuses: each fails with its own reason."""
    scope = rig.scope(tenant)
    lost_key = new_secret_key()
    _, others = retry(parts)  # Drafts of other tests' tenants in the same ledger, poisonous for good
    rig.accept(tenant, [draft(scope, name) for name in ("good", "changed", "foreign", "last")])
    rig.accept(tenant, [draft(scope, "refused", "secret\x00text")])
    sealed = _sealed(owner, tenant, "changed")
    _seal(owner, tenant, "changed", sealed[:-1] + bytes([sealed[-1] ^ 1]))
    other = Sealer(public_key(lost_key)).seal(draft(scope, "foreign").to_bytes())
    _seal(owner, tenant, "foreign", other)

    assert drain(tenant, parts) == 5
    assert shown(rig, scope) == ["last", "good"]
    reasons = {name: _reason(rig, scope, name) for name in ("changed", "foreign", "refused")}
    assert reasons == {
        "changed": "A sealed Draft was changed or cut.",
        "foreign": "No opening key has the id this Draft was sealed to.",
        "refused": "The ledger refused it (22P05).",
    }
    assert _sealed(owner, tenant, "foreign") == other
    assert not rig.run(rig.reader.is_pending(scope, 2**62))

    assert retry(rig.parts(keys=[rig.seal_key, lost_key])) == (others + 3, others + 2)
    assert shown(rig, scope) == ["last", "foreign", "good"]
    _seal(owner, tenant, "changed", sealed)
    assert retry(parts) == (others + 2, others + 1)
    assert shown(rig, scope) == ["last", "foreign", "changed", "good"]
    rig.run(rig.remover.remove(scope, "refused"))
    assert retry(parts) == (others, others)


def test_what_cannot_be_counted_fails_alone(rig: Rig, tenant: int, parts: Parts) -> None:
    """A text that a tokenizer would choke on is set aside, and the rest of its batch is filed."""
    scope = rig.scope(tenant)
    rig.accept(
        tenant, [draft(scope, "before"), draft(scope, "blank", "a" + " " * 900_000), draft(scope, "after")]
    )
    assert drain(tenant, parts) == 3
    assert shown(rig, scope) == ["after", "before"]
    assert "cannot count" in str(_reason(rig, scope, "blank"))
    rig.run(rig.remover.remove(scope, "blank"))


def test_a_whole_batch_of_poison_leaves_the_view_alone(
    rig: Rig, tenant: int, parts: Parts, owner: psycopg.Connection[Any]
) -> None:
    """A batch of which nothing is filed changes no version and leaves the scope warm."""
    scope = rig.scope(tenant)
    rig.accept(tenant, [draft(scope, "good")])
    drain(tenant, parts)
    rig.accept(tenant, [draft(scope, "bad", "\x00")])
    assert drain(tenant, parts) == 1
    assert parts.hot_view.is_warm(scope, instant.now_ms())
    rig.run(rig.remover.remove(scope, "bad"))
    assert shown(rig, scope) == ["good"]


def test_a_draft_that_expired_on_the_way_is_never_shown(rig: Rig, tenant: int, parts: Parts) -> None:
    """An entry that had expired before it was filed, even before 1970, is in no view."""
    scope = rig.scope(tenant)
    past = [-5, 0, 1, instant.now_ms() - 1]
    rig.accept(tenant, [draft(scope, f"e{n}", expires_at=at) for n, at in enumerate(past)])
    rig.accept(tenant, [draft(scope, "lasting")])
    drain(tenant, parts)
    rig.accept(tenant, [draft(scope, f"f{n}", expires_at=at) for n, at in enumerate(past)])
    drain(tenant, parts)
    now = instant.now_ms()
    for found in (rig.from_head(scope, everything(), now), rig.from_window(scope, everything(), now)):
        assert found is not None
        assert ids_of(found) == ["lasting"]
    assert shown(rig, scope) == ["lasting"]


def test_a_claimed_draft_is_skipped(rig: Rig, tenant: int, parts: Parts) -> None:
    """A worker does not wait for Drafts that another holds; they come into their old places later."""
    scope = rig.scope(tenant)
    rig.accept(tenant, [draft(scope, "early")])
    slow = Drain(tenant, parts)
    assert slow.stage == "claimed"
    rig.accept(tenant, [draft(scope, "late")])
    assert drain(tenant, parts) == 1
    assert shown(rig, scope) == ["late"]
    while slow.step() != "done":
        pass
    assert shown(rig, scope) == ["late", "early"]


def test_a_successor_and_its_predecessor_change_places_at_once(rig: Rig, tenant: int, parts: Parts) -> None:
    """Before the commit the old entry is shown, after it the new one; never both, never neither."""
    scope = rig.scope(tenant)
    rig.accept(tenant, [draft(scope, "old")])
    drain(tenant, parts)
    rig.accept(tenant, [draft(scope, "new", supersedes=("old",))])
    writer = Drain(tenant, parts)
    seen = [shown(rig, scope)]
    while writer.stage != "done":
        writer.step()
        seen.append(shown(rig, scope))
    assert seen == [["old"], ["old"], ["new"], ["new"]]


def test_tenants_are_filed_apart(rig: Rig, parts: Parts, owner: psycopg.Connection[Any]) -> None:
    """What breaks one tenant's drain leaves the others' filed, and its own Drafts waiting."""
    broken, well = rig.tenant(), rig.tenant()
    scopes = {tenant: Scope(tenant, "same/ref") for tenant in (broken, well)}
    sealed = Sealer(public_key(new_secret_key())).seal(b"a registered secret")
    owner.execute(
        "INSERT INTO secrets (tenant_id, secret_id, sealed) VALUES (%s, 'lost', %s)", [broken, sealed]
    )
    for tenant, scope in scopes.items():
        rig.accept(tenant, [draft(scope, "same", f"of tenant {tenant}")])
    with pytest.raises(SealError):
        drain(broken, parts)
    assert sweep(parts) == 1
    assert shown(rig, scopes[well]) == ["same"]
    assert shown(rig, scopes[broken]) == []
    assert rig.run(rig.reader.is_pending(scopes[broken], 2**62))
    owner.execute("DELETE FROM secrets WHERE tenant_id = %s", [broken])
    assert sweep(parts) == 1
    assert shown(rig, scopes[broken]) == ["same"]


def test_a_removal_waits_for_the_drain_that_holds_its_draft(rig: Rig, tenant: int, parts: Parts) -> None:
    """Removing a Draft while a worker files it ends with the entry gone, from the ledger and the view."""
    scope = rig.scope(tenant)
    rig.accept(tenant, [draft(scope, "doomed"), draft(scope, "kept")])
    writer = Drain(tenant, parts)
    writer.step()
    assert writer.stage == "opened"
    finish = threading.Timer(0.3, writer.step)
    finish.start()
    rig.run(rig.remover.remove(scope, "doomed"))
    finish.join()
    assert shown(rig, scope) == ["kept"]
    writer.step()
    assert writer.stage == "done"
    assert shown(rig, scope) == ["kept"]
    rebuild(scope, rig.ledger, parts.hot_view, instant.now_ms())
    assert shown(rig, scope) == ["kept"]


def test_a_lost_lease_never_brings_an_old_head(rig: Rig, tenant: int, parts: Parts) -> None:
    """A flush between a writer's opening and its commit lets nobody set a head without what it files."""
    scope = rig.scope(tenant)
    rig.accept(tenant, [draft(scope, "first")])
    drain(tenant, parts)
    rig.accept(tenant, [draft(scope, "second")])
    earlier = Drain(tenant, parts)
    while earlier.stage != "committed":
        earlier.step()
    rig.accept(tenant, [draft(scope, "third")])
    writer = Drain(tenant, parts)
    writer.step()
    assert writer.stage == "opened"
    rig.valkey.flushdb()
    with ThreadPoolExecutor(1) as pool:
        rebuilding = pool.submit(rebuild, scope, rig.ledger, parts.hot_view, instant.now_ms())
        earlier.step()
        assert shown(rig, scope) == ["second", "first"]
        writer.step()
        assert rebuilding.result(60)
    writer.crash()
    assert shown(rig, scope) == ["third", "second", "first"]


def test_a_removal_that_dies_before_it_voids_shows_nothing_old(rig: Rig, tenant: int, parts: Parts) -> None:
    """After the commit the head is gone already, so that a dead shim leaves no stale answer behind."""
    scope = rig.scope(tenant)
    rig.accept(tenant, [draft(scope, "doomed"), draft(scope, "kept")])
    drain(tenant, parts)
    removal = Removal(rig, scope, "doomed")
    assert removal.stage == "opened"
    removal.step()
    assert shown(rig, scope) == ["kept"]
    removal.crash()
    rebuild(scope, rig.ledger, parts.hot_view, instant.now_ms())
    assert shown(rig, scope) == ["kept"]
    rig.lapse(scope)
    assert rebuild(scope, rig.ledger, parts.hot_view, instant.now_ms())
    assert shown(rig, scope) == ["kept"]


def test_many_hands_on_one_scope(rig: Rig, tenant: int, owner: psycopg.Connection[Any]) -> None:
    """Drains, removals, purges and rebuilds at the same time neither block each other nor miscount."""
    scope = rig.scope(tenant)
    workers = [rig.parts(batch=5), rig.parts(batch=5)]
    done = threading.Event()
    soon = instant.now_ms() + 500
    removed: set[str] = set()

    def until_done(work: Any) -> None:
        while not done.is_set():
            work()

    with ThreadPoolExecutor(4) as pool:
        hands = [
            pool.submit(until_done, lambda: drain(tenant, workers[0])),
            pool.submit(until_done, lambda: drain(tenant, workers[1])),
            pool.submit(until_done, lambda: expire(workers[0])),
            pool.submit(
                until_done, lambda: rebuild(scope, rig.ledger, workers[1].hot_view, instant.now_ms())
            ),
        ]
        try:
            for round_ in range(25):
                names = [f"r{round_}-{n}" for n in range(6)]
                rig.accept(
                    tenant,
                    [draft(scope, names[0], expires_at=soon), draft(scope, names[1], supersedes=(names[2],))]
                    + [draft(scope, name) for name in names[2:]],
                )
                rig.run(rig.remover.remove(scope, names[3]))
                removed |= {names[3]}
                assert not removed & set(answered(rig, scope))
        finally:
            done.set()
        for hand in hands:
            hand.result(60)
    drain(tenant, workers[0])
    expected = [f"r{r}-{n}" for r in range(24, -1, -1) for n in (5, 4, 1)]
    assert [name for name in shown(rig, scope) if not name.endswith("-0")] == expected
    counted = owner.execute(
        """SELECT s.active = (SELECT count(*) FROM entries e WHERE e.tenant_id = s.tenant_id
                              AND e.scope_id = s.scope_id AND NOT e.superseded)
           FROM scopes s WHERE s.tenant_id = %s""",
        [tenant],
    ).fetchall()
    assert counted == [(True,)]


def _sealed(owner: psycopg.Connection[Any], tenant: int, name: str) -> bytes:
    row = owner.execute(
        "SELECT sealed FROM inbox WHERE tenant_id = %s AND id = %s", [tenant, name]
    ).fetchone()
    assert row is not None
    return bytes(row[0])


def _seal(owner: psycopg.Connection[Any], tenant: int, name: str, sealed: bytes) -> None:
    owner.execute("UPDATE inbox SET sealed = %s WHERE tenant_id = %s AND id = %s", [sealed, tenant, name])


def _reason(rig: Rig, scope: Scope, name: str) -> str | None:
    receipt = rig.run(rig.acceptor.receipt(scope, name))
    assert receipt is not None
    assert receipt.status == "failed"
    return receipt.reason
