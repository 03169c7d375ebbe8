"""Writing over HTTP: what is accepted is kept, filed once, and told by its receipt."""

import os
import time
from typing import Any

import httpx
import pytest

from tests.acceptance.tenants import JSON, Tenant, assert_error, bad_fields, contents, filed, filed_all, page
from tests.services import eventually

ENTRIES = "/v1/memory/entries"
BATCH = "/v1/memory/entries:batch"
WHOLE: dict[str, Any] = {
    "id": "whole-1",
    "content": "  Ada: keeps\r\n\ttea — 茶 🫖\u2028 \n",
    "tags": ["source:chat", "tea", "tea", ""],
    "kind": "preference",
    "confidence": 0.25,
    "pinned": True,
    "metadata": {"n": [1, 2.5, None, {"deep": "ok"}], "": "empty name"},
    "source": "chat/17",
    "speaker": "Ada Lovelace",
    "conversation": "c-17",
    "observedAt": "1852-11-27T21:30:00+01:00",
    "links": ["other-1", {"to": "other-2", "type": "because_of"}],
    "supersedes": "older-1",
    "expiresAt": "9999-01-01T00:00:00Z",
}


def receipt(door: httpx.Client, ref: str, entry_id: str) -> dict[str, Any]:
    """A receipt as it stands."""
    answer = door.get(f"/v1/memory/receipts/{entry_id}", params={"memoryRef": ref})
    assert answer.status_code == 200, answer.text
    return dict(answer.json())


def test_a_waited_write_is_filed(door: httpx.Client) -> None:
    """With wait the answer is 201 once the entry can be read, and the receipt has exactly its five fields."""
    answer = door.post(ENTRIES, params={"wait": 30}, json={"memoryRef": "a", "content": "x"})
    assert answer.status_code == 201
    assert answer.json().keys() == {"id", "memoryRef", "status", "createdAt", "position"}
    assert (answer.json()["memoryRef"], answer.json()["status"]) == ("a", "filed")
    assert contents(door, "a") == ["x"]
    assert receipt(door, "a", answer.json()["id"]) == answer.json()


def test_a_write_is_accepted_before_it_is_filed(tenant: Tenant, door: httpx.Client) -> None:
    """Without wait, or when the wait runs out, the answer is 202 accepted, and it is filed later."""
    with tenant.held():
        at_once = door.post(ENTRIES, json={"memoryRef": "a", "content": "x"})
        started = time.monotonic()
        waited = door.post(ENTRIES, params={"wait": 0.3}, json={"memoryRef": "a", "content": "y"})
        assert 0.3 <= time.monotonic() - started < 5
        for answer in (at_once, waited):
            assert (answer.status_code, answer.json()["status"]) == (202, "accepted")
            assert receipt(door, "a", answer.json()["id"]) == answer.json()
        assert contents(door, "a") == []
    assert contents(door, "a", after=waited.json()["position"]) == ["y", "x"]
    assert receipt(door, "a", waited.json()["id"])["status"] == "filed"


def test_a_write_that_cannot_be_filed_says_so(tenant: Tenant, door: httpx.Client) -> None:
    """A Draft that no worker can open answers 200 failed with a reason, and blocks nobody behind it."""
    with tenant.held() as ledger:
        door.post(ENTRIES, json={"memoryRef": "a", "content": "lost", "id": "lost"}).raise_for_status()
        ledger.execute("UPDATE inbox SET sealed = 'x' WHERE tenant_id = %s", (tenant.number,))
    answer = door.post(ENTRIES, params={"wait": 30}, json={"memoryRef": "a", "content": "lost", "id": "lost"})
    assert (answer.status_code, answer.json()["status"]) == (200, "failed")
    assert answer.json()["reason"]
    assert receipt(door, "a", "lost") == answer.json()
    filed(door, "a", "behind it")
    assert contents(door, "a") == ["behind it"]


