"""Bad questions over HTTP: search and recall name every bad field, repeat nothing, and go on serving."""

import json
from collections.abc import Iterator
from typing import Any

import httpx
import pytest

from tests.acceptance.tenants import JSON, bad_fields, filed
from tests.acceptance.test_bad_input import EVERYTHING, UNREADABLE, UNREADABLE_BYTES, dumped

SEARCH, RECALL, ENTRIES = "/v1/memory/search", "/v1/memory/recall", "/v1/memory/entries"
GOOD: dict[str, Any] = {"memoryRef": "a", "query": "canary-question"}
NOT_COUNTS = [
    *(None, True, False, "", "1", [], {}, 0, -1, 1.5, 1.0, 1e3),
    *(2**53, 2**63, -(2**63), 10**400),
]
NOT_NAMES = [None, True, 0, "", [], {}, "\x00", "\ud800", "x"]

BOTH: dict[str, list[object]] = {
    "query": [None, True, 0, 1.5, [], ["x"], {}, "", " ", "\n\t", "x\x00", "\ud800x", "x" * 1_000_001],
    "tokenBudget": NOT_COUNTS,
    "topK": NOT_COUNTS,
    "minSimilarity": [None, True, "", "0", [], {}, 1.1, -1.1, 2, 10**400, -(2**63)],
    "tokenCounter": [*NOT_NAMES, "O200K_BASE", "tokens"],
    "unknown": EVERYTHING,
    "tenant": [1, "1"],
}
OF_SEARCH: dict[str, list[object]] = {
    **BOTH,
    "memoryRef": [None, True, 0, 1.5, [], ["a"], {}, {"a": 1}],
    "mode": [*NOT_NAMES, "Hybrid", "hybrid ", ["hybrid"]],
    "fit": [*NOT_NAMES, "PREFIX"],
    "fields": [*NOT_NAMES, "ALL", ["all"]],
    "session": ["x"],
    "filter": [
        *(None, True, 0, "", "x", [], ["x"], {}),
        *({"x": 1}, {"tenant_id": 1}, {"tenant": 1}, {"memoryRef": "a"}, {"e.id": "x"}, {"metadata": 1}),
        *({"kind": None}, {"kind": []}, {"kind": {}}, {"kind": {"like": "x"}}, {"kind": {"gt": "a"}}),
        *({"kind": "\x00"}, {"kind": "\ud800"}, {"kind": "x" * 1025}, {"kind": {"in": []}}),
        *({"kind": {"in": "fact"}}, {"kind": {"in": ["x"] * 257}}, {"source": {"exists": 1}}),
        *({"confidence": "1"}, {"confidence": True}, {"confidence": {"gte": None}}, {"confidence": 2**63}),
        *({"confidence": 10**400}, {"pinned": 1}, {"tags": {"gt": "a"}}, {"tags": [1]}, {"tags": ["a"]}),
        *({"createdAt": 1}, {"createdAt": "2020-01-01"}, {"createdAt": {"lt": "x"}}, {"createdAt": True}),
        *({"createdAt": {"gt": "0001-01-01T00:00:00+14:00"}}, {"expiresAt": "9999-12-31T23:59:59-14:00"}),
        *({"metadata.": 1}, {"metadata.a b": 1}, {"metadata.a'": 1}, {"metadata.a": None}),
        *({"metadata.a": {"gt": "x"}}, {"metadata.a": {"eq": {}}}, {"metadata.a": {"eq": "\x00"}}),
        *({"metadata" + ".a" * 9: 1}, {"metadata." + "a" * 65: 1}),
        *({"and": []}, {"and": {}}, {"and": [1]}, {"or": [{}]}, {"or": [{"kind": "fact"}] * 65}),
        *({"not": []}, {"not": {}}, {"not": None}, {"not": {"and": [{"x": 1}]}}),
        {"and": [{"or": [{"kind": "fact"}] * 9}] * 9},
    ],
}
OF_RECALL: dict[str, list[object]] = {
    **BOTH,
    "memoryRef": [None, True, 0, 1.5, [], {}, [1], [None], [["a"]], ["a", True], [f"{n}" for n in range(17)]],
    "format": [*NOT_NAMES, "XML", "markdown"],
    "exclude": [None, True, 0, "x", {}, [1], [None], [""], ["x" * 129], ["x"] * 1001],
    "session": [True, 0, [], {}, "x", "é", "\x00", "\ud800", "====", "A" * 100, "x" * 32_769],
    "shares": [
        *(None, True, 0, "x", [], ["a"], {"b": 0.5}, {"a": None}, {"a": True}, {"a": "1"}, {"a": -0.1}),
        *({"a": 1.1}, {"a": 10**400}, {"a": 0.5, "b": 0.5}),
    ],
    "filter": [{}],
    "mode": ["hybrid"],
}


@pytest.fixture(autouse=True)
def still_there(door: httpx.Client, foreseen: None) -> Iterator[None]:
    """After every test both doors still answer."""
    filed(door, "a", "the sentinel stands")
    yield
    door.headers.pop("Content-Type", None)
    found = door.post(SEARCH, json={"memoryRef": "a", "query": "sentinel", "mode": "lexical"}).json()
    assert [entry["content"] for entry in found["entries"]] == ["the sentinel stands"]
    assert "sentinel" in door.post(RECALL, json={"memoryRef": "a", "query": "sentinel"}).json()["text"]


