"""Bad input over HTTP: named, refused with a 400, never repeated, and nothing of it is kept."""

import http.client
import json
import socket
from collections.abc import Iterator
from typing import Any
from urllib.parse import urlsplit

import httpx
import pytest

from tests.acceptance.tenants import JSON, Tenant, assert_error, bad_fields, contents, filed

ENTRIES = "/v1/memory/entries"
BATCH = "/v1/memory/entries:batch"
IMPORT = "/v1/memory/import"
GOOD: dict[str, Any] = {"memoryRef": "a", "content": "canary-content"}
EVERYTHING = [
    None,
    True,
    0,
    -1,
    1.5,
    "",
    "x",
    [],
    ["x"],
    {},
    {"x": 1},
    "\x00",
    "nul\x00",
    "\ud800",
    "x\udfff",
]
UNREADABLE = [
    "",
    "..",
    "a/..",
    "../a",
    "a/../b",
    "a\\..\\b",
    "a\x00",
    "a\nb",
    "\x1f",
    "a\x7f",
    "a\x85",
    "x" * 513,
]
UNREADABLE_BYTES = [b"%ff", b"%00", b"%C2%9F", b"%ed%a0%80", b"%2e%2e", b"a%2F..", b"a%2f%2E%2E%5Cb"]


@pytest.fixture(autouse=True)
def nothing_kept(door: httpx.Client, foreseen: None) -> Iterator[None]:
    """After every test the memory holds what is written then, and nothing else."""
    yield
    door.headers.pop("Content-Type", None)
    filed(door, "a", "sentinel")
    assert contents(door, "a") == ["sentinel"]


def dumped(value: object) -> bytes:
    """JSON that may hold lone surrogates as escapes, NaN and Infinity."""
    return json.dumps(value).encode()


WRONG: dict[str, list[object]] = {
    "memoryRef": [*EVERYTHING[:6], [], {}, "\ud800", *UNREADABLE],
    "content": [v for v in EVERYTHING if v != "x"] + ["x" * 65537, "é" * 32769],
    "id": [v for v in EVERYTHING if v not in (None, "x")] + ["a b", "é", "a/b", "x" * 129, "a\n"],
    "tags": [
        None,
        True,
        0,
        1.5,
        "x",
        {},
        [1],
        [None],
        ["ok", []],
        ["\x00"],
        ["\ud800"],
        ["x" * 257],
        ["t"] * 65,
    ],
    "kind": [*EVERYTHING, "Fact", "fact ", ["fact"]],
    "confidence": [None, True, False, -0.1, 1.1, "1", "", [], {}, 10**400, -(10**400), 2**63],
    "pinned": [None, 0, 1, "true", "", [], {}],
    "metadata": [
        *(None, True, 0, "x", [], ["x"], {"k": "\x00"}, {"\x00": 1}, {"k": ["\ud800"]}, {"\ud800": 1}),
        *({"k": "x" * 16385}, {f"k{n}": n for n in range(3000)}),
    ],
    "source": [True, 0, "", [], {}, "\x00", "\ud800", "x" * 1025],
    "speaker": [True, 0, "", [], {}, "\x00", "\ud800", "x" * 257],
    "conversation": [True, 0, "", [], {}, "\x00", "\ud800", "x" * 257],
    "observedAt": [
        *(True, 0, "", "x", [], {}, "2020-01-01", "2020-01-01T00:00:00", "2020-13-01T00:00:00Z"),
        *(
            "2020-02-30T00:00:00Z",
            "2020-01-01T00:00:00+24:00",
            "2020-01-01T24:00:00Z",
            "2020-01-01 00:00:00Z",
        ),
        *("0001-01-01T00:00:00+14:00", "9999-12-31T23:59:59-14:00", "٢٠٢٠-01-01T00:00:00Z", 1577836800000),
    ],
    "links": [None, True, 0, "x", {}, [1], [""], [{}], [{"to": 1}], [{"to": "x", "type": "A"}], ["x"] * 65],
    "supersedes": [True, 0, 1.5, "", {}, [1], [None], ["a b"], "x" * 129, ["x"] * 65],
    "expiresAt": [True, 0, "", "x", [], {}, "2020-01-01T00:00:00Z", "1970-01-01T00:00:00.000Z"],
    "unknown": EVERYTHING,
    "createdAt": [None, "2020-01-01T00:00:00Z"],
}