def test_every_field_is_kept(door: httpx.Client) -> None:
    """What a write says is what fields=all shows, content byte for byte; the plain entry has five fields."""
    written = filed(door, "a", **WHOLE)
    (plain,) = page(door, "a")["entries"]
    assert plain == {
        "id": "whole-1",
        "content": WHOLE["content"],
        "tags": ["source:chat", "tea"],
        "createdAt": written["createdAt"],
        "expiresAt": "9999-01-01T00:00:00.000Z",
    }
    (full,) = page(door, "a", fields="all")["entries"]
    costs, row_costs = full.pop("costs"), full.pop("rowCosts")
    assert costs.keys() == row_costs.keys() == {"o200k_base", "cl100k_base", "chars", "host-defined"}
    assert costs["chars"] == len(WHOLE["content"])
    assert full == plain | {
        name: WHOLE[name]
        for name in ("kind", "confidence", "pinned", "metadata", "source", "speaker", "conversation")
    } | {
        "observedAt": "1852-11-27T20:30:00.000Z",
        "links": [{"to": "other-1", "type": "related_to"}, {"to": "other-2", "type": "because_of"}],
        "supersedes": ["older-1"],
        "status": "active",
    }


def test_what_is_left_out_has_a_default(door: httpx.Client) -> None:
    """A bare write is a fact of full confidence, observed when created, said by its leading name."""
    written = filed(door, "a", "Grace: found a moth", id=None, source=None, supersedes=None, expiresAt=None)
    (full,) = page(door, "a", fields="all")["entries"]
    assert (full["kind"], full["confidence"], full["pinned"]) == ("fact", 1.0, False)
    assert (full["tags"], full["links"], full["supersedes"], full["metadata"]) == ([], [], [], {})
    assert (full["observedAt"], full["speaker"]) == (written["createdAt"], "Grace")
    assert not full.keys() & {"source", "conversation", "expiresAt"}


def test_the_id_makes_a_write_idempotent(door: httpx.Client) -> None:
    """The same id and body, however spelled, is one entry with one receipt; another body is a 409."""
    first = filed(door, "a", "x", id="one", metadata={"p": 1, "q": 2})
    again = filed(door, "a", "x", metadata={"q": 2, "p": 1}, kind="fact", id="one", tags=[])
    assert again == first
    answer = door.post(ENTRIES, json={"memoryRef": "a", "content": "y", "id": "one"})
    assert_error(answer, 409, "conflict")
    assert "one" not in answer.json()["message"]
    assert contents(door, "a") == ["x"]
    assert filed(door, "b", "y", id="one")["position"] != first["position"]
    assert (contents(door, "a"), contents(door, "b")) == (["x"], ["y"])


def test_a_removed_id_stays_taken(door: httpx.Client) -> None:
    """A late duplicate of a removed entry gets the original receipt and files nothing."""
    first = filed(door, "a", "x", id="one")
    door.delete(f"{ENTRIES}/one", params={"memoryRef": "a"}).raise_for_status()
    late = door.post(ENTRIES, params={"wait": 30}, json={"memoryRef": "a", "content": "x", "id": "one"})
    assert (late.status_code, late.json()) == (202, first | {"status": "accepted"})
    filed(door, "a", "y")
    assert contents(door, "a") == ["y"]


def test_a_batch_is_filed_in_order(door: httpx.Client) -> None:
    """Receipts come in the order of the batch, and so do the entries, whatever their memories."""
    entries = [{"memoryRef": f"m{n % 2}", "content": str(n), "id": f"e{n}"} for n in range(20)]
    answer = door.post(BATCH, params={"wait": 30}, json={"entries": entries})
    assert answer.status_code == 201
    receipts = answer.json()["receipts"]
    assert [r["id"] for r in receipts] == [e["id"] for e in entries]
    assert [r["memoryRef"] for r in receipts] == [e["memoryRef"] for e in entries]
    assert {r["status"] for r in receipts} == {"filed"}
    assert contents(door, "m0") == [str(n) for n in range(18, -1, -2)]
    assert contents(door, "m1") == [str(n) for n in range(19, 0, -2)]


def test_a_batch_is_accepted_at_once(tenant: Tenant, door: httpx.Client) -> None:
    """Without wait a batch answers 202 with accepted receipts."""
    with tenant.held():
        answer = door.post(BATCH, json={"entries": [{"memoryRef": "a", "content": "x"}] * 3})
    assert answer.status_code == 202
    assert [r["status"] for r in answer.json()["receipts"]] == ["accepted"] * 3
    assert len({r["id"] for r in answer.json()["receipts"]}) == 3