@pytest.mark.parametrize(
    ("path", "field", "values"),
    [
        *((SEARCH, field, values) for field, values in OF_SEARCH.items()),
        *((RECALL, field, values) for field, values in OF_RECALL.items()),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_every_field_of_a_question(door: httpx.Client, path: str, field: str, values: list[object]) -> None:
    """Each wrong value of each field is refused by that field's name, in a short answer without its text."""
    for value in values:
        answer = door.post(path, content=dumped(GOOD | {field: value}), headers=JSON)
        named = {name.partition(".")[0].partition("[")[0] for name in bad_fields(answer)}
        assert named == {field}, (str(value)[:100], answer.text)
        assert "canary" not in answer.text
        assert len(answer.content) < 20_000


@pytest.mark.parametrize(("path", "wrong"), [(SEARCH, OF_SEARCH), (RECALL, OF_RECALL)])
def test_every_bad_field_is_named_at_once(
    door: httpx.Client, path: str, wrong: dict[str, list[object]]
) -> None:
    """One refusal names every bad field of a question."""
    body = {name: values[0] for name, values in wrong.items()}
    assert bad_fields(door.post(path, content=dumped(body), headers=JSON)) == set(body)
    assert bad_fields(door.post(path, json={})) == {"memoryRef", "query"}


@pytest.mark.parametrize("path", [SEARCH, RECALL])
def test_what_is_no_question(door: httpx.Client, path: str) -> None:
    """A body that is not one strict JSON object, or an option in the query string, is refused."""
    bodies = [
        *(b"", b"null", b"[]", b'"x"', b"{", b"\xff", b"[" * 100_000, b'{"a":' * 100_000),
        *(b'{"memoryRef":"a","query":"canary","query":"x"}', b'{"memoryRef":"a","query":"canary\xff"}'),
        *(b'{"memoryRef":"a","query":"canary","minSimilarity":NaN}', b'{"memoryRef":"a","topK":Infinity}'),
    ]
    for body in bodies:
        answer = door.post(path, content=body, headers=JSON)
        assert bad_fields(answer) == {"body"}, body[:40]
        assert "canary" not in answer.text
    assert bad_fields(door.post(path, params={"memoryRef": "a"}, json=GOOD)) == {"memoryRef"}


def test_a_deep_filter_is_refused(door: httpx.Client) -> None:
    """A filter may be nested eight deep and no deeper, however it is nested."""
    for wrap in ('{"not":%s}', '{"and":[%s]}', '{"or":[%s]}'):
        for depth, good in ((8, True), (9, False), (500, False)):
            text = '{"kind":"fact"}'
            for _ in range(depth):
                text = wrap % text
            body = '{"memoryRef":"a","mode":"filter","filter":' + text + "}"
            answer = door.post(SEARCH, content=body.encode(), headers=JSON)
            if good:
                assert answer.status_code == 200, answer.text
            else:
                named = {n.partition(".")[0] for n in bad_fields(answer)}
                assert named <= {"filter", "body"}


def test_unreadable_refs_read_as_empty(door: httpx.Client) -> None:
    """A ref that no memory can have is an empty memory to search, recall and ``rank=relevance``."""
    for ref in (*UNREADABLE, "\ud800", "x\udfff", "never written"):
        found = door.post(SEARCH, content=dumped(GOOD | {"memoryRef": ref}), headers=JSON)
        assert (found.status_code, found.json()["entries"]) == (200, []), ref
        for refs in (ref, [ref], [ref, ".."]):
            told = door.post(RECALL, content=dumped(GOOD | {"memoryRef": refs}), headers=JSON)
            assert told.status_code == 200, told.text
            assert (told.json()["text"], told.json()["entries"]) == ("", []), ref
    for raw in UNREADABLE_BYTES:
        url = httpx.URL(door.base_url.join(ENTRIES), query=b"rank=relevance&query=x&memoryRef=" + raw)
        assert (door.get(url).status_code, door.get(url).json()["entries"]) == (200, [])


def test_the_most_there_may_be(door: httpx.Client) -> None:
    """The largest budget, topK, question and lists that are allowed are answered."""
    most = GOOD | {"topK": 2**53 - 1, "tokenBudget": 2**53 - 1, "minSimilarity": -1}
    for query in (
        "sentinel",
        "x " * 499_990 + "sentinel",
        "\U0001f375" * 1000,
        "'; DROP TABLE entries; --",
        "%s %(x)s",
    ):
        for mode in ("semantic", "lexical", "hybrid"):
            answer = door.post(SEARCH, json=most | {"query": query, "mode": mode})
            assert answer.status_code == 200, answer.text
        assert door.post(RECALL, json=most | {"query": query}).status_code == 200
    told = door.post(
        RECALL,
        json=most | {"memoryRef": [f"{n}" for n in range(16)], "exclude": [f"{n}" for n in range(1000)]},
    )
    assert told.status_code == 200


def test_every_option_of_a_ranked_list(door: httpx.Client) -> None:
    """``rank=relevance`` needs a question that says something, and has no cursor."""
    good = {"memoryRef": "a", "rank": "relevance", "query": "x"}
    for name, values in {
        "query": ["", " ", "x" * 4097, "\x00"],
        "minSimilarity": ["", "x", "1.1", "nan", "inf"],
        "cursor": ["A" * 32, ""],
        "tokenBudget": ["0", "1e3", str(2**53)],
    }.items():
        for value in values:
            assert bad_fields(door.get(ENTRIES, params=good | {name: value})) == {name}, value
    assert bad_fields(door.get(ENTRIES, params={"memoryRef": "a", "rank": "relevance"})) == {"query"}
    assert json.loads(door.get(ENTRIES, params=good).text)["budget"]["legs"] == ["semantic"]