@pytest.mark.parametrize("field", WRONG)
def test_every_field_of_a_write(door: httpx.Client, field: str) -> None:
    """Each wrong value of each field is refused by that field's name, alone and in a batch."""
    door.headers.update(JSON)
    for value in WRONG[field]:
        body = GOOD | {field: value}
        answer = door.post(ENTRIES, content=dumped(body))
        named = bad_fields(answer)
        assert {name.partition("[")[0].partition(".")[0] for name in named} == {field}, (value, named)
        assert "canary-content" not in answer.text
        batch = bad_fields(door.post(BATCH, content=dumped({"entries": [GOOD, body]})))
        assert batch == {f"entries[1].{name}" for name in named}


@pytest.mark.parametrize("field", sorted(set(WRONG) - {"createdAt", "expiresAt"}))
def test_every_field_of_an_import(door: httpx.Client, field: str) -> None:
    """The same values are refused in an import line."""
    for value in WRONG[field]:
        lines = dumped(GOOD) + b"\n" + dumped(GOOD | {field: value})
        answer = door.post(IMPORT, content=lines, headers={"Content-Type": "application/x-ndjson"})
        assert {name.partition(".")[0] for name in bad_fields(answer)} == {"line[2]"}


def test_every_bad_field_is_named_at_once(door: httpx.Client) -> None:
    """One refusal names every bad field of the query and the body, each once."""
    wrong = {name: values[3] for name, values in WRONG.items() if name != "createdAt"}
    answer = door.post(ENTRIES, params={"wait": "31", "dry": "1"}, content=dumped(wrong), headers=JSON)
    named = {name.partition("[")[0].partition(".")[0] for name in bad_fields(answer)}
    assert named == {*wrong, "wait", "dry"}
    assert bad_fields(door.post(ENTRIES, json={})) == {"memoryRef", "content"}


def test_a_refusal_has_bounds(door: httpx.Client) -> None:
    """Ten thousand tags, unknown fields or options are refused in a short answer."""
    many_tags = door.post(ENTRIES, json=GOOD | {"tags": [f"t{n}" for n in range(10_000)]})
    assert bad_fields(many_tags) == {"tags"}
    fields = door.post(ENTRIES, json={f"f{n}": n for n in range(10_000)})
    options = door.get(ENTRIES, params=[(f"o{n}", "1") for n in range(3_000)])
    entries = door.post(BATCH, json={"entries": [{}] * 1000})
    for answer in (many_tags, fields, options, entries):
        assert bad_fields(answer)
        assert len(answer.content) < 20_000


