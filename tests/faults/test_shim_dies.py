"""kill -9 of the shim with requests inside it."""

from contextlib import ExitStack

from tests.faults import truth
from tests.faults.calls import Asked, assert_gone, fill, persist
from tests.faults.conftest import Storm
from tests.faults.harm import SHIM, commits_held, frozen, kill, kill_role, pids, until_waiting
from tests.services import Product, eventually


def test_in_the_middle_of_traffic(hurt: Product, storm: Storm) -> None:
    """Runtimes that retry under the same id lose nothing and file nothing twice, however often it dies."""
    with storm(hurt) as traffic:
        for reached in (100, 200, 300):
            traffic.reached(reached)
            kill_role(hurt, "shim")


def test_between_the_commit_and_the_receipt(hurt: Product) -> None:
    """A write whose receipt never came is kept; the retry gets a receipt and nothing is filed twice."""
    draft = {"memoryRef": "shim/receipt", "id": "once", "content": "said once"}
    with ExitStack() as commits:
        commits.enter_context(commits_held(hurt))
        asked = Asked(hurt, "POST", "/v1/memory/entries", json=draft)
        until_waiting(hurt, "SyncRep", SHIM)
        kill(*pids(hurt, "shim"))
        assert asked.outcome() is None
    eventually(lambda: truth.newest(hurt, "shim/receipt") == ["once"], "what was committed is filed")
    again = persist(hurt, "POST", "/v1/memory/entries", json=draft)
    assert (again.status_code, again.json()["id"]) == (202, "once")
    assert truth.newest(hurt, "shim/receipt") == ["once"]
    assert truth.written_twice(hurt, "shim/receipt") == []


def test_between_the_commit_and_the_void_of_a_removal(hurt: Product) -> None:
    """A removal whose answer never came holds: nothing serves the entry, and a repeat is told 404."""
    ref = "shim/removal"
    fill(hurt, ref)
    with commits_held(hurt):
        asked = Asked(hurt, "DELETE", "/v1/memory/entries/e-5", params={"memoryRef": ref})
        until_waiting(hurt, "SyncRep", SHIM)
        kill(*pids(hurt, "shim"))
        assert asked.outcome() is None
    eventually(lambda: "e-5" not in truth.newest(hurt, ref), "the removal is committed")
    assert_gone(hurt, ref, "e-5")
    repeat = persist(hurt, "DELETE", "/v1/memory/entries/e-5", params={"memoryRef": ref})
    assert repeat.status_code == 404
    assert_gone(hurt, ref, "e-5")


def test_a_void_that_cannot_be_made_is_said(hurt: Product) -> None:
    """With no hot view after the commit a removal answers 503, holds all the same, and can be repeated."""
    ref = "shim/void"
    fill(hurt, ref)
    with ExitStack() as harm:
        with commits_held(hurt):
            asked = Asked(hurt, "DELETE", "/v1/memory/entries/e-5", params={"memoryRef": ref})
            until_waiting(hurt, "SyncRep", SHIM)
            harm.enter_context(frozen(*pids(hurt, "valkey")))
        answer = asked.outcome()
        assert answer is not None
        assert (answer.status_code, answer.json()["error"]) == (503, "unavailable")
        assert "e-5" not in truth.newest(hurt, ref)
    assert_gone(hurt, ref, "e-5")
    repeat = persist(hurt, "DELETE", "/v1/memory/entries/e-5", params={"memoryRef": ref})
    assert repeat.status_code == 404
    assert_gone(hurt, ref, "e-5")
