"""Reading over HTTP: the newest that fit, the same at every door, and nobody else's."""

import base64
import threading
import time
from collections.abc import Iterator
from typing import Any

import httpx
import pytest

from foreword.budget import walk
from tests.acceptance.tenants import Tenant, assert_error, bad_fields, contents, filed, filed_all, page

ENTRIES = "/v1/memory/entries"
HOST = "/v1/host/foreword/memory"
COUNTERS = ("o200k_base", "cl100k_base", "chars", "host-defined")


def pages(door: httpx.Client, ref: str, **options: Any) -> Iterator[dict[str, Any]]:
    """Page after page to the end."""
    found = page(door, ref, **options)
    yield found
    while "nextCursor" in found:
        found = page(door, ref, **options, cursor=found["nextCursor"])
        yield found


def test_an_empty_memory_is_an_empty_answer(door: httpx.Client) -> None:
    """A memory that never was is a 200 with no entries and a report of zeros."""
    assert page(door, "a", tokenBudget=10) == {
        "memoryRef": "a",
        "entries": [],
        "budget": {
            "counter": "o200k_base",
            "tokenBudget": 10,
            "used": 0,
            "returned": 0,
            "omitted": {"oversize": 0, "budget": 0, "limit": 0, "similarity": 0},
        },
    }


@pytest.mark.parametrize("fit", ["prefix", "strict", "pack"])
def test_every_counter_keeps_its_budget(door: httpx.Client, fit: str) -> None:
    """What a budget lets through is what the law selects from the stored costs, and the report adds up."""
    filed_all(door, "a", *("word " * n for n in (3, 40, 1, 7, 200, 2, 5, 90, 4)))
    rows = page(door, "a", fields="all")["entries"]
    for counter in COUNTERS:
        costs = [row["costs"][counter] for row in rows]
        for budget in (1, costs[0], costs[0] + costs[1], sum(costs) - 1, sum(costs), 2**53 - 1):
            expected = walk(costs, budget=budget, fit=fit)  # type: ignore[arg-type]
            found = page(door, "a", tokenBudget=budget, tokenCounter=counter, fit=fit)
            assert [e["id"] for e in found["entries"]] == [rows[i]["id"] for i in expected.kept]
            report = found["budget"]
            assert (report["counter"], report["tokenBudget"]) == (counter, budget)
            assert (report["used"], report["returned"]) == (expected.used, len(expected.kept))
            assert report["omitted"]["oversize"] == expected.oversize
            assert report.get("smallestOmitted") == expected.smallest_omitted
            assert report["returned"] + sum(report["omitted"].values()) == len(costs)


def test_filters_read_by_the_same_law(door: httpx.Client) -> None:
    """A tag or a kind narrows a memory; tags are exact and case-sensitive; the report counts the rest."""
    for n in range(6):
        filed(
            door, "a", f"entry {n}", tags=["even" if n % 2 == 0 else "Even"], kind="note" if n < 3 else "core"
        )
    assert contents(door, "a", tag="even") == ["entry 4", "entry 2", "entry 0"]
    assert contents(door, "a", kind="core") == ["entry 5", "entry 4", "entry 3"]
    assert contents(door, "a", tag="even", kind="note") == ["entry 2", "entry 0"]
    assert contents(door, "a", tag="eve") == []
    found = page(door, "a", tag="even", limit=1)
    assert found["budget"]["omitted"]["limit"] == 2
    assert [e["content"] for p in pages(door, "a", tag="even", limit=1) for e in p["entries"]] == [
        "entry 4",
        "entry 2",
        "entry 0",
    ]


def test_a_page_is_bounded(door: httpx.Client) -> None:
    """Without a budget 100 rows come, with one or with a larger limit 1,000; the cursor reaches the rest."""
    filed_all(door, "a", *(f"{n}" for n in range(1000)))
    filed_all(door, "a", *(f"{n}" for n in range(1000, 1105)))
    everything = [f"{n}" for n in range(1104, -1, -1)]
    assert contents(door, "a") == contents(door, "a", limit=0) == everything[:100]
    for options in ({"tokenBudget": 2**53 - 1}, {"limit": 5000}, {"limit": 2**53 - 1, "fields": "all"}):
        read = list(pages(door, "a", **options))
        assert [len(p["entries"]) for p in read] == [1000, 105]
        assert [e["content"] for p in read for e in p["entries"]] == everything
        assert read[0]["budget"]["omitted"]["limit"] == 105


