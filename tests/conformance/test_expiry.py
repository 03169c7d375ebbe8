"""Expiry and forgetting: gone from every read at the very millisecond (OpenWOP RFC 0004 E, RFC 0080)."""

import time
from typing import Any

import httpx

from foreword.instant import from_wire, now_ms, to_wire
from tests.acceptance.tenants import filed, page
from tests.conformance import checks

LIST, HOST = "/v1/memory/entries", "/v1/host/foreword/memory"
ASKED = {"memoryRef": "a"}


def test_a_put_that_has_expired_is_refused(door: httpx.Client) -> None:
    """RFC 0004 E: a put whose expiresAt has passed, if only just, is refused by name and stores nothing."""
    for ago in (0, 1, 60_000, 10**12):
        body = ASKED | {"content": "late", "expiresAt": to_wire(now_ms() - ago)}
        answer = door.post(LIST, json=body)
        assert answer.status_code == 400
        checks.check_refused(answer.json(), "expiresAt")
        batch = door.post(f"{LIST}:batch", json={"entries": [ASKED | {"content": "x"}, body]})
        checks.check_refused(batch.json(), "entries[1].expiresAt")
    assert page(door, "a")["entries"] == []


def test_the_expiry_is_kept_as_it_was_given(door: httpx.Client) -> None:
    """RFC 0004 E: the visible expiresAt is the one given, in UTC at the millisecond, and never extended."""
    filed(door, "a", "one", expiresAt="2099-05-06T09:08:09.123456+02:00")
    for _ in range(2):
        (entry,) = page(door, "a")["entries"]
        assert entry["expiresAt"] == "2099-05-06T07:08:09.123Z"
        checks.check_wire(entry)


def test_nothing_is_served_from_its_expiry_on(door: httpx.Client) -> None:
    """RFC 0004 E: asked at or after expiresAt, list and get do not know the entry; before, they do."""
    fresh = filed(door, "a", "stays", expiresAt=to_wire(now_ms() + 3_600_000))["id"]
    ends = now_ms() + 1_500
    short = filed(door, "a", "goes", expiresAt=to_wire(ends))["id"]
    told = from_wire(page(door, "a")["entries"][0]["expiresAt"])
    assert told == ends
    before = after = 0
    while after < 5:
        for path in (LIST, HOST):
            asked_at = now_ms()
            listed = door.get(path, params=ASKED).json()["entries"]
            if asked_at >= ends:
                checks.check_expiry(listed, [fresh], [short])
                after += 1
            elif now_ms() < ends:
                checks.check_expiry(listed, [fresh, short], [])
                before += 1
        asked_at = now_ms()
        status = door.get(f"{HOST}/{short}", params=ASKED).status_code
        assert status == 404 or asked_at < ends
        time.sleep(0.02)
    assert before > 0
    hidden_everywhere(door, short)


def hidden_everywhere(door: httpx.Client, expired: str) -> None:
    """No door knows the expired entry, though nothing has purged it yet."""
    asking: dict[str, Any] = ASKED | {"query": "goes"}
    for mode in ("lexical", "filter", "hybrid"):
        found = door.post("/v1/memory/search", json=asking | {"mode": mode}).json()["entries"]
        assert expired not in checks.ids(found)
    assert (
        expired not in door.post("/v1/memory/recall", json=asking | {"minSimilarity": -1}).json()["entries"]
    )
    assert expired not in door.get("/v1/memory/export", params=ASKED).text
    assert door.get("/v1/memory/stats", params=ASKED).json()["entries"] == 1
    budgeted = page(door, "a", tokenBudget=1000)
    assert expired not in checks.ids(budgeted["entries"])
    assert sum(budgeted["budget"]["omitted"].values()) == 0


def test_forget_is_of_one_tenant_and_one_memory(door: httpx.Client) -> None:
    """RFC 0080 retention: forget removes what lives under a ref, and nothing else, for good."""
    gone = [filed(door, "a", text)["id"] for text in ("one", "two")]
    filed(door, "b", "stays")
    assert door.delete("/v1/memory", params=ASKED).json() == {"removed": 2}
    assert page(door, "a")["entries"] == []
    assert [entry["content"] for entry in page(door, "b")["entries"]] == ["stays"]
    for entry_id in gone:
        assert door.get(f"{HOST}/{entry_id}", params=ASKED).status_code == 404