@pytest.mark.parametrize(
    "body",
    [
        b"",
        b" ",
        b"null",
        b"true",
        b"1",
        b'"x"',
        b"[]",
        b'[{"memoryRef":"a","content":"canary"}]',
        b"{",
        b'{"memoryRef":"a","content":"canary"}}',
        b'{"memoryRef":"a","content":"canary"} {}',
        b'{"memoryRef":"a","content":"canary","content":"canary"}',
        b'{"memoryRef":"a","content":"canary","metadata":{"k":1,"k":2}}',
        b'{"memoryRef":"a","content":"canary","confidence":NaN}',
        b'{"memoryRef":"a","content":"canary","confidence":Infinity}',
        b'{"memoryRef":"a","content":"canary","metadata":{"k":-Infinity}}',
        b'{"memoryRef":"a","content":"canary","confidence":' + b"9" * 10_000 + b"}",
        b'{"memoryRef":"a","content":"canary","metadata":{"k":' + b"1" * 10_000 + b"}}",
        b'{"memoryRef":"a","content":"canary\xff"}',
        b'{"memoryRef":"a","content":"canary\xed\xa0\x80"}',
        b'{"memoryRef":"a","content":"canary\n"}',
        b'\xef\xbb\xbf{"memoryRef":"a","content":"canary"}',
        '{"memoryRef":"a","content":"canary"}'.encode("utf-16"),
        b"[" * 100_000,
        b'{"a":' * 100_000,
        b'{"memoryRef":"a","content":"canary","metadata":{"k":' + b"[" * 100_000 + b"]" * 100_000 + b"}}",
        b"\x00" * 1000,
    ],
    ids=lambda body: repr(body[:40]),
)
def test_what_is_no_json_object(door: httpx.Client, body: bytes) -> None:
    """A body that is not one strict JSON object is refused as the body, at every door that takes one."""
    for method, path in (("POST", ENTRIES), ("POST", BATCH), ("PUT", "/v1/secrets/s")):
        answer = door.request(method, path, content=body, headers=JSON)
        assert bad_fields(answer) == {"body"}
        assert "canary" not in answer.text
    answer = door.post(IMPORT, content=body, headers=JSON)
    assert all(name == "body" or name.startswith("line[") for name in bad_fields(answer))
    assert "canary" not in answer.text


def test_numbers_out_of_range_in_metadata(door: httpx.Client) -> None:
    """A number no double can hold is refused, and so is JSON deeper than metadata may be."""
    for inner in (b"1e999", b"-1e999", b"[" * 17 + b"]" * 17):
        body = b'{"memoryRef":"a","content":"x","metadata":{"k":' + inner + b"}}"
        assert bad_fields(door.post(ENTRIES, content=body, headers=JSON)) == {"metadata"}


def test_a_huge_body_is_refused(door: httpx.Client) -> None:
    """More than 8 MiB is a 413, whether the length is said before or found out, and the door goes on."""
    huge = b'{"memoryRef":"a","content":"' + b"x" * (8 * 1024 * 1024) + b'"}'

    def pieces() -> Iterator[bytes]:
        for start in range(0, len(huge), 1 << 16):
            yield huge[start : start + (1 << 16)]

    for method, path in (("POST", ENTRIES), ("POST", BATCH), ("POST", IMPORT), ("PUT", "/v1/secrets/s")):
        for body in (huge, pieces()):
            answer = door.request(method, path, content=body, headers=JSON)
            assert assert_error(answer, 413, "payload_too_large") == {"maxBytes": 8 * 1024 * 1024}
    assert bad_fields(door.post(ENTRIES, content=huge[: 8 * 1024 * 1024], headers=JSON)) == {"body"}


def test_a_body_that_ends_early_is_nothing(tenant: Tenant) -> None:
    """A caller that hangs up in the middle of a body leaves nothing behind, and the door goes on."""
    place = urlsplit(tenant.url)
    connection = http.client.HTTPConnection(str(place.hostname), place.port)
    connection.putrequest("POST", ENTRIES)
    connection.putheader("Authorization", f"Bearer {tenant.key()}")
    connection.putheader("Content-Type", "application/json")
    connection.putheader("Content-Length", "1000")
    connection.endheaders(b'{"memoryRef":"a","content":"cut')
    connection.close()


BAD_OPTIONS: dict[str, list[str]] = {
    "tokenBudget": [
        *(
            "",
            "0",
            "-1",
            "1.5",
            "1e3",
            "true",
            "null",
            '"100"',
            str(2**63),
            str(2**53),
            " 1",
            "1 ",
            "+1",
            "0x10",
        ),
        *("01", "１００", "٣", "\x00", "1\x00", "1_000", "9" * 5000, "NaN", "[1]"),
    ],
    "limit": ["", "-1", "1.5", "1e3", "true", "null", '"1"', str(2**53), "00", "٣", "\x00"],
    "tokenCounter": ["", "O200K_BASE", "tokens", "\x00", "o200k_base "],
    "fit": ["", "none", "PREFIX", "\x00"],
    "rank": ["", "newest", "\x00", "Relevance"],
    "query": ["", "x" * 4097, "\x00"],
    "minSimilarity": ["", "x", "1.1", "-1.1", "nan", "inf", "1e999", "0x1", "٠", "\x00", "1" * 400],
    "tag": ["", "x" * 257, "\x00", "a\x00"],
    "kind": ["", "Fact", "\x00"],
    "cursor": ["", "x", "é", "=", "\x00", "A" * 257, "A" * 32],
    "after": ["", "x", "é", "=", "\x00", "A" * 257, "A" * 22],
    "fields": ["", "none", "ALL", "all,all"],
    "unknown": ["", "1"],
}


