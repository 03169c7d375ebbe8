"""Runs: each entry one writes is told to it, once and in order."""

import threading
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import psycopg
import pytest

from tests.integration.rig import Rig
from tests.integration.running import as_tenant, begin, draft, events
from worker.parts import Parts
from worker.stores.ledger import Filing
from worker.write import drain


def test_each_entry_is_told_to_its_run(rig: Rig, tenant: int, parts: Parts, shim: Any, owner: Any) -> None:
    """One ``memory.written`` an entry, with ref, id, node and redacted tags, and never a word of content."""
    scope, run = rig.scope(tenant), begin(shim, tenant, "told")
    token = "ghp_" + "a1B2c3D4e5" * 4
    rig.accept(
        tenant,
        [
            draft(scope, "one", run, "hippopotamus", tags=("t", token), node="n1"),
            draft(scope, "none", None, "of no run"),
            draft(scope, "two", run, "hippopotamus"),
        ],
    )
    assert drain(tenant, parts) == 3
    told = {"memoryRef": scope.memory_ref}
    assert events(owner, tenant, run) == [
        (
            1,
            "memory.written",
            told | {"memoryId": "one", "tags": ["t", "[REDACTED:github-token]"], "nodeId": "n1"},
        ),
        (2, "memory.written", told | {"memoryId": "two", "tags": []}),
    ]
    rig.accept(tenant, [draft(scope, "three", run)])
    drain(tenant, parts)
    assert [seq for seq, _, _ in events(owner, tenant, run)] == [1, 2, 3]


def test_a_batch_of_no_run_asks_nothing_about_runs(
    rig: Rig, tenant: int, parts: Parts, shim: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Filing what no run wrote runs not one statement more; one Draft of a run adds one look and one word."""
    scope, run = rig.scope(tenant), begin(shim, tenant, "costly")
    asked: list[str] = []
    plain = Filing.run

    def noting(filing: Filing, name: str, /, *, of: str = "ledger", **params: object) -> Any:
        asked.append(f"{of}.{name}")
        return plain(filing, name, of=of, **params)

    monkeypatch.setattr(Filing, "run", noting)
    rig.accept(tenant, [draft(scope, f"plain-{n}", None) for n in range(3)])
    drain(tenant, parts)
    assert [name for name in asked if name.startswith("runs.")] == []
    rig.accept(tenant, [draft(scope, f"mixed-{n}", run if n else None) for n in range(3)])
    drain(tenant, parts)
    assert [name for name in asked if name.startswith("runs.")] == ["runs.run_secrets", "runs.tell"]


def test_a_repeat_is_not_told_again(rig: Rig, tenant: int, parts: Parts, shim: Any, owner: Any) -> None:
    """The same Draft before and after filing, also from another run, gives one receipt, entry and event."""
    scope, run = rig.scope(tenant), begin(shim, tenant, "first")
    other = begin(shim, tenant, "second")
    once = draft(scope, "same", run)
    receipts = [rig.accept(tenant, [once]), rig.accept(tenant, [once])]
    drain(tenant, parts)
    receipts += [rig.accept(tenant, [once]), rig.accept(tenant, [draft(scope, "same", other)])]
    drain(tenant, parts)
    assert len({receipt.seq for (receipt,) in receipts}) == 1
    assert [payload["memoryId"] for _, _, payload in events(owner, tenant, run)] == ["same"]
    assert events(owner, tenant, other) == []


def test_only_what_is_filed_is_told(rig: Rig, tenant: int, parts: Parts, shim: Any, owner: Any) -> None:
    """Where the ledger refuses one Draft of a batch, its neighbours are told and it is not."""
    scope, run = rig.scope(tenant), begin(shim, tenant, "partly")
    rig.accept(
        tenant, [draft(scope, name, run, text) for name, text in (("a", "x"), ("b", "\x00"), ("c", "y"))]
    )
    assert drain(tenant, parts) == 3
    assert [payload["memoryId"] for _, _, payload in events(owner, tenant, run)] == ["a", "c"]
    rig.run(rig.remover.remove(scope, "b"))


def test_numbers_have_no_gaps_under_concurrency(
    rig: Rig, tenant: int, shim: Any, owner: psycopg.Connection[Any]
) -> None:
    """Two workers and the shim tell one run at once: 1 to n, each once."""
    scope, run = rig.scope(tenant), begin(shim, tenant, "busy")
    rig.accept(tenant, [draft(scope, f"e{n}", run) for n in range(60)])
    start = threading.Barrier(3)

    def work(parts: Parts) -> None:
        start.wait()
        drain(tenant, parts)

    def tell() -> None:
        start.wait()
        for n in range(20):
            as_tenant(
                shim,
                tenant,
                "SELECT tell_runs(ARRAY[%s], ARRAY[%s], ARRAY['t'], ARRAY['{}']::jsonb[])",
                run,
                str(n),
            )

    with ThreadPoolExecutor(3) as pool:
        jobs = [pool.submit(work, rig.parts(batch=5)) for _ in range(2)] + [pool.submit(tell)]
        for job in jobs:
            job.result()
    drain(tenant, rig.parts())
    told = events(owner, tenant, run)
    assert [seq for seq, _, _ in told] == list(range(1, 81))
    written = [payload["memoryId"] for _, type_, payload in told if type_ == "memory.written"]
    assert sorted(written) == sorted(f"e{n}" for n in range(60))
