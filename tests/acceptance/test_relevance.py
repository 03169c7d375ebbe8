"""``rank=relevance`` over HTTP: a list in another order, by the same budget, at every door of the list."""

from collections.abc import Iterator
from typing import Any

import httpx
import pytest

from foreword.budget import walk
from tests.acceptance.tenants import Tenant, bad_fields, embedded, filed, filed_all, page

SEARCH, ENTRIES, HOST = "/v1/memory/search", "/v1/memory/entries", "/v1/host/foreword/memory"
QUESTION = "Where does the zebra sleep?"
ZOO = [
    "The zebra sleeps in the northern stable.",
    "At night the striped horses lie down near the feeding place, one of them always awake.",
    "Lions sleep for most of the day.",
    "The keeper's keys hang behind the door.",
]
OFFICE = ["Invoices go to accounting by the tenth.", "The printer on the second floor is out of order again."]


@pytest.fixture(scope="module")
def zoo(product: dict[str, Any]) -> Iterator[httpx.Client]:
    """A door to a tenant whose memory ``a`` holds six entries, the oldest the nearest, vectors made."""
    tenant = Tenant.fresh(product)
    with tenant.door() as door:
        filed_all(door, "a", *ZOO, tags=["zoo"])
        filed_all(door, "a", *OFFICE, tags=["office"], kind="note")
        embedded(door, "a", 6)
        yield door


def near(door: httpx.Client, **options: Any) -> dict[str, Any]:
    """A list by relevance to the question."""
    return page(door, "a", **{"rank": "relevance", "query": QUESTION} | options)


def ids(found: dict[str, Any]) -> list[str]:
    """Ids in order."""
    return [entry["id"] for entry in found["entries"]]


def test_a_list_by_relevance_is_the_semantic_search(zoo: httpx.Client) -> None:
    """The same entries in the same order as semantic search, in the fields of a list."""
    found = near(zoo)
    body = {"memoryRef": "a", "query": QUESTION, "mode": "semantic", "topK": 100}
    searched = zoo.post(SEARCH, json=body).json()
    assert ids(found) == ids(searched)
    assert found["budget"] == searched["budget"]
    assert found["budget"]["legs"] == ["semantic"]
    assert found["entries"][0]["content"] == ZOO[0]
    assert set(ids(found)) == set(ids(page(zoo, "a")))
    assert ids(found) != ids(page(zoo, "a"))
    assert all(entry.keys() == {"id", "content", "tags", "createdAt"} for entry in found["entries"])
    full = near(zoo, fields="all")["entries"]
    assert [entry["similarity"] for entry in full] == [entry["score"] for entry in full]
    assert [entry["similarity"] for entry in full] == [e["similarity"] for e in searched["entries"]]


@pytest.mark.parametrize("fit", ["prefix", "strict", "pack"])
def test_the_law_cuts_the_ranking(zoo: httpx.Client, fit: str) -> None:
    """In every counter, what a budget and a limit let through is what the law selects of the ranking."""
    whole = near(zoo, fields="all")["entries"]
    for counter in ("o200k_base", "cl100k_base", "chars", "host-defined"):
        costs = [entry["costs"][counter] for entry in whole]
        for budget in (1, costs[0], costs[0] + costs[1] - 1, sum(costs) - 1, sum(costs), 2**53 - 1):
            for limit in (0, 2):
                options = {"tokenBudget": budget, "tokenCounter": counter, "fit": fit, "limit": limit}
                found, expected = (
                    near(zoo, **options),
                    walk(costs, budget=budget, limit=limit or None, fit=fit),
                )  # type: ignore[arg-type]
                assert ids(found) == [whole[i]["id"] for i in expected.kept]
                report = found["budget"]
                assert (report["used"], report["tokenBudget"]) == (expected.used, budget)
                assert report["returned"] + sum(report["omitted"].values()) == 6
                assert report.get("smallestOmitted") == expected.smallest_omitted
                assert "nextCursor" not in found


def test_tag_and_kind_narrow_and_limit_bounds(zoo: httpx.Client) -> None:
    """Tag and kind choose before the ranking, a limit ends it, and 0 is no limit."""
    whole = ids(near(zoo))
    zoos = [entry["id"] for entry in near(zoo)["entries"] if entry["tags"] == ["zoo"]]
    assert ids(near(zoo, tag="zoo")) == zoos
    assert len(zoos) == 4
    notes = near(zoo, kind="note")
    assert set(ids(notes)) == set(whole) - set(zoos)
    assert sum(notes["budget"]["omitted"].values()) == 0
    assert ids(near(zoo, tag="zoo", kind="note")) == []
    few = near(zoo, limit=2)
    assert (ids(few), few["budget"]["omitted"]["limit"]) == (whole[:2], 4)
    assert ids(near(zoo, limit=0)) == whole


