"""``foreword.enqueue`` against the running product: the same Draft, straight through Celery."""

import time
import uuid
from collections.abc import Iterator
from typing import Any

import pytest

import foreword
from foreword import Client
from foreword.errors import NotFound
from foreword.seal import new_secret_key, public_key


@pytest.fixture
def client(product: dict[str, Any]) -> Iterator[Client]:
    """A client with the product's first key."""
    with Client(product["url"], product["apiKey"]) as made:
        yield made


@pytest.fixture
def ref() -> str:
    """A memory of this test's own."""
    return f"test/{uuid.uuid4()}"


def _enqueue(product: dict[str, Any], draft: dict[str, Any], **instead: str) -> str:
    arguments = {
        "api_key": product["apiKey"],
        "broker_url": product["brokerUrl"],
        "seal_key": product["sealKey"],
    }
    return foreword.enqueue(draft, **(arguments | instead))


def _filed(client: Client, ref: str, entry_id: str) -> None:
    deadline = time.monotonic() + 60
    while time.monotonic() < deadline:
        try:
            if client.receipt(ref, entry_id).status == "filed":
                return
        except NotFound:
            pass
        time.sleep(0.05)
    pytest.fail("what was queued is not filed")


def test_what_is_queued_is_filed(product: dict[str, Any], client: Client, ref: str) -> None:
    """A queued Draft becomes an entry under the id that was returned, with all its fields."""
    draft = {"memoryRef": ref, "content": "straight through", "tags": ["t"], "kind": "note"}
    entry_id = _enqueue(product, draft)
    _filed(client, ref, entry_id)
    entry = client.get(ref, entry_id, fields="all")
    assert (entry.content, entry.tags, entry.kind) == ("straight through", ("t",), "note")


def test_both_ways_in_are_one(product: dict[str, Any], client: Client, ref: str) -> None:
    """The same Draft queued twice and posted once, under one id, is one entry."""
    draft = {"memoryRef": ref, "content": "once", "id": "mine"}
    for _ in range(2):
        _enqueue(product, draft)
    _filed(client, ref, "mine")
    assert client.remember(ref, "once", id="mine", wait=30).id == "mine"
    assert [entry.id for entry in client.list(ref)] == ["mine"]


def test_a_queued_secret_is_hidden(product: dict[str, Any], client: Client, ref: str) -> None:
    """What comes through the queue passes the same redaction."""
    token = "ghp_" + "a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8"
    entry_id = _enqueue(product, {"memoryRef": ref, "content": f"use {token} for the build"})
    _filed(client, ref, entry_id)
    content = client.get(ref, entry_id).content
    assert token not in content
    assert "[REDACTED:" in content


@pytest.mark.parametrize("wrong", ["key", "seal"])
def test_what_no_worker_may_take_is_dropped(
    product: dict[str, Any], client: Client, ref: str, wrong: str
) -> None:
    """A Draft under a foreign key, or sealed to a foreign key, files nothing; the ones after it are filed."""
    draft = {"memoryRef": ref, "content": "never filed"}
    if wrong == "key":
        _enqueue(product, draft, api_key="fw_1_00000000_" + "x" * 43)
    else:
        _enqueue(product, draft, seal_key=public_key(new_secret_key()))
    _filed(client, ref, _enqueue(product, {"memoryRef": ref, "content": "after it"}))
    assert [entry.content for entry in client.list(ref)] == ["after it"]
