"""Search over HTTP: every mode under its own name, every condition of the filter language, every bound."""

from collections.abc import Callable, Iterator
from typing import Any

import httpx
import psycopg
import pytest

from foreword.budget import walk
from tests.acceptance.tenants import Tenant, assert_error, bad_fields, embedded, filed, filed_all

SEARCH, RECALL, ENTRIES = "/v1/memory/search", "/v1/memory/recall", "/v1/memory/entries"
LEGS = {
    "semantic": ["semantic"],
    "lexical": ["lexical"],
    "hybrid": ["semantic", "lexical"],
    "filter": ["filter"],
}
QUESTION = "Where does the zebra sleep?"
SHELF: list[dict[str, Any]] = [
    {
        "id": "stable",
        "content": "The zebra sleeps in the northern stable.",
        "kind": "fact",
        "tags": ["zoo", "night"],
        "confidence": 0.9,
        "source": "mail",
        "speaker": "Ann",
        "conversation": "c1",
        "observedAt": "2026-03-01T10:00:00Z",
        "metadata": {"pen": 4, "keeper": {"name": "Bo", "on": True}, "weights": [310, 290.5]},
    },
    {
        "id": "night",
        "content": "At night the striped horses lie down near the feeding place, one of them always awake.",
        "kind": "insight",
        "tags": ["zoo"],
        "confidence": 0.5,
        "observedAt": "2026-05-01T10:00:00Z",
        "metadata": {"pen": 12, "keeper": {"name": "Cy", "on": False}},
    },
    {
        "id": "invoice",
        "content": "Invoices go to accounting by the tenth of each month.",
        "kind": "note",
        "pinned": True,
        "source": "chat",
        "metadata": {"pen": "4", "keeper": None},
        "expiresAt": "2099-01-01T00:00:00Z",
    },
    {
        "id": "rule",
        "content": "Zebra crossings are painted anew every spring.",
        "kind": "axiom",
        "tags": ["road"],
        "speaker": "Bo",
        "conversation": "c1",
    },
]
EVERY = {entry["id"] for entry in SHELF}


@pytest.fixture(scope="module")
def shelf(product: dict[str, Any]) -> Iterator[httpx.Client]:
    """A door to a tenant whose memory ``a`` holds the shelf, vectors made."""
    tenant = Tenant.fresh(product)
    with tenant.door() as door:
        for entry in SHELF:
            filed(door, "a", **entry)
        embedded(door, "a", len(SHELF))
        yield door


def search(door: httpx.Client, **body: Any) -> dict[str, Any]:
    """The body of a 200."""
    answer = door.post(SEARCH, json={"memoryRef": "a"} | body)
    assert answer.status_code == 200, answer.text
    return dict(answer.json())


def ids(door: httpx.Client, **body: Any) -> list[str]:
    """Ids of what is found, best first."""
    return [entry["id"] for entry in search(door, **body)["entries"]]


@pytest.mark.parametrize("mode", LEGS)
def test_every_mode_tells_what_it_did(shelf: httpx.Client, mode: str) -> None:
    """Its legs, whole entries with score and similarity, best first, and a report that adds up."""
    found = search(shelf, query=QUESTION, mode=mode)
    report, entries = found["budget"], found["entries"]
    assert found.keys() == {"memoryRef", "entries", "budget"}
    assert (report["legs"], report["returned"], report["counter"]) == (LEGS[mode], len(entries), "o200k_base")
    assert "tokenBudget" not in report
    assert report["returned"] + sum(report["omitted"].values()) == len(SHELF)
    wire = {"id", "content", "tags", "createdAt", "score", "similarity"}
    assert all(entry.keys() - {"expiresAt"} == wire for entry in entries)
    scores = [entry["score"] for entry in entries]
    assert scores == sorted(scores, reverse=True)
    similar = [entry["similarity"] for entry in entries]
    if mode == "semantic":
        assert similar == scores
    elif mode != "hybrid":
        assert set(similar) == {None}


def test_each_mode_has_its_own_order(shelf: httpx.Client) -> None:
    """Meaning finds what shares no word, words no more than that; hybrid has both; filter is newest first."""
    lexical = ids(shelf, query=QUESTION, mode="lexical")
    semantic = ids(shelf, query=QUESTION, mode="semantic")
    assert set(lexical) == {"stable", "rule"}
    assert set(semantic) == EVERY
    assert semantic.index("night") < semantic.index("invoice")
    hybrid = ids(shelf, query=QUESTION)
    assert hybrid == ids(shelf, query=QUESTION, mode="hybrid")
    assert (hybrid[0], set(hybrid)) == ("stable", EVERY)
    assert ids(shelf, mode="filter") == ["rule", "invoice", "night", "stable"]
    assert ids(shelf, mode="filter", query="not needed, not looked at") == ids(shelf, mode="filter")


