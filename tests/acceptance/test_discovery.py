"""What the server says of itself is what it does, with an embedder, without, and before its model serves."""

from collections.abc import Callable
from typing import Any

import httpx

from tests.acceptance.tenants import Tenant, assert_error, bad_fields, filed
from tests.services import eventually

ASKED = {"memoryRef": "a", "query": "deploy"}


def told(url: str) -> dict[str, Any]:
    """The memory capability, the same in both places it stands."""
    body = httpx.get(f"{url}/.well-known/openwop").raise_for_status().json()
    assert body["capabilities"]["memory"] == body["memory"]
    return dict(body["memory"])


def test_search_is_advertised_where_meaning_is_found(product: dict[str, Any], door: httpx.Client) -> None:
    """With an embedder discovery names search and its modes, and each of these answers."""
    search = eventually(lambda: told(product["url"]).get("search"), "the model serves")
    assert search == {"supported": True, "modes": ["semantic", "filter"]}
    for mode in search["modes"]:

        def answers(mode: str = mode) -> bool:
            answer = door.post("/v1/memory/search", json=ASKED | {"mode": mode})
            return answer.status_code == 200 and answer.json()["budget"]["legs"] == [mode]

        eventually(answers, "the model serves")


def test_without_an_embedder_words_answer(tenant: Tenant, shim: Callable[..., str]) -> None:
    """Without an embedder search is not advertised, meaning is refused by name, and words still answer."""
    url = shim(FOREWORD_EMBEDDER="none")
    assert "search" not in told(url)
    with tenant.door(url=url) as door:
        filed(door, "a", "The deploy window is 14:00 UTC.")
        refused = door.post("/v1/memory/search", json=ASKED | {"mode": "semantic"})
        assert bad_fields(refused) == {"mode"}
        ranked = door.get("/v1/memory/entries", params=ASKED | {"rank": "relevance"})
        assert bad_fields(ranked) == {"rank"}
        for mode in ("hybrid", "lexical"):
            found = door.post("/v1/memory/search", json=ASKED | {"mode": mode}).json()
            assert [entry["content"] for entry in found["entries"]] == ["The deploy window is 14:00 UTC."]
            assert found["budget"]["legs"] == ["lexical"]
        recalled = door.post("/v1/memory/recall", json=ASKED).json()
        assert "The deploy window is 14:00 UTC." in recalled["text"]
        assert recalled["budget"]["legs"] == ["lexical"]


def test_a_model_that_does_not_serve_is_not_advertised(tenant: Tenant, shim: Callable[..., str]) -> None:
    """While another model serves, search is not advertised, and relevance is a 503, never another order."""
    url = shim(FOREWORD_EMBEDDER="hashing")
    assert "search" not in told(url)
    with tenant.door(url=url) as door:
        filed(door, "a", "The deploy window is 14:00 UTC.")
        ranked = door.get("/v1/memory/entries", params=ASKED | {"rank": "relevance"})
        assert_error(ranked, 503, "unavailable")
        found = door.post("/v1/memory/search", json=ASKED | {"mode": "semantic"})
        assert_error(found, 503, "unavailable")
