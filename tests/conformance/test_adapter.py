"""The memory adapter over HTTP: operations, entries, options, refs and refusals (OpenWOP RFC 0004, 0080)."""

from typing import Any
from urllib.parse import quote

import httpx
import pytest

from tests.acceptance.tenants import Tenant, filed, filed_all
from tests.acceptance.test_writing import WHOLE
from tests.conformance import checks
from tests.services import eventually

LIST, HOST = "/v1/memory/entries", "/v1/host/foreword/memory"
PATHS = [LIST, HOST]
REFS = [
    "mem_tenant:default_agent:conformance-rfc0012-event_longTerm",
    "mem://conformance/consolidation",
    "conformance-distill",
    "conformance/a.b/..c/d..",
    "mem_tenant:a:b",
    "mem://x",
    "x" * 512,
]
MALFORMED = ["", "..", "a/..", "../a", "a/../b", "a\\..\\b", "x" * 513, "a\x00b", "a\nb", "a\x7f", "a\x85b"]


def one(path: str, entry_id: str) -> str:
    """The path of one entry."""
    return f"{path}/{quote(entry_id, safe='')}"


def test_four_operations(door: httpx.Client) -> None:
    """RFC 0004 A: put issues id and createdAt, get and list give the entry, delete says if it was there."""
    receipt = filed(door, "a", "Ada prefers mornings.", tags=["people"])
    listed = door.get(HOST, params={"memoryRef": "a"}).json()["entries"]
    got = door.get(one(HOST, receipt["id"]), params={"memoryRef": "a"}).json()
    assert got == {"memoryRef": "a", "entry": listed[0]}
    assert listed == [
        {
            "id": receipt["id"],
            "content": "Ada prefers mornings.",
            "tags": ["people"],
            "createdAt": receipt["createdAt"],
        }
    ]
    removed = door.delete(one(HOST, receipt["id"]), params={"memoryRef": "a"})
    assert removed.status_code == 200
    assert removed.json() == {"memoryRef": "a", "memoryId": receipt["id"], "removed": True}
    for again in (door.delete, door.get):
        answer = again(one(HOST, receipt["id"]), params={"memoryRef": "a"})
        assert answer.status_code == 404
        checks.check_error(answer.json(), "not_found")
    assert door.get(HOST, params={"memoryRef": "a"}).json()["entries"] == []


def test_an_entry_has_five_fields_at_every_door(door: httpx.Client) -> None:
    """RFC 0004 A: whatever else is stored with an entry, only its five fields are on the wire."""
    filed(door, "a", **(WHOLE | {"content": "Ada prefers mornings.", "tags": ["", "people", "source:chat"]}))
    asked = {"memoryRef": "a"}
    ranked = asked | {"rank": "relevance", "query": "mornings"}
    eventually(lambda: door.get(LIST, params=ranked).json().get("entries"), "the entry has its vector")
    seen = []
    for path in PATHS:
        seen += door.get(path, params=asked).json()["entries"]
        seen += door.get(path, params=asked | {"tokenBudget": 100}).json()["entries"]
        seen += door.get(path, params=asked | {"tag": "people"}).json()["entries"]
        seen += door.get(path, params=ranked).json()["entries"]
        seen.append(door.get(one(path, str(WHOLE["id"])), params=asked).json()["entry"])
    assert len(seen) == 10
    for entry in seen:
        checks.check_wire(entry)
        assert entry == seen[0]
    assert set(seen[0]) == checks.REQUIRED | {"expiresAt"}


def test_tags_are_kept_but_for_empty_ones(door: httpx.Client) -> None:
    """RFC 0004 A: empty tags are tolerated and dropped on write; ``source:`` tags stay as they are."""
    filed(door, "a", "one", tags=["", "source:chat", "Billing", ""])
    filed(door, "a", "none")
    newest, oldest = door.get(LIST, params={"memoryRef": "a"}).json()["entries"]
    assert oldest["tags"] == ["source:chat", "Billing"]
    assert newest["tags"] == []


def test_a_tag_is_exact(door: httpx.Client) -> None:
    """Options, ``tag``: exact membership, in the same case, of one tag."""
    filed(door, "a", "one", tags=["Billing", "x"])
    for tag, count in {"Billing": 1, "billing": 0, "Bill": 0, "Billing,x": 0, "x": 1}.items():
        found = door.get(LIST, params={"memoryRef": "a", "tag": tag}).json()["entries"]
        assert len(found) == count, tag


def test_ids_are_unique_in_a_memory(door: httpx.Client) -> None:
    """RFC 0004 A: equal texts are entries of their own, each with an id the host issued."""
    receipts = filed_all(door, "a", "same", "same", "same")
    assert len({receipt["id"] for receipt in receipts}) == 3
    assert {e["id"] for e in door.get(LIST, params={"memoryRef": "a"}).json()["entries"]} == {
        receipt["id"] for receipt in receipts
    }


def test_newest_first_and_ties_in_accept_order(door: httpx.Client) -> None:
    """RFC 0004 A: newest createdAt first; entries of the same instant by the order they were accepted in."""
    written = [r["id"] for r in filed_all(door, "a", "1", "2", "3")]
    written.append(filed(door, "a", "4")["id"])
    written += [r["id"] for r in filed_all(door, "a", "5", "6")]
    for options in ({}, {"rank": "recency"}, {"rank": "recency", "query": "ignored"}):
        listed = door.get(LIST, params={"memoryRef": "a", **options}).json()["entries"]
        checks.check_newest_first(listed, written)


