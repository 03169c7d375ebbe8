"""Whatever a stranger asks, in whatever order, tells nothing of what others have (OpenWOP CTI-1)."""

import json
from collections.abc import Iterator
from typing import Any
from urllib.parse import quote

import httpx
import pytest
from hypothesis import HealthCheck, settings
from hypothesis import given as examples
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule, run_state_machine_as_test

from foreword.budget import FITS
from foreword.counters import COUNTERS
from foreword.draft import KINDS
from tests.acceptance.tenants import Tenant, filed
from tests.services import eventually

QUICK = settings(
    max_examples=120,
    deadline=None,
    database=None,
    derandomize=True,
    suppress_health_check=list(HealthCheck),
)
CANARY = "tanobe rilofu"
THEIRS = ("mem://theirs/one", "theirs:two/…", "Qz")
NOBODYS = ("mem://nobody/one", "nobody:two/…", "Qy")
"""Each as long as its counterpart, and nobody's."""
KNOWN_ID, NO_ID = "theirs-id", "nobody-id"

words = st.sampled_from(["", "a", "fact", CANARY, "\x00", "é", "x" * 300]) | st.text(max_size=20)
numbers = st.sampled_from(["0", "1", "7", "1000", "-1", "1.5", "9" * 20, "NaN"]) | st.integers().map(str)
LIST_OPTIONS = {
    "limit": numbers,
    "tag": words | st.just("tag"),
    "kind": st.sampled_from(KINDS) | words,
    "tokenBudget": numbers,
    "tokenCounter": st.sampled_from(list(COUNTERS)) | words,
    "fit": st.sampled_from(FITS) | words,
    "rank": st.sampled_from(["recency", "relevance"]) | words,
    "query": words,
    "minSimilarity": numbers,
    "fields": st.just("all") | words,
    "cursor": st.just("CURSOR") | words,
    "after": st.just("POSITION") | words,
    "before": st.just("2099-01-01T00:00:00Z") | words,
    "tenantId": numbers,
}
BODY_OPTIONS = {
    "mode": st.sampled_from(["semantic", "lexical", "hybrid", "filter"]) | words,
    "query": words | st.just("when does the crossing open"),
    "topK": st.integers(-1, 2000),
    "minSimilarity": st.floats(-1.5, 1.5),
    "tokenBudget": st.integers(-1, 2**54),
    "fit": st.sampled_from(FITS),
    "filter": st.sampled_from(
        [{}, {"tags": "tag"}, {"kind": "fact"}, {"not": {"kind": "fact"}}, {"tenant": 1}]
    ),
    "session": st.just("SESSION") | words,
    "format": st.sampled_from(["markdown-prompt", "json", "xml"]),
    "exclude": st.just([KNOWN_ID]),
}


def some(options: dict[str, st.SearchStrategy[Any]]) -> st.SearchStrategy[dict[str, Any]]:
    """A few options with values, good and bad."""
    return st.dictionaries(st.sampled_from(sorted(options)), st.none(), max_size=4).flatmap(
        lambda chosen: st.fixed_dictionaries({name: options[name] for name in chosen})
    )


READ_PATHS = (
    *("/v1/memory/entries", "/v1/host/foreword/memory", "/v1/memory/export", "/v1/memory/stats"),
    *("/v1/memory/events", "/v1/memory/entries/ID", "/v1/host/foreword/memory/ID", "/v1/memory/receipts/ID"),
)
requests = st.one_of(
    st.tuples(st.just("GET"), st.sampled_from(READ_PATHS), some(LIST_OPTIONS)),
    st.tuples(
        st.just("POST"), st.sampled_from(["/v1/memory/search", "/v1/memory/recall"]), some(BODY_OPTIONS)
    ),
    st.tuples(
        st.just("DELETE"),
        st.sampled_from(["/v1/memory", "/v1/memory/entries/ID", "/v1/host/foreword/memory/ID"]),
        some({"tag": LIST_OPTIONS["tag"], "before": LIST_OPTIONS["before"], "limit": numbers}),
    ),
)


@pytest.fixture(scope="module")
def tokens(product: dict[str, Any]) -> dict[str, str]:
    """Keys of both sides, and the tokens that only the owner got."""
    owner = Tenant.fresh(product)
    said = f"The crossing opens at noon, said {CANARY}."
    with owner.door() as door:
        for ref in THEIRS:
            filed(door, ref, said, id=KNOWN_ID, tags=["tag"])
            last = filed(door, ref, said, tags=["tag"])
        page = door.get("/v1/memory/entries", params={"memoryRef": THEIRS[0], "limit": 1}).json()
        asked = {"memoryRef": THEIRS[0], "query": "crossing", "minSimilarity": -1, "topK": 1}
        recalled = door.post("/v1/memory/recall", json=asked).json()
    return {
        "url": product["url"],
        "key": owner.neighbour().key(),
        "owner": owner.key(),
        "CURSOR": page["nextCursor"],
        "POSITION": last["position"],
        "SESSION": recalled["session"],
    }


