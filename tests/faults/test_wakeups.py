"""Wake-ups lost, repeated and out of order: they are hints, and what they announce is in the ledger."""

import random
import uuid
from collections.abc import Callable
from typing import Any

import redis

import foreword
from foreword.keys import BROKER_PREFIX
from foreword.wake import QUEUE
from tests.faults import truth
from tests.faults.calls import persist
from tests.faults.conftest import Storm
from tests.faults.harm import WORKER, frozen, kill, kill_role, owner, pids, until_waiting
from tests.services import Product, eventually

Messages = list[bytes]


def test_lost(hurt: Product, storm: Storm) -> None:
    """Whatever is in the queue may vanish at any time; beat finds the Drafts within seconds."""
    with storm(hurt) as traffic:
        for reached in (100, 200, 300):
            traffic.reached(reached)
            _rewrite(hurt, lambda _: [])
    _assert_swept(hurt, lambda: _rewrite(hurt, lambda _: []))


def test_lost_with_the_whole_broker(hurt: Product) -> None:
    """A broker flushed under living connections forgets its bindings too; Drafts are still found."""
    _assert_swept(hurt, lambda: _flush(hurt))
    _assert_swept(hurt, lambda: None)


def test_repeated_and_out_of_order(hurt: Product, storm: Storm) -> None:
    """Each message three times, shuffled, wakes workers for nothing and does no harm."""
    with storm(hurt) as traffic:
        for reached in (100, 200, 300):
            with frozen(*pids(hurt, "worker")):
                traffic.reached(reached)
                _rewrite(hurt, _thrice)


def test_queued_drafts_repeated(hurt: Product) -> None:
    """Drafts handed to Celery and delivered three times each are filed once each."""
    ref = f"queued/{uuid.uuid4()}"
    with frozen(*pids(hurt, "worker")):
        ids = [_enqueue(hurt, ref, f"queued {n}") for n in range(30)]
        _rewrite(hurt, _thrice)
    eventually(lambda: len(truth.newest(hurt, ref)) >= len(ids), "queued Drafts are filed")
    eventually(lambda: _queue(hurt) == [], "the queue is empty")
    assert sorted(truth.newest(hurt, ref)) == sorted(ids)
    assert truth.written_twice(hurt, ref) == []


def test_queued_draft_of_a_dead_worker(hurt: Product, storm: Storm) -> None:
    """A message its worker died with is delivered again, and its Draft filed once."""
    ref = f"redelivered/{uuid.uuid4()}"
    with owner(hurt) as held, held.transaction():
        held.execute("LOCK TABLE receipts IN SHARE MODE")
        id_ = _enqueue(hurt, ref, "held by the dead")
        until_waiting(hurt, "Lock", WORKER)
        kill_role(hurt, "worker")
    assert truth.newest(hurt, ref) == []
    with storm(hurt):
        pass
    eventually(lambda: truth.newest(hurt, ref) == [id_], "it is delivered again")
    assert truth.written_twice(hurt, ref) == []


def _assert_swept(product: Product, lose: Callable[[], Any]) -> None:
    """A Draft accepted while no worker lives is filed although its wake-up is lost."""
    ref = f"swept/{uuid.uuid4()}"
    with frozen(*pids(product, "supervisor")):
        kill(*pids(product, "worker"))
        told = persist(product, "POST", "/v1/memory/entries", json={"memoryRef": ref, "content": "kept"})
        assert told.status_code == 202, told.text
        lose()
    eventually(lambda: truth.newest(product, ref) == [told.json()["id"]], "beat finds the Draft", 30)


def _enqueue(product: Product, ref: str, content: str) -> str:
    ready = product.wait_ready()
    return foreword.enqueue(
        {"memoryRef": ref, "content": content},
        api_key=ready["apiKey"],
        broker_url=ready["brokerUrl"],
        seal_key=ready["sealKey"],
    )


def _broker(product: Product) -> Any:
    return redis.Redis.from_url(product.wait_ready()["brokerUrl"])


def _queue(product: Product) -> Messages:
    with _broker(product) as broker:
        found: Messages = broker.lrange(BROKER_PREFIX + QUEUE, 0, -1)
        return found


def _rewrite(product: Product, change: Callable[[Messages], Messages]) -> None:
    """Replaces the queue at once."""
    key = BROKER_PREFIX + QUEUE
    with _broker(product) as broker:

        def rewrite(pipe: Any) -> None:
            changed = change(pipe.lrange(key, 0, -1))
            pipe.multi()
            pipe.delete(key)
            if changed:
                pipe.rpush(key, *changed)

        broker.transaction(rewrite, key)


def _flush(product: Product) -> None:
    with _broker(product) as broker:
        broker.flushdb()


def _thrice(messages: Messages) -> Messages:
    return random.sample(messages * 3, len(messages) * 3)