def test_limit_0_is_no_limit(door: httpx.Client) -> None:
    """Options, ``limit``: 0 is the same as absent, and n is the first n of the list."""
    filed_all(door, "a", *map(str, range(7)))
    listed = door.get(LIST, params={"memoryRef": "a"}).json()["entries"]
    assert len(listed) == 7
    for limit, count in {0: 7, 1: 1, 3: 3, 7: 7, 8: 7, 5000: 7}.items():
        found = door.get(LIST, params={"memoryRef": "a", "limit": limit}).json()["entries"]
        assert found == listed[:count]


@pytest.mark.parametrize("path", PATHS)
@pytest.mark.parametrize(
    ("options", "bad"),
    [
        *(({"limit": value}, ["limit"]) for value in ("-1", "1.5", "x", "", "true")),
        *(({"tag": value}, ["tag"]) for value in ("", "x" * 257)),
        *(({"rank": value}, ["rank"]) for value in ("", "newest", "Recency")),
        ({"rank": "relevance"}, ["query"]),
        ({"rank": "relevance", "query": ""}, ["query"]),
        ({"rank": "relevance", "query": "x" * 4097}, ["query"]),
        ({"tokenBudget": "0"}, ["tokenBudget"]),
        ({"tokenCounter": "words"}, ["tokenCounter"]),
        ({"unknown": "1"}, ["unknown"]),
        ({"tenantId": "1"}, ["tenantId"]),
        (
            {"limit": "x", "tag": "", "unknown": "1", "tokenBudget": "0"},
            ["limit", "tag", "unknown", "tokenBudget"],
        ),
    ],
    ids=str,
)
def test_a_bad_option_is_refused_by_name(
    door: httpx.Client, path: str, options: dict[str, str], bad: list[str]
) -> None:
    """Options: a value outside its rule, or an unknown name, is a validation_error that names each field."""
    answer = door.get(path, params={"memoryRef": "a", **options})
    assert answer.status_code == 400
    checks.check_refused(answer.json(), *bad)


@pytest.mark.parametrize("ref", REFS)
def test_a_ref_is_opaque(door: httpx.Client, ref: str) -> None:
    """RFC 0004 memoryRef: colons, slashes, ``://``, dots, hyphens, up to 512 characters, name a memory."""
    receipt = filed(door, ref, "one")
    for path in PATHS:
        assert [e["id"] for e in door.get(path, params={"memoryRef": ref}).json()["entries"]] == [
            receipt["id"]
        ]
        assert door.get(one(path, receipt["id"]), params={"memoryRef": ref}).json()["memoryRef"] == ref


@pytest.mark.parametrize("ref", MALFORMED, ids=lambda ref: ascii(ref)[:12])
def test_a_malformed_ref_is_an_empty_memory(door: httpx.Client, ref: str) -> None:
    """RFC 0004 memoryRef: traversal, control characters and excess length give ``[]`` and null, no error."""
    filed(door, "a", "one", id="x")
    for path in PATHS:
        listed, unknown = (door.get(path, params={"memoryRef": name}) for name in (ref, "unknown"))
        assert listed.status_code == 200
        assert listed.json()["entries"] == []
        assert {**listed.json(), "memoryRef": ""} == {**unknown.json(), "memoryRef": ""}
        for ask in (door.get, door.delete):
            got, gone = (ask(one(path, "x"), params={"memoryRef": name}) for name in (ref, "unknown"))
            assert (got.status_code, got.content) == (404, gone.content)


def test_a_malformed_ref_is_never_written(door: httpx.Client) -> None:
    """RFC 0004 A: a write cannot go where no read could find it, so it is refused rather than dropped."""
    for ref in MALFORMED:
        answer = door.post(LIST, json={"memoryRef": ref, "content": "x"})
        assert answer.status_code == 400, ref
        checks.check_refused(answer.json(), "memoryRef")


@pytest.mark.parametrize(
    ("scopes", "method", "path", "status", "code", "needed"),
    [
        (None, "GET", HOST, 401, "unauthenticated", None),
        (("read",), "DELETE", f"{HOST}/x", 403, "forbidden", "write"),
        (("write",), "GET", HOST, 403, "forbidden", "read"),
        (("read",), "GET", f"{HOST}/x", 404, "not_found", None),
        (("read",), "GET", "/v1/nothing", 404, "not_found", None),
    ],
)
def test_errors_have_their_code_and_status(
    tenant: Tenant,
    scopes: tuple[str, ...] | None,
    method: str,
    path: str,
    status: int,
    code: str,
    needed: str | None,
) -> None:
    """REST and auth: three keys, the listed code with its status, and the missing scope under details."""
    with tenant.door(*(scopes or ("read",))) as door:
        if scopes is None:
            door.headers.clear()
        answer = door.request(method, path, params={"memoryRef": "canary/ref"})
    assert answer.status_code == status
    details = checks.check_error(answer.json(), code)
    assert details == ({} if needed is None else {"scopeRequired": needed})
    assert "canary" not in answer.text


def test_a_conflicting_or_missing_body_is_no_other_error(door: httpx.Client) -> None:
    """REST: a taken id under another text is a 409, and a body that is none is a 400, each of three keys."""
    filed(door, "a", "canary one", id="x")
    taken = door.post(LIST, json={"memoryRef": "a", "content": "canary two", "id": "x"})
    assert taken.status_code == 409
    checks.check_error(taken.json(), "conflict")
    assert "canary" not in taken.text
    missing: dict[str, Any] = {"memoryRef": "a"}
    answer = door.post(LIST, json=missing)
    assert answer.status_code == 400
    checks.check_refused(answer.json(), "content")