@pytest.fixture(scope="module")
def stranger(tokens: dict[str, str]) -> Iterator[httpx.Client]:
    """A client of a tenant that has nothing, and with every token of the owner's."""
    headers = {"Authorization": f"Bearer {tokens['key']}"}
    with httpx.Client(base_url=tokens["url"], headers=headers, timeout=40) as client:
        yield client


def told(
    stranger: httpx.Client,
    ask: tuple[str, str, dict[str, Any]],
    tokens: dict[str, str],
    ref: str,
    entry_id: str,
) -> tuple[int, dict[str, str], str]:
    """Status, headers and body without the names in them."""
    method, path, options = ask
    options = {n: tokens.get(v, v) if isinstance(v, str) else v for n, v in options.items()}
    path = path.replace("ID", quote(entry_id))
    sent = {"json" if method == "POST" else "params": {"memoryRef": ref, **options}}

    def answered() -> httpx.Response | None:
        found = stranger.request(method, path, **sent)  # type: ignore[arg-type]
        return None if found.status_code == 503 else found

    answer = eventually(answered, "the embedder answers")
    assert answer.status_code < 500, (answer.status_code, answer.text)
    for secret in (CANARY, "crossing opens"):
        assert secret not in answer.text.replace(json.dumps(options.get("query")), "")
    headers = {n: v for n, v in answer.headers.items() if n != "etag"}
    body = answer.text.replace(json.dumps(ref)[1:-1], "REF").replace(ref, "REF")
    return answer.status_code, headers, body.replace(entry_id, "ID")


@QUICK
@examples(ask=requests, which=st.integers(0, len(THEIRS) - 1))
def test_whatever_is_asked_tells_nothing(
    stranger: httpx.Client,
    tokens: dict[str, str],
    foreseen: None,
    ask: tuple[str, str, dict[str, Any]],
    which: int,
) -> None:
    """CTI-1: any call with any options on a foreign ref and id answers as for unknown ones, without a 5xx."""
    foreign = told(stranger, ask, tokens, THEIRS[which], KNOWN_ID)
    unknown = told(stranger, ask, tokens, NOBODYS[which], NO_ID)
    assert foreign == unknown


class TwoTenants(RuleBasedStateMachine):
    """Two tenants write, remove and forget under the same names; each sees its own, in order, always."""

    product: dict[str, Any]
    refs = st.sampled_from(["shared", "mem://shared/2"])
    ids = st.sampled_from(["one", "two", "three"])
    sides = st.integers(0, 1)

    def __init__(self) -> None:
        super().__init__()
        tenant = Tenant.fresh(self.product)
        self.doors = (tenant.door(), tenant.neighbour().door())
        self.live: tuple[dict[str, list[str]], ...] = ({}, {})
        self.taken: tuple[set[tuple[str, str]], ...] = (set(), set())

    @rule(side=sides, ref=refs, id=ids)
    def write(self, side: int, ref: str, id: str) -> None:
        """The same id is one entry a tenant, and taken for good once it has been removed."""
        answer = self.doors[side].post(
            "/v1/memory/entries",
            params={"wait": 30},
            json={"memoryRef": ref, "id": id, "content": f"Side {side} says {id}."},
        )
        assert answer.status_code < 300, answer.text
        if (ref, id) not in self.taken[side]:
            self.taken[side].add((ref, id))
            self.live[side].setdefault(ref, []).append(id)

    @rule(side=sides, ref=refs, id=ids)
    def remove(self, side: int, ref: str, id: str) -> None:
        """A removal is 200 for one's own and 404 for all else."""
        answer = self.doors[side].delete(f"/v1/memory/entries/{id}", params={"memoryRef": ref})
        here = self.live[side].get(ref, [])
        assert answer.status_code == (200 if id in here else 404)
        if id in here:
            here.remove(id)

    @rule(side=sides, ref=refs)
    def forget(self, side: int, ref: str) -> None:
        """Forget counts one's own alone."""
        removed = self.doors[side].delete("/v1/memory", params={"memoryRef": ref}).json()["removed"]
        assert removed == len(self.live[side].pop(ref, []))

    @invariant()
    def each_sees_its_own(self) -> None:
        """A list is what this side wrote and nothing else, newest first."""
        for side, door in enumerate(self.doors):
            for ref in ("shared", "mem://shared/2"):
                listed = door.get("/v1/memory/entries", params={"memoryRef": ref}).json()["entries"]
                wanted = [(id_, f"Side {side} says {id_}.") for id_ in reversed(self.live[side].get(ref, []))]
                assert [(entry["id"], entry["content"]) for entry in listed] == wanted

    def teardown(self) -> None:
        """Closes both connections."""
        for door in self.doors:
            door.close()


def test_two_tenants_never_meet(product: dict[str, Any]) -> None:
    """CTI-1: whatever two tenants do under the same names in whatever order, neither meets the other."""
    TwoTenants.product = product
    run_state_machine_as_test(TwoTenants, settings=settings(QUICK, max_examples=5, stateful_step_count=10))