def test_a_cursor_is_stable_while_writes_arrive(door: httpx.Client) -> None:
    """Each entry comes once and in order though some are written and some removed between pages."""
    receipts = filed_all(door, "a", *(f"{n}" for n in range(30)))
    first = page(door, "a", limit=10)
    filed_all(door, "a", "new 1", "new 2")
    for gone in (receipts[29], receipts[15]):
        door.delete(f"{ENTRIES}/{gone['id']}", params={"memoryRef": "a"}).raise_for_status()
    second = page(door, "a", limit=10, cursor=first["nextCursor"])
    filed(door, "a", "new 3")
    third = page(door, "a", limit=10, cursor=second["nextCursor"])
    read = [e["content"] for p in (first, second, third) for e in p["entries"]]
    assert read == [f"{n}" for n in range(29, -1, -1) if n != 15]
    assert "nextCursor" not in third


def test_a_budgeted_cursor_spends_the_budget_anew(door: httpx.Client) -> None:
    """Each page has the full budget, and together they are every entry that fits alone."""
    filed_all(door, "a", *("x" * n for n in (5, 5, 30, 5, 9, 5, 5)))
    read = list(pages(door, "a", tokenBudget=10, tokenCounter="chars"))
    assert [p["budget"]["used"] for p in read] == [10, 9, 10, 5]
    assert sum(p["budget"]["returned"] for p in read) == 6


def test_a_cursor_continues_only_its_own_read(tenant: Tenant, door: httpx.Client) -> None:
    """A cursor of another memory, tenant or filter, and anything else, is a 400 that names it."""
    filed_all(door, "a", "1", "2", "3", tags=["t"])
    cursor = page(door, "a", limit=1)["nextCursor"]
    assert contents(door, "a", limit=1, cursor=cursor, tokenBudget=50, fields="all") == ["2"]
    for options in (
        {"memoryRef": "b", "cursor": cursor},
        {"memoryRef": "%ff", "cursor": cursor},
        {"memoryRef": "a", "cursor": cursor, "tag": "t"},
        {"memoryRef": "a", "cursor": cursor + "AAAA"},
        {"memoryRef": "a", "cursor": "é"},
        {"memoryRef": "a", "cursor": ""},
    ):
        assert bad_fields(door.get(ENTRIES, params=options)) == {"cursor"}
    with tenant.neighbour().door() as foreign:
        assert bad_fields(foreign.get(ENTRIES, params={"memoryRef": "a", "cursor": cursor})) == {"cursor"}


def test_a_read_waits_for_a_position(tenant: Tenant, door: httpx.Client) -> None:
    """A read with after answers only once that write can be read."""
    with tenant.held_for(0.5):
        sent = door.post(ENTRIES, json={"memoryRef": "a", "content": "x"}).json()
        started = time.monotonic()
        assert contents(door, "a", after=sent["position"]) == ["x"]
        assert time.monotonic() - started > 0.3


def test_a_read_does_not_wait_for_ever(tenant: Tenant, door: httpx.Client) -> None:
    """After 5 s a read with after is a 503 with Retry-After, never a stale answer."""
    with tenant.held():
        sent = door.post(ENTRIES, json={"memoryRef": "a", "content": "x"}).json()
        started = time.monotonic()
        answer = door.get(ENTRIES, params={"memoryRef": "a", "after": sent["position"]})
        assert 4.5 < time.monotonic() - started < 12
    assert_error(answer, 503, "unavailable")
    assert int(answer.headers["Retry-After"]) >= 1


