"""Export and import over HTTP: a memory leaves whole and comes back the same."""

import json
from typing import Any

import httpx

from tests.acceptance.tenants import Tenant, assert_error, bad_fields, contents, filed, filed_all, page
from tests.acceptance.test_writing import WHOLE

NDJSON = {"Content-Type": "application/x-ndjson"}


def export(door: httpx.Client, ref: str) -> bytes:
    """A memory as it leaves."""
    answer = door.get("/v1/memory/export", params={"memoryRef": ref})
    assert (answer.status_code, answer.headers["Content-Type"]) == (200, "application/x-ndjson")
    return answer.content


def take(door: httpx.Client, lines: bytes) -> httpx.Response:
    """Sends lines to import."""
    return door.post("/v1/memory/import", content=lines, headers=NDJSON)


def taken(door: httpx.Client, ref: str, lines: bytes) -> int:
    """Imports and waits until the last line can be read; how many are accepted."""
    answer = take(door, lines)
    assert answer.status_code == 202, answer.text
    assert answer.json().keys() == {"accepted", "position"}
    contents(door, ref, limit=1, after=answer.json()["position"])
    return int(answer.json()["accepted"])


def test_a_memory_comes_back_the_same(tenant: Tenant, door: httpx.Client) -> None:
    """Every field, every id, the order and createdAt survive the way out and in, byte for byte."""
    filed_all(door, "a", *(f"Ada: entry {n}\u2028\n" for n in range(7)))
    filed(door, "a", **WHOLE)
    gone = filed(door, "a", "gone")
    door.delete(f"/v1/memory/entries/{gone['id']}", params={"memoryRef": "a"}).raise_for_status()
    lines = export(door, "a")
    assert len(lines.split(b"\n")) == 9
    assert lines.endswith(b"\n")
    with tenant.neighbour().door() as other:
        assert taken(other, "a", lines) == 8
        assert export(other, "a") == lines
        assert page(other, "a", fields="all")["entries"] == page(door, "a", fields="all")["entries"]


def test_many_pages_come_back_the_same(tenant: Tenant, door: httpx.Client) -> None:
    """More entries than the ledger gives at once keep their order."""
    filed_all(door, "a", *(f"{n}" for n in range(1000)))
    filed_all(door, "a", *(f"{n}" for n in range(1000, 1010)))
    lines = export(door, "a")
    assert [json.loads(line)["content"] for line in lines.splitlines()] == [f"{n}" for n in range(1010)]
    with tenant.neighbour().door() as other:
        assert taken(other, "a", lines) == 1010
        assert export(other, "a") == lines


def test_a_forgotten_memory_is_restored_by_its_export(door: httpx.Client) -> None:
    """Ids that were removed are taken for a late write, but an import brings them back."""
    filed_all(door, "a", *(f"entry {n}" for n in range(3)))
    lines = export(door, "a")
    assert door.delete("/v1/memory", params={"memoryRef": "a"}).json() == {"removed": 3}
    assert contents(door, "a") == []
    assert taken(door, "a", lines) == 3
    assert export(door, "a") == lines


def test_an_import_can_be_repeated(tenant: Tenant, door: httpx.Client) -> None:
    """The same lines again change nothing; another body under a taken id is a 409 that names the line."""
    filed_all(door, "a", "one", "two")
    lines = export(door, "a")
    with tenant.neighbour().door() as other:
        for _ in range(2):
            assert taken(other, "a", lines) == 2
        assert export(other, "a") == lines
        first, second = lines.splitlines()
        changed = first + b"\n\n" + second.replace(b"two", b"2nd")
        assert assert_error(take(other, changed), 409, "conflict") == {"line": 3, "field": "id"}
        assert export(other, "a") == lines


def test_an_import_is_redacted_again(tenant: Tenant, door: httpx.Client) -> None:
    """What another tenant registered as a secret does not come in by import."""
    filed(door, "a", "zebra quartz meadow")
    with tenant.neighbour().door() as other:
        other.put("/v1/secrets/s", json={"value": "zebra quartz meadow"}).raise_for_status()
        assert taken(other, "a", export(door, "a")) == 1
        assert contents(other, "a") == ["[REDACTED:s]"]


def test_a_bad_line_refuses_an_import(door: httpx.Client) -> None:
    """Every bad field of every line is named by the line's number, and nothing is kept."""
    good: dict[str, Any] = {"memoryRef": "a", "content": "good", "createdAt": "2020-02-29T12:00:00.500Z"}
    lines = [
        json.dumps(good),
        "",
        json.dumps(good | {"createdAt": "2020-02-30T12:00:00Z", "kind": "?"}),
        "[]",
        "{",
        json.dumps(good | {"costs": {}}),
    ]
    answer = take(door, "\n".join(lines).encode() + b'\n{"memoryRef":"a","content":"\xff"}')
    assert bad_fields(answer) == {
        "line[3].createdAt",
        "line[3].kind",
        "line[4].body",
        "line[5].body",
        "line[6].costs",
        "line[7].body",
    }
    assert export(door, "a") == b""
    assert taken(door, "a", lines[0].encode()) == 1
    assert page(door, "a")["entries"][0]["createdAt"] == "2020-02-29T12:00:00.500Z"


def test_an_import_needs_lines(door: httpx.Client) -> None:
    """No line is a 400, another media type a 415; one object as JSON is one line."""
    assert bad_fields(take(door, b"")) == bad_fields(take(door, b"\n \n")) == {"body"}
    answer = door.post("/v1/memory/import", content=b"x", headers={"Content-Type": "text/plain"})
    assert_error(answer, 415, "unsupported_media_type")
    assert door.post("/v1/memory/import", json={"memoryRef": "a", "content": "x"}).status_code == 202


def test_a_bound_key_imports_into_its_refs_only(tenant: Tenant, door: httpx.Client) -> None:
    """A line of a memory the key is not bound to is refused, and nothing is kept."""
    lines = b"\n".join(json.dumps({"memoryRef": ref, "content": "x"}).encode() for ref in ("a/1", "b/1"))
    with tenant.door(ref_glob="a/*") as bound:
        assert_error(take(bound, lines), 403, "forbidden")
    assert contents(door, "a/1") == []


def test_createdAt_is_for_import_alone(door: httpx.Client) -> None:
    """A plain write cannot choose when it was created."""
    body = {"memoryRef": "a", "content": "x", "createdAt": "2020-01-01T00:00:00Z"}
    assert bad_fields(door.post("/v1/memory/entries", json=body)) == {"createdAt"}