def test_a_bad_entry_refuses_its_batch(door: httpx.Client) -> None:
    """Every bad field of every entry is named by index, and nothing of the batch is kept."""
    entries: list[Any] = [
        {"memoryRef": "a", "content": "good"},
        {"memoryRef": "..", "content": ""},
        {"memoryRef": "a", "content": "x", "tags": ["t", 1]},
        [],
    ]
    answer = door.post(BATCH, params={"wait": "x"}, json={"entries": entries})
    assert bad_fields(answer) == {
        "wait",
        "entries[1].memoryRef",
        "entries[1].content",
        "entries[2].tags[1]",
        "entries[3].body",
    }
    filed(door, "a", "later")
    assert contents(door, "a") == ["later"]


def test_a_conflict_refuses_its_batch(door: httpx.Client) -> None:
    """A taken id names its index; a batch may repeat itself but not contradict itself."""
    filed(door, "a", "x", id="one")
    good = {"memoryRef": "a", "content": "good", "id": "two"}
    taken = {"memoryRef": "a", "content": "other", "id": "one"}
    answer = door.post(BATCH, json={"entries": [good, good | {"id": "three"}, taken]})
    assert assert_error(answer, 409, "conflict") == {"index": 2, "field": "id"}
    answer = door.post(BATCH, json={"entries": [good, good | {"content": "contradicts"}]})
    assert assert_error(answer, 409, "conflict") == {"index": 1, "field": "id"}
    assert contents(door, "a") == ["x"]
    first, second = filed_all(door, "a", "good", "good", id="two")
    assert first == second
    assert contents(door, "a") == ["good", "x"]


@pytest.mark.parametrize("entries", [[], [{"memoryRef": "a", "content": "x"}] * 1001, {}, None, "x"])
def test_a_batch_has_bounds(door: httpx.Client, entries: object) -> None:
    """None, more than 1,000, or no list of entries is no batch."""
    assert bad_fields(door.post(BATCH, json={"entries": entries})) == {"entries"}


def test_a_thousand_are_one_batch(door: httpx.Client) -> None:
    """The largest batch is accepted and can be read at its last position."""
    receipts = filed_all(door, "a", *(f"entry {n}" for n in range(1000)))
    assert len({r["id"] for r in receipts}) == 1000
    assert contents(door, "a", limit=2) == ["entry 999", "entry 998"]


def test_a_successor_replaces(door: httpx.Client) -> None:
    """What an entry supersedes is gone from every read the moment it is filed, also when it comes later."""
    filed(door, "a", "old", id="old")
    filed(door, "a", "new", supersedes=["old", "not-yet"])
    filed(door, "a", "stale on arrival", id="not-yet")
    assert contents(door, "a") == ["new"]
    assert door.get(f"{ENTRIES}/old", params={"memoryRef": "a"}).status_code == 404


def test_the_largest_content_is_kept(door: httpx.Client) -> None:
    """64 KiB of UTF-8 is kept whole; one byte more is refused."""
    largest = "é" * (32 * 1024)
    filed(door, "a", largest)
    assert contents(door, "a") == [largest]
    assert bad_fields(door.post(ENTRIES, json={"memoryRef": "a", "content": largest + "x"})) == {"content"}


def test_the_embedding_gives_way(product: dict[str, Any]) -> None:
    """The process that embeds runs at a lower priority than the one that files."""

    def niceness(pid: int) -> int:
        return os.getpriority(os.PRIO_PROCESS, pid)

    pids = product["pids"]
    eventually(lambda: niceness(pids["embed"]) == niceness(pids["worker"][0]) + 10, "the embedding gives way")


def test_a_receipt_that_never_was_is_not_found(door: httpx.Client) -> None:
    """An unknown id, and a known one in another memory, have no receipt."""
    filed(door, "a", "x", id="one")
    for ref, entry_id in (("a", "two"), ("b", "one"), ("..", "one")):
        answer = door.get(f"/v1/memory/receipts/{entry_id}", params={"memoryRef": ref})
        assert_error(answer, 404, "not_found")


def test_only_json_is_taken(door: httpx.Client) -> None:
    """Another media type, none, or an encoded body is a 415."""
    body = b'{"memoryRef":"a","content":"x"}'
    for headers in ({"Content-Type": "text/plain"}, {}, JSON | {"Content-Encoding": "gzip"}):
        answer = door.post(ENTRIES, content=body, headers=headers)
        assert_error(answer, 415, "unsupported_media_type")
    spelled = {"Content-Type": "Application/JSON; charset=utf-8"}
    assert door.post(ENTRIES, content=body, headers=spelled).status_code == 202