def test_a_position_belongs_to_its_memory(tenant: Tenant, door: httpx.Client) -> None:
    """A position of another memory or tenant, or one that was tampered with, is a 400 that names it."""
    position = filed(door, "a", "x")["position"]
    raw = base64.urlsafe_b64decode(position + "==")
    forged = base64.urlsafe_b64encode(b"\xff" * 8 + raw[8:]).decode().rstrip("=")
    assert contents(door, "a", after=position) == ["x"]
    for ref, after in (("b", position), ("..", position), ("a", forged), ("a", "x"), ("a", "\x00")):
        assert bad_fields(door.get(ENTRIES, params={"memoryRef": ref, "after": after})) == {"after"}
    with tenant.neighbour().door() as foreign:
        assert bad_fields(foreign.get(ENTRIES, params={"memoryRef": "a", "after": position})) == {"after"}


def test_a_known_answer_is_not_sent_again(door: httpx.Client) -> None:
    """The same state has the same ETag and bytes and is a 304 for who has it; a write changes both."""
    written = filed(door, "a", "x")
    for path in (ENTRIES, f"{ENTRIES}/{written['id']}", HOST):
        first = door.get(path, params={"memoryRef": "a"})
        again = door.get(path, params={"memoryRef": "a"})
        tag = first.headers["ETag"]
        assert (again.content, again.headers["ETag"]) == (first.content, tag)
        for known in (tag, f'"other", W/{tag}', "*"):
            answer = door.get(path, params={"memoryRef": "a"}, headers={"If-None-Match": known})
            assert (answer.status_code, answer.content, answer.headers["ETag"]) == (304, b"", tag)
        other = door.get(path, params={"memoryRef": "a"}, headers={"If-None-Match": '"other"'})
        assert other.status_code == 200
    tag = door.get(ENTRIES, params={"memoryRef": "a"}).headers["ETag"]
    filed(door, "a", "y")
    changed = door.get(ENTRIES, params={"memoryRef": "a"}, headers={"If-None-Match": tag})
    assert (changed.status_code, changed.headers["ETag"] != tag) == (200, True)


def test_one_entry_is_fetched(door: httpx.Client) -> None:
    """An entry by id is the one the list has, plain or with every field."""
    written = filed(door, "a", "x", tags=["t"], metadata={"k": 1})
    for options in ({}, {"fields": "all"}):
        (entry,) = page(door, "a", **options)["entries"]
        for path in (ENTRIES, HOST):
            answer = door.get(f"{path}/{written['id']}", params={"memoryRef": "a", **options})
            assert answer.json() == {"memoryRef": "a", "entry": entry}
    for ref, entry_id in (("b", written["id"]), ("a", "other"), ("a", "%00"), ("a", "x" * 129)):
        answer = door.get(f"{ENTRIES}/{entry_id}", params={"memoryRef": ref})
        assert_error(answer, 404, "not_found")


def test_what_expires_is_gone(door: httpx.Client) -> None:
    """From its expiry on an entry is in no answer, though nothing has purged it."""
    soon = time.time() + 1.5
    stamp = time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(soon)) + f".{int(soon % 1 * 1000):03d}Z"
    filed(door, "a", "stays")
    goes = filed(door, "a", "goes", expiresAt=stamp)
    assert contents(door, "a") == ["goes", "stays"]
    time.sleep(max(0, soon - time.time()) + 0.005)
    for options in ({}, {"fields": "all"}, {"kind": "fact"}, {"tokenBudget": 50}):
        assert contents(door, "a", **options) == ["stays"]
    assert door.get(f"{ENTRIES}/{goes['id']}", params={"memoryRef": "a"}).status_code == 404


def test_the_host_path_lists_the_same(door: httpx.Client) -> None:
    """OpenWOP's host path gives the same bytes for the same options."""
    filed_all(door, "a", "1", "2", "3")
    asked = {"memoryRef": "a", "tokenBudget": 2, "fit": "strict"}
    assert door.get(HOST, params=asked).content == door.get(ENTRIES, params=asked).content


def test_another_tenant_sees_nothing(tenant: Tenant, door: httpx.Client) -> None:
    """Another tenant's memory answers as one that never was, byte for byte, at every read door."""
    written = filed(door, "a", "secret of one")
    with tenant.neighbour().door() as foreign:
        for path in (ENTRIES, HOST, "/v1/memory/stats", "/v1/memory/events", "/v1/memory/export"):
            theirs = foreign.get(path, params={"memoryRef": "a"})
            unknown = foreign.get(path, params={"memoryRef": "b"})
            assert theirs.status_code == 200
            assert theirs.content.replace(b'"a"', b'"b"') == unknown.content
        for path in (ENTRIES, HOST, "/v1/memory/receipts"):
            answer = foreign.get(f"{path}/{written['id']}", params={"memoryRef": "a"})
            assert_error(answer, 404, "not_found")