@pytest.mark.parametrize("option", BAD_OPTIONS)
def test_every_option_of_a_list(door: httpx.Client, option: str) -> None:
    """Each wrong value of each option is refused by the option's name, at both paths of the list."""
    for path in (ENTRIES, "/v1/host/foreword/memory"):
        for value in BAD_OPTIONS[option]:
            answer = door.get(path, params={"memoryRef": "a", option: value})
            assert bad_fields(answer) == {option}, value
        answer = door.get(path, params={"memoryRef": "..", option: BAD_OPTIONS[option][0]})
        assert bad_fields(answer) == {option}
        raw = httpx.URL(door.base_url.join(path), query=f"memoryRef=a&{option}=%ff".encode())
        assert bad_fields(door.get(raw)) == {option}
        twice = door.get(path, params=[("memoryRef", "a"), (option, "1"), (option, "1")])
        assert bad_fields(twice) == {option}


def test_every_bad_option_is_named_at_once(door: httpx.Client) -> None:
    """One refusal names every bad option, and a missing ref too."""
    answer = door.get(ENTRIES, params={name: values[0] for name, values in BAD_OPTIONS.items()})
    assert bad_fields(answer) == {*BAD_OPTIONS, "memoryRef"}
    answer = door.get(f"{ENTRIES}/x", params={"fields": "some", "limit": "1"})
    assert bad_fields(answer) == {"memoryRef", "fields", "limit"}
    answer = door.get("/v1/memory/events", params={"after": "-1", "limit": "0", "x": ""})
    assert bad_fields(answer) == {"memoryRef", "after", "limit", "x"}


@pytest.mark.parametrize(
    ("method", "path"),
    [
        ("GET", f"{ENTRIES}/x"),
        ("DELETE", f"{ENTRIES}/x"),
        ("GET", "/v1/memory/receipts/x"),
        ("DELETE", "/v1/memory"),
        ("GET", "/v1/memory/export"),
        ("GET", "/v1/memory/stats"),
        ("GET", "/v1/memory/events"),
        ("GET", "/v1/memory/jobs/x"),
        ("GET", "/v1/secrets"),
        ("DELETE", "/v1/secrets/x"),
        ("GET", "/v1/seal-key"),
    ],
)
def test_every_door_knows_its_options(door: httpx.Client, method: str, path: str) -> None:
    """An option of another call, or one given twice, is refused at every door; odd names are not repeated."""
    asked = {"memoryRef": "a"} if ("memory/" in path and "jobs" not in path) or path == "/v1/memory" else {}
    assert bad_fields(door.request(method, path, params=asked | {"tenant": "1"})) == {"tenant"}
    odd = door.request(method, path, params=asked | {"sk-canary-123": "1", "é": "", "\x00": ""})
    assert bad_fields(odd) == {"(unnamed)"}
    assert "canary" not in odd.text
    if asked:
        twice = door.request(method, path, params=[("memoryRef", "a"), ("memoryRef", "a")])
        assert bad_fields(twice) == {"memoryRef"}
        assert bad_fields(door.request(method, path)) == {"memoryRef"}


