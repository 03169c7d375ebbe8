"""kill -9 of the workers inside a drain, at each point where it matters."""

import time
from contextlib import ExitStack

import redis

from foreword.keys import head_key
from foreword.ledger.api_keys import parse_key
from foreword.scope import Scope
from tests.faults import truth
from tests.faults.calls import window
from tests.faults.conftest import Storm
from tests.faults.harm import (
    WORKER,
    commits_held,
    kill,
    kill_role,
    pids,
    scope_locked,
    until_waiting,
)
from tests.services import LIMIT_S, Product, eventually


def test_before_the_commit(hurt: Product, storm: Storm) -> None:
    """A drain that dies before its commit leaves its Drafts in the inbox and no trace in a read."""
    with storm(hurt) as traffic:
        traffic.reached(100)
        with scope_locked(hurt, traffic.ref):
            until_waiting(hurt, "Lock", WORKER)
            filed = truth.newest(hurt, traffic.ref)
            kill(*pids(hurt, "worker"))
            traffic.agrees()
            assert truth.newest(hurt, traffic.ref) == filed
        traffic.agrees()


def test_after_the_commit_and_before_the_hot_view(hurt: Product, storm: Storm) -> None:
    """A drain that dies with its commit on disk, unacknowledged: reads see it; the scope gets warm again."""
    with storm(hurt) as traffic:
        traffic.reached(100)
        with ExitStack() as commits:
            with scope_locked(hurt, traffic.ref):
                until_waiting(hurt, "Lock", WORKER)
                filed = truth.newest(hurt, traffic.ref)
                commits.enter_context(commits_held(hurt))
            until_waiting(hurt, "SyncRep", WORKER)
            kill(*pids(hurt, "worker"))
            assert truth.newest(hurt, traffic.ref) == filed
            traffic.agrees()
        eventually(lambda: len(truth.newest(hurt, traffic.ref)) > len(filed), "the commit is there")
        traffic.agrees()
    eventually(lambda: window(hurt, traffic.ref), "the hot view answers again")
    traffic.settle()


def test_after_both(hurt: Product, storm: Storm) -> None:
    """A drain that dies right after the hot view shows its work: nothing is filed twice."""
    with storm(hurt) as traffic:
        for reached in (100, 200, 300):
            traffic.reached(reached)
            _await_show(hurt, traffic.ref)
            kill_role(hurt, "worker")
            traffic.agrees()


def _await_show(product: Product, ref: str) -> None:
    """Returns the moment a head appears that was not there before."""
    ready = product.wait_ready()
    key = parse_key(ready["apiKey"])
    assert key is not None
    head = head_key(Scope(key.tenant, ref))
    with redis.Redis.from_url(ready["redisUrl"]) as view:
        before = view.get(head)
        deadline = time.monotonic() + LIMIT_S
        while view.get(head) in (None, before):
            assert time.monotonic() < deadline, "no drain showed anything"