def test_equal_searches_are_equal_bytes(shelf: httpx.Client) -> None:
    """The same search has the same bytes and tag, and 304 for who has them."""
    for mode in LEGS:
        body = {"memoryRef": "a", "query": QUESTION, "mode": mode}
        first, again = shelf.post(SEARCH, json=body), shelf.post(SEARCH, json=body)
        assert (first.content, first.headers["etag"]) == (again.content, again.headers["etag"])
        known = shelf.post(SEARCH, json=body, headers={"If-None-Match": first.headers["etag"]})
        assert (known.status_code, known.content) == (304, b"")


def test_all_fields_of_what_is_found(shelf: httpx.Client) -> None:
    """With ``fields`` a found entry is what a list shows of it, score and similarity beside."""
    listed = shelf.get(ENTRIES, params={"memoryRef": "a", "fields": "all"}).json()["entries"]
    by_id = {entry["id"]: entry for entry in listed}
    for mode in LEGS:
        for entry in search(shelf, query=QUESTION, mode=mode, fields="all")["entries"]:
            told = {name: value for name, value in entry.items() if name not in ("score", "similarity")}
            assert told == by_id[entry["id"]]
            assert {"score", "similarity"} <= entry.keys()


CONDITIONS: list[tuple[dict[str, Any], set[str]]] = [
    ({"id": "night"}, {"night"}),
    ({"kind": "fact"}, {"stable"}),
    ({"kind": {"eq": "fact"}}, {"stable"}),
    ({"kind": {"in": ["fact", "note"]}}, {"stable", "invoice"}),
    ({"tags": "zoo"}, {"stable", "night"}),
    ({"tags": {"in": ["road", "night"]}}, {"rule", "stable"}),
    ({"tags": {"exists": False}}, {"invoice"}),
    ({"source": {"exists": True}}, {"stable", "invoice"}),
    ({"source": "chat"}, {"invoice"}),
    ({"speaker": "Ann"}, {"stable"}),
    ({"conversation": "c1", "speaker": {"in": ["Bo", "Cy"]}}, {"rule"}),
    ({"pinned": True}, {"invoice"}),
    ({"confidence": 0.9}, {"stable"}),
    ({"confidence": {"lt": 0.9}}, {"night"}),
    ({"confidence": {"gte": 0.5, "lte": 0.9}}, {"stable", "night"}),
    ({"confidence": {"gt": 0.9}}, {"invoice", "rule"}),
    ({"observedAt": {"gte": "2026-03-01T10:00:00Z", "lt": "2026-05-01T12:00:00+02:00"}}, {"stable"}),
    ({"observedAt": "2026-05-01T10:00:00.000Z"}, {"night"}),
    ({"createdAt": {"gt": "2020-01-01T00:00:00Z"}}, EVERY),
    ({"expiresAt": {"exists": False}}, EVERY - {"invoice"}),
    ({"expiresAt": {"lte": "2099-01-01T00:00:00Z"}}, {"invoice"}),
    ({"metadata.pen": 4}, {"stable"}),
    ({"metadata.pen": "4"}, {"invoice"}),
    ({"metadata.pen": {"gt": 4}}, {"night"}),
    ({"metadata.pen": {"in": [12, "4"]}}, {"night", "invoice"}),
    ({"metadata.keeper.name": "Bo"}, {"stable"}),
    ({"metadata.keeper.on": False}, {"night"}),
    ({"metadata.keeper": {"exists": True}}, {"stable", "night", "invoice"}),
    ({"metadata.weights.1": {"lt": 290.51, "gte": 290.5}}, {"stable"}),
    ({"metadata.nowhere": {"lt": 5}}, set()),
    ({"not": {"tags": "zoo"}}, {"invoice", "rule"}),
    ({"not": {"metadata.pen": {"gt": 4}}}, EVERY - {"night"}),
    ({"or": [{"kind": "axiom"}, {"pinned": True}]}, {"rule", "invoice"}),
    ({"and": [{"tags": "zoo"}, {"not": {"kind": "fact"}}]}, {"night"}),
    ({"tags": "zoo", "or": [{"source": "chat"}, {"confidence": {"lt": 0.6}}]}, {"night"}),
]


def test_each_condition_of_the_language(shelf: httpx.Client) -> None:
    """Every field and operator keeps what it says, alike in every mode; the rest is not told as left out."""
    for chosen, expected in CONDITIONS:
        found = search(shelf, mode="filter", filter=chosen)
        assert {entry["id"] for entry in found["entries"]} == expected, chosen
        assert sum(found["budget"]["omitted"].values()) == 0
        for mode in ("semantic", "hybrid"):
            assert set(ids(shelf, query=QUESTION, mode=mode, filter=chosen)) == expected, (mode, chosen)
        lexical = set(ids(shelf, query=QUESTION, mode="lexical", filter=chosen))
        assert lexical == expected & {"stable", "rule"}, chosen