@pytest.mark.parametrize("wait", ["", "-1", "31", "1e9", "nan", "x", "٣", "\x00", "1,5", "030"])
def test_a_wait_has_bounds(door: httpx.Client, wait: str) -> None:
    """A wait is a number of seconds from 0 to 30."""
    for path, body in ((ENTRIES, GOOD), (BATCH, {"entries": [GOOD]})):
        assert bad_fields(door.post(path, params={"wait": wait}, json=body)) == {"wait"}


def test_unreadable_refs_read_as_empty(door: httpx.Client) -> None:
    """A ref that no memory can have is an empty memory to every read and removal, however it is spelled."""
    queries = [str(httpx.QueryParams({"memoryRef": ref})).encode() for ref in UNREADABLE]
    queries += [b"memoryRef=" + raw for raw in UNREADABLE_BYTES]
    for query in queries:

        def ask(path: str, method: str = "GET", query: bytes = query) -> httpx.Response:
            return door.request(method, httpx.URL(door.base_url.join(path), query=query))

        for path in (ENTRIES, "/v1/host/foreword/memory"):
            answer = ask(path)
            assert (answer.status_code, answer.json()["entries"]) == (200, []), query
        assert ask("/v1/memory/stats").json()["entries"] == 0
        assert ask("/v1/memory/events").json()["events"] == []
        assert (ask("/v1/memory/export").status_code, ask("/v1/memory/export").content) == (200, b"")
        assert ask("/v1/memory", "DELETE").json() == {"removed": 0}
        for method, path in (("GET", ENTRIES), ("DELETE", ENTRIES), ("GET", "/v1/memory/receipts")):
            answer = ask(f"{path}/x", method)
            assert_error(answer, 404, "not_found")
            assert answer.json()["message"] == "There is no such thing here."


def test_a_request_line_is_ascii(tenant: Tenant) -> None:
    """Bytes that HTTP does not allow in a request line are a 400, whatever they would have meant."""
    place, key = urlsplit(tenant.url), tenant.key()
    for target in (b"/v1/memory/entries?memoryRef=\xff", b"/v1/memory/entries/\xff?memoryRef=a"):
        with socket.create_connection((place.hostname, place.port)) as raw:
            raw.sendall(b"GET " + target + b" HTTP/1.1\r\nHost: x\r\nConnection: close\r\n")
            raw.sendall(f"Authorization: Bearer {key}\r\n\r\n".encode())
            assert raw.makefile("rb").readline() == b"HTTP/1.1 400 Bad Request\r\n"


def test_odd_refs_are_memories(door: httpx.Client) -> None:
    """Colons, slashes, dots inside a segment, spaces and any script are refs like others."""
    refs = ["mem://conformance/x", "a:b_c-d", "...", "a/..b/c..", " ", "茶/🫖", "x" * 512, "'; --", "a&b=c%"]
    for ref in refs:
        filed(door, ref, "kept")
        assert contents(door, ref) == ["kept"]


def test_odd_paths_are_no_entries(door: httpx.Client) -> None:
    """An id that no entry can have is a 404, not an error of ours."""
    for raw in ("%00", "%ff", "%0a", "a%2Fb", "%2e%2e", "é", "a b", "x" * 129, "%F0%9F%AB%96", "%25"):
        for path in (ENTRIES, "/v1/memory/receipts", "/v1/host/foreword/memory", "/v1/memory/jobs"):
            asked = {} if path.endswith("jobs") else {"memoryRef": "a"}
            assert_error(door.get(f"{path}/{raw}", params=asked), 404, "not_found")


def test_odd_instants_do_not_stop_a_worker(door: httpx.Client) -> None:
    """The earliest and the latest instants are kept and told as they were given."""
    for instant in ("0001-01-02T00:00:00.000Z", "0999-12-31T23:59:59.999Z", "9999-12-30T23:59:59.999Z"):
        written = filed(door, instant, "x", observedAt=instant, expiresAt="9999-12-30T23:59:59.999Z")
        answer = door.get(f"{ENTRIES}/{written['id']}", params={"memoryRef": instant, "fields": "all"})
        assert answer.json()["entry"]["observedAt"] == instant
