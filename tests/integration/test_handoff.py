"""``foreword.enqueue`` against a real broker."""

import base64
import json
import os
import subprocess
import sys
import uuid
from collections.abc import Iterator
from typing import Any

import pytest
import redis

import foreword
from foreword import handoff
from foreword.errors import ConfigurationError, Unavailable, ValidationError
from foreword.keys import BROKER_PREFIX
from foreword.seal import Opener, new_secret_key, public_key
from foreword.wake import QUEUE
from tests.services import Services

_CANARY = "canary-of-the-draft"
_KEY = "fw_1_canary-of-the-key"


@pytest.fixture
def broker(services: Services) -> Iterator["redis.Redis[bytes]"]:
    """The broker's database, empty before and after."""
    with redis.Redis.from_url(services.broker_url) as server:
        server.flushdb()
        yield server
        server.flushdb()


@pytest.fixture
def opening_key() -> str:
    """An opening key of a worker."""
    return new_secret_key()


def _enqueue(services: Services, opening_key: str, draft: dict[str, Any]) -> str:
    return foreword.enqueue(
        draft, api_key=_KEY, broker_url=services.broker_url, seal_key=public_key(opening_key)
    )


def test_a_worker_can_open_what_was_queued(
    services: Services, broker: "redis.Redis[bytes]", opening_key: str
) -> None:
    """The one message on the queue is the task by name with one argument: the sealed key and Draft."""
    draft = {"memoryRef": "a", "content": _CANARY, "tags": ("t",)}
    entry_id = _enqueue(services, opening_key, draft)
    (raw,) = broker.lrange(BROKER_PREFIX + QUEUE, 0, -1)
    message = json.loads(raw)
    assert message["headers"]["task"] == "foreword.accept"
    args, kwargs, _ = json.loads(base64.b64decode(message["body"]))
    assert kwargs == {}
    opened = json.loads(Opener.of([opening_key]).open(base64.b64decode(args[0])))
    assert opened == {
        "apiKey": _KEY,
        "draft": {"memoryRef": "a", "content": _CANARY, "tags": ["t"], "id": entry_id},
    }
    assert uuid.UUID(entry_id).version == 7


def test_the_broker_never_sees_the_text(
    services: Services, broker: "redis.Redis[bytes]", opening_key: str
) -> None:
    """Neither the Draft nor the key is in the queued message: plain, in base64, or in a header's repr."""
    _enqueue(services, opening_key, {"memoryRef": "a", "content": _CANARY})
    (raw,) = broker.lrange(BROKER_PREFIX + QUEUE, 0, -1)
    body = base64.b64decode(json.loads(raw)["body"])
    sealed = base64.b64decode(json.loads(body)[0][0])
    for layer in (raw, body, sealed):
        assert b"canary" not in layer
        assert base64.b64encode(_CANARY.encode()).rstrip(b"=")[:-1] not in layer


def test_every_key_of_the_broker_has_its_prefix(
    services: Services, broker: "redis.Redis[bytes]", opening_key: str
) -> None:
    """Queueing touches no Redis key outside the broker's own."""
    _enqueue(services, opening_key, {"memoryRef": "a", "content": "x"})
    found = list(broker.scan_iter())
    assert found
    assert all(key.decode().startswith(BROKER_PREFIX) for key in found)


def test_the_runtimes_own_celery_is_left_alone(
    services: Services, broker: "redis.Redis[bytes]", opening_key: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A CELERY_BROKER_URL of the runtime's own changes nothing, and its current app stays its own."""
    from celery import Celery, current_app

    monkeypatch.setenv("CELERY_BROKER_URL", "redis://127.0.0.1:1/0")
    before = current_app._get_current_object()
    Celery("own", broker="memory://").set_current()
    handoff._app.cache_clear()
    try:
        _enqueue(services, opening_key, {"memoryRef": "a", "content": "x"})
        assert current_app.main == "own"
    finally:
        before.set_current()
    assert broker.llen(BROKER_PREFIX + QUEUE) == 1


@pytest.mark.parametrize(
    "draft",
    [
        {},
        {"memoryRef": "../x", "content": "x"},
        {"memoryRef": "a", "content": ""},
        {"memoryRef": "a", "content": "x\x00"},
        {"memoryRef": "a", "content": "\ud800"},
        {"memoryRef": "a", "content": "x", "tenant": "other"},
        {"memoryRef": "a", "content": "x", "expiresAt": "2020-01-01T00:00:00Z"},
        {"memoryRef": "a", "content": b"x"},
        {"memoryRef": "a", "content": "x", "metadata": {"n": float("inf")}},
    ],
)
def test_what_no_worker_would_take_is_not_queued(
    services: Services, broker: "redis.Redis[bytes]", opening_key: str, draft: dict[str, Any]
) -> None:
    """A Draft that breaks the contract is refused here, before anything is sent."""
    with pytest.raises(ValidationError):
        _enqueue(services, opening_key, draft)
    assert broker.llen(BROKER_PREFIX + QUEUE) == 0


def test_a_broker_that_is_away_is_said(opening_key: str) -> None:
    """Without a broker the Draft is refused within seconds as Unavailable, without the broker's password."""
    with pytest.raises(Unavailable) as raised:
        foreword.enqueue(
            {"memoryRef": "a", "content": "x"},
            api_key=_KEY,
            broker_url="redis://:hunter2@127.0.0.1:1/0",
            seal_key=public_key(opening_key),
        )
    assert "hunter2" not in raised.value.message


@pytest.mark.parametrize(
    ("broker_url", "seal_key"), [("http://a", None), ("nonsense", None), ("redis://a", "not-a-key")]
)
def test_a_wrong_setting_is_said(opening_key: str, broker_url: str, seal_key: str | None) -> None:
    """A broker URL or a seal key of the wrong form is a ConfigurationError."""
    with pytest.raises(ConfigurationError):
        foreword.enqueue(
            {"memoryRef": "a", "content": "x"},
            api_key=_KEY,
            broker_url=broker_url,
            seal_key=seal_key or public_key(opening_key),
        )


def test_a_missing_setting_is_named(monkeypatch: pytest.MonkeyPatch, tmp_path: Any) -> None:
    """What is neither given nor set is named, all at once."""
    for name in ("FOREWORD_API_KEY", "FOREWORD_BROKER_URL", "FOREWORD_SEAL_PUBLIC_KEY"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("FOREWORD_DATA_DIR", str(tmp_path))
    with pytest.raises(ConfigurationError, match="FOREWORD_API_KEY, FOREWORD_BROKER_URL, FOREWORD_SEAL"):
        foreword.enqueue({"memoryRef": "a", "content": "x"})


def test_a_forked_child_can_queue(services: Services, broker: "redis.Redis[bytes]", opening_key: str) -> None:
    """A process forked after the first message sends over a connection of its own."""
    program = """
import os, sys, foreword

def send():
    broker, seal = sys.argv[1:]
    draft = {"memoryRef": "a", "content": "x"}
    foreword.enqueue(draft, api_key="fw_k", broker_url=broker, seal_key=seal)

send()
child = os.fork()
if child == 0:
    send()
    os._exit(0)
os.waitpid(child, 0)
send()
"""
    subprocess.run(
        [sys.executable, "-c", program, services.broker_url, public_key(opening_key)],
        check=True,
        timeout=30,
        env=dict(os.environ),
    )
    assert broker.llen(BROKER_PREFIX + QUEUE) == 3


def test_the_name_is_the_function_however_often_it_is_used() -> None:
    """``foreword.enqueue`` is the function, also after its module was imported."""
    assert foreword.enqueue is foreword.enqueue is handoff.enqueue