def test_the_bounds_of_the_language(shelf: httpx.Client) -> None:
    """The largest filters are answered, one step more is refused under the place where it is wrong."""
    many = [{"kind": "fact"}] * 64
    assert ids(shelf, mode="filter", filter={"or": many}) == ["stable"]
    assert ids(shelf, mode="filter", filter={"kind": {"in": ["fact"] * 256}}) == ["stable"]
    assert ids(shelf, mode="filter", filter={"kind": "x" * 1024}) == []
    assert ids(shelf, mode="filter", filter={"metadata" + ".a" * 8: 1}) == []
    for wrong, place in (
        ({"and": [{"or": many}, {"kind": "fact"}]}, "filter"),
        ({"or": [*many, {"kind": "fact"}]}, "filter.or"),
        ({"kind": {"in": ["fact"] * 257}}, "filter.kind.in"),
        ({"and": [{"kind": "fact"}, {"kind": {"gt": "a"}}]}, "filter.and[1].kind.gt"),
        ({"not": {"metadata.a.b": {"lt": "x"}}}, "filter.not.metadata.a.b.lt"),
        ({"or": [{"confidence": {"between": [0, 1]}}]}, "filter.or[0].confidence"),
        ({"observedAt": {"gte": "yesterday"}}, "filter.observedAt.gte"),
        ({"secret": 1}, "filter"),
    ):
        answer = shelf.post(SEARCH, json={"memoryRef": "a", "mode": "filter", "filter": wrong})
        assert bad_fields(answer) == {place}, wrong


@pytest.mark.parametrize("mode", LEGS)
def test_a_search_keeps_its_budget(shelf: httpx.Client, mode: str) -> None:
    """In every counter and fit a search returns what the law selects of its own whole ranking."""
    whole = search(shelf, query=QUESTION, mode=mode, fields="all")["entries"]
    for counter in ("o200k_base", "cl100k_base", "chars", "host-defined"):
        costs = [entry["costs"][counter] for entry in whole]
        for fit in ("prefix", "strict", "pack"):
            for budget in (1, costs[0], sum(costs[:2]) - 1, sum(costs)):
                found = search(
                    shelf, query=QUESTION, mode=mode, tokenBudget=budget, tokenCounter=counter, fit=fit
                )
                expected = walk(costs, budget=budget, limit=10, fit=fit)  # type: ignore[arg-type]
                assert [entry["id"] for entry in found["entries"]] == [whole[i]["id"] for i in expected.kept]
                report = found["budget"]
                assert (report["tokenBudget"], report["counter"]) == (budget, counter)
                assert report["used"] == expected.used <= budget
                assert report["returned"] + sum(report["omitted"].values()) == len(SHELF)
    assert ids(shelf, query=QUESTION, mode=mode, topK=1) == [whole[0]["id"]]
    assert search(shelf, query=QUESTION, mode=mode, topK=1)["budget"]["omitted"]["limit"] == len(whole) - 1


def test_a_floor_is_for_meaning_alone(shelf: httpx.Client) -> None:
    """-1 lets everything in, 1 nothing but what words find; between, what is less alike is counted."""
    near = search(shelf, query=QUESTION, mode="semantic")["entries"]
    assert ids(shelf, query=QUESTION, mode="semantic", minSimilarity=-1) == [entry["id"] for entry in near]
    least = near[1]["similarity"]
    for floor in (least - 1e-4, 0.999, 1):
        found = search(shelf, query=QUESTION, mode="semantic", minSimilarity=floor)
        kept = [entry["id"] for entry in near if entry["similarity"] >= floor]
        assert [entry["id"] for entry in found["entries"]] == kept
        assert found["budget"]["omitted"]["similarity"] == len(SHELF) - len(kept)
    assert set(ids(shelf, query=QUESTION, minSimilarity=1)) >= {"stable", "rule"}
    assert "invoice" not in ids(shelf, query=QUESTION, minSimilarity=1)
    assert set(ids(shelf, query=QUESTION, mode="lexical", minSimilarity=1)) == {"stable", "rule"}


def test_an_over_long_question_says_so(shelf: httpx.Client) -> None:
    """A hundred thousand characters are shortened, the same way every time; a short question says nothing."""
    long = "once upon a time " * 6000 + QUESTION
    for mode in ("semantic", "lexical", "hybrid"):
        body = {"memoryRef": "a", "query": long, "mode": mode}
        first, again = shelf.post(SEARCH, json=body), shelf.post(SEARCH, json=body)
        assert first.json()["queryTruncated"] is True
        assert first.content == again.content
        assert "queryTruncated" not in search(shelf, query=QUESTION, mode=mode)
    assert "stable" in ids(shelf, query=long, mode="lexical")
    told = shelf.post(RECALL, json={"memoryRef": "a", "query": long}).json()
    assert told["queryTruncated"] is True
    assert "northern stable" in told["text"]