def test_stats_count_a_memory(tenant: Tenant, door: httpx.Client) -> None:
    """Stats are the live entries, their kinds and costs, and what waits."""
    filed(door, "a", "one two", kind="core")
    filed(door, "a", "three")
    gone = filed(door, "a", "gone")
    door.delete(f"{ENTRIES}/{gone['id']}", params={"memoryRef": "a"}).raise_for_status()
    rows = page(door, "a", fields="all")["entries"]
    with tenant.held():
        door.post(ENTRIES, json={"memoryRef": "a", "content": "waits"}).raise_for_status()
        found = door.get("/v1/memory/stats", params={"memoryRef": "a"}).json()
    assert (found["entries"], found["pending"], found["failed"]) == (2, 1, 0)
    assert found["kinds"] == {"core": 1, "fact": 1}
    assert found["costs"] == {name: sum(row["costs"][name] for row in rows) for name in COUNTERS}


def test_events_tell_ids_only(door: httpx.Client) -> None:
    """Each write is one event with its id and no content; after continues where an answer ended."""
    receipts = filed_all(door, "a", "secret text", "more")
    asked = {"memoryRef": "a"}
    first = door.get("/v1/memory/events", params=asked)
    assert "secret text" not in first.text
    told = first.json()
    assert [(e["type"], e["memoryRef"], e["memoryId"]) for e in told["events"]] == [
        ("memory.written", "a", receipt["id"]) for receipt in receipts
    ]
    later = door.get("/v1/memory/events", params={**asked, "after": told["after"]}).json()
    assert (later["events"], later["after"]) == ([], told["after"])
    third = filed(door, "a", "again")
    found = door.get("/v1/memory/events", params={**asked, "after": told["after"], "limit": 1}).json()
    assert [e["memoryId"] for e in found["events"]] == [third["id"]]


def test_head_is_get_without_a_body(door: httpx.Client) -> None:
    """HEAD gives the status and headers of GET and no body; OPTIONS names the methods of a path."""
    filed(door, "a", "x")
    for path in (ENTRIES, HOST, "/v1/memory/stats", "/v1/memory/export", "/healthz"):
        head, get = (door.request(m, path, params={"memoryRef": "a"}) for m in ("HEAD", "GET"))
        assert (head.status_code, head.content) == (get.status_code, b"")
        assert head.headers.get("ETag") == get.headers.get("ETag")
    answer = door.options(ENTRIES)
    assert (answer.status_code, answer.headers["Allow"]) == (204, "GET, HEAD, OPTIONS, POST")


def test_other_methods_and_paths_are_refused(door: httpx.Client) -> None:
    """A known path under another method is a 405 that names the right ones; an unknown path is a 404."""
    answer = door.put(ENTRIES, json={})
    assert_error(answer, 405, "method_not_allowed")
    assert answer.headers["Allow"] == "GET, HEAD, OPTIONS, POST"
    for path in ("/v1/nothing", f"{ENTRIES}/", "/v1/memory/entries/a/b", "/v1/memory/entries/%2e%2e%2fa"):
        assert_error(door.get(path, params={"memoryRef": "a"}), 404, "not_found")


def test_readers_and_writers_agree(door: httpx.Client) -> None:
    """While one writes and waits, another's lists only ever grow by whole entries in accept order."""
    stopped, seen = threading.Event(), []

    def write() -> None:
        for n in range(15):
            filed(door, "a", f"{n}")
        stopped.set()

    writer = threading.Thread(target=write)
    writer.start()
    while not stopped.is_set():
        seen.append(contents(door, "a", tokenBudget=500))
    writer.join()
    seen.append(contents(door, "a", tokenBudget=500))
    for found in seen:
        assert found == [f"{n}" for n in range(len(found) - 1, -1, -1)]
    assert [len(found) for found in seen] == sorted(len(found) for found in seen)
    assert len(seen[-1]) == 15