def test_a_floor_leaves_out_what_is_less_alike(zoo: httpx.Client) -> None:
    """-1 is no floor, 1 lets nothing in, between raw cosines decide, and what is beyond them is refused."""
    full = near(zoo, fields="all")["entries"]
    assert near(zoo, minSimilarity="-1") == near(zoo) == near(zoo, minSimilarity="-1.0")
    for floor in (full[1]["similarity"] - 1e-4, 0.0, 0.3, 1.0):
        found = near(zoo, minSimilarity=floor)
        kept = [entry["id"] for entry in full if entry["similarity"] >= floor]
        assert ids(found) == kept
        assert found["budget"]["omitted"]["similarity"] == 6 - len(kept)
    for wrong in ("1.01", "-1.000001", "2", "1e1", "0,5", "+0.5", "", "NaN", "Infinity", "true"):
        asked = {"memoryRef": "a", "rank": "relevance", "query": "x", "minSimilarity": wrong}
        assert bad_fields(zoo.get(ENTRIES, params=asked)) == {"minSimilarity"}, wrong


def test_a_question_and_no_cursor(zoo: httpx.Client) -> None:
    """Relevance needs a question of 1 to 4,096 characters, has no cursor, and a long question says so."""
    asked = {"memoryRef": "a", "rank": "relevance"}
    assert bad_fields(zoo.get(ENTRIES, params=asked)) == {"query"}
    long = ("zebra " * 1000)[:4096]
    found = near(zoo, query=long)
    assert (found["queryTruncated"], len(found["entries"])) == (True, 6)
    assert "queryTruncated" not in near(zoo)
    assert bad_fields(zoo.get(ENTRIES, params=asked | {"query": long + "z"})) == {"query"}
    cursor = page(zoo, "a", limit=1)["nextCursor"]
    assert bad_fields(zoo.get(ENTRIES, params=asked | {"query": "x", "cursor": cursor})) == {"cursor"}
    recent = page(zoo, "a", query=QUESTION, minSimilarity=1)
    assert (recent["entries"], recent["budget"]) == (page(zoo, "a")["entries"], page(zoo, "a")["budget"])
    assert bad_fields(zoo.get(ENTRIES, params=asked | {"rank": "Relevance"})) >= {"rank"}


def test_the_host_path_ranks_alike(zoo: httpx.Client) -> None:
    """Both doors give the same bytes and tag, and 304 for who has them."""
    options = {"rank": "relevance", "query": QUESTION, "tokenBudget": 30}
    here = zoo.get(ENTRIES, params={"memoryRef": "a"} | options)
    there = zoo.get(HOST, params={"memoryRef": "a"} | options)
    assert (here.content, here.headers["etag"]) == (there.content, there.headers["etag"])
    tag = {"If-None-Match": here.headers["etag"]}
    known = zoo.get(ENTRIES, params={"memoryRef": "a"} | options, headers=tag)
    assert (known.status_code, known.content) == (304, b"")


def test_what_was_just_written_is_waited_for(door: httpx.Client) -> None:
    """With ``after`` a write is in the report at once, and is found when it has its vector."""
    position = filed(door, "a", ZOO[0])["position"]
    found = page(door, "a", rank="relevance", query=QUESTION, after=position)
    assert found["budget"]["returned"] + found["budget"]["omitted"]["similarity"] == 1
    embedded(door, "a", 1)
    assert len(page(door, "a", rank="relevance", query=QUESTION, after=position)["entries"]) == 1


def test_nobody_elses_memory_is_ranked(tenant: Tenant, zoo: httpx.Client) -> None:
    """To another tenant, and to a key that may not reach it, a ref is empty, with the same report."""
    options = {"rank": "relevance", "query": QUESTION, "tokenBudget": 100}
    with tenant.neighbour().door() as other, tenant.door("read", ref_glob="mine/*") as bound:
        told = [page(other, "a", **options), page(bound, "a", **options), page(zoo, "never", **options)]
    assert all(one["entries"] == [] for one in told)
    assert told[0]["budget"] == told[1]["budget"] == told[2]["budget"]