def test_what_has_no_vector_is_found_by_words(tenant: Tenant, door: httpx.Client) -> None:
    """While an entry waits for its vector words find it, whatever the floor, and semantic counts it."""
    filed_all(door, "a", "The zebra sleeps here.", "An unrelated remark.")
    embedded(door, "a", 2)
    lose = """WITH lost AS (
                  DELETE FROM vectors WHERE tenant_id = %s
                  RETURNING tenant_id, scope_id, id, model_id, 5)
              INSERT INTO unembedded (tenant_id, scope_id, id, model_id, failures) SELECT * FROM lost"""
    with psycopg.connect(tenant.database_url) as owner:
        owner.execute(lose, [tenant.number])
    found = search(door, query="zebra", mode="semantic")
    assert (found["entries"], found["budget"]["omitted"]["similarity"]) == ([], 2)
    for mode in ("lexical", "hybrid"):
        (entry,) = search(door, query="zebra", mode=mode, minSimilarity=1)["entries"]
        assert (entry["content"], entry["similarity"]) == ("The zebra sleeps here.", None)
    assert "zebra sleeps" in door.post(RECALL, json={"memoryRef": "a", "query": "zebra"}).json()["text"]
    assert door.delete("/v1/memory", params={"memoryRef": "a"}).json()["removed"] == 2


def test_what_is_gone_is_found_by_no_mode(door: httpx.Client) -> None:
    """Right after the call that removed or replaced an entry no mode and no recall knows it."""
    old, other = filed_all(door, "a", "zebra one by the river", "zebra two under the old tree")
    embedded(door, "a", 2)
    filed(door, "a", "zebra three was seen on the hill", id="new", supersedes=[old["id"]])
    door.delete(f"{ENTRIES}/{other['id']}", params={"memoryRef": "a"})
    for mode in LEGS:
        assert set(ids(door, query="zebra", mode=mode)) <= {"new"}, mode
    assert ids(door, query="zebra", mode="lexical") == ["new"]
    told = door.post(RECALL, json={"memoryRef": "a", "query": "zebra", "minSimilarity": -1}).json()
    assert told["entries"] == ["new"]


def test_without_an_embedder_no_order_is_made_up(shelf: httpx.Client, shim: Callable[..., str]) -> None:
    """Where there is none, meaning is refused by name; words and filters answer and say what they did."""
    with httpx.Client(base_url=shim(FOREWORD_EMBEDDER="none"), headers=shelf.headers, timeout=40) as bare:
        asked = {"memoryRef": "a", "query": QUESTION}
        assert bad_fields(bare.post(SEARCH, json=asked | {"mode": "semantic"})) == {"mode"}
        assert bad_fields(bare.get(ENTRIES, params=asked | {"rank": "relevance"})) == {"rank"}
        for mode, legs in (("lexical", ["lexical"]), ("hybrid", ["lexical"]), ("filter", ["filter"])):
            assert search(bare, query=QUESTION, mode=mode)["budget"]["legs"] == legs
        assert set(ids(bare, query=QUESTION)) == {"stable", "rule"}
        told = bare.post(RECALL, json=asked).json()
        assert (set(told["entries"]), told["budget"]["legs"]) == ({"stable", "rule"}, ["lexical"])
        assert len(bare.get(ENTRIES, params={"memoryRef": "a"}).json()["entries"]) == len(SHELF)
        assert "foreword_unembedded" not in bare.get("/metrics").text


def test_while_the_embedder_is_away(shelf: httpx.Client, shim: Callable[..., str]) -> None:
    """Where it does not answer, meaning is 503 with a time to come again; words answer and say so."""
    url = shim(
        FOREWORD_EMBEDDER="openai",
        FOREWORD_EMBEDDER_URL="http://127.0.0.1:9/v1",
        FOREWORD_EMBEDDER_MODEL="nobody",
        FOREWORD_EMBEDDER_DIMENSION="8",
    )
    with httpx.Client(base_url=url, headers=shelf.headers, timeout=40) as away:
        asked = {"memoryRef": "a", "query": QUESTION}
        for answer in (
            away.post(SEARCH, json=asked | {"mode": "semantic"}),
            away.get(ENTRIES, params=asked | {"rank": "relevance"}),
        ):
            assert_error(answer, 503, "unavailable")
            assert int(answer.headers["retry-after"]) >= 1
        found = search(away, query=QUESTION)
        assert (found["budget"]["legs"], len(found["entries"])) == (["lexical"], 2)
        assert away.post(RECALL, json=asked).json()["budget"]["legs"] == ["lexical"]
