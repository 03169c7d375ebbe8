"""RFC 0113, restated: what a budgeted read injects is a prefix that fits, counted by a tokenizer of our own.

OpenWOP's scenario believes what a run tells of itself; these tests list the memory and count it anew.
"""

import gzip
import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx
import pytest

from api_shim.runs.programs.injection import QUESTION
from tests.acceptance.tenants import Tenant
from tests.conformance import tokens
from tests.conformance.conftest import DOORS
from tests.conformance.host import PREFIX, Host, written
from tests.services import eventually

TRUTH = Path(__file__).parents[1] / "data/tokens/truth.jsonl.gz"
WORKFLOW = f"{PREFIX}injection-budget"
BUDGET = 400


@dataclass(frozen=True, kw_only=True)
class Seen:
    """A run's variables, and its memory as HTTP lists it; ``counts`` are the test's own."""

    host: Host
    told: dict[str, Any]
    entries: list[dict[str, Any]]
    counts: dict[str, int]

    @property
    def kept(self) -> list[str]:
        """Ids of the injected slice."""
        return [entry["id"] for entry in self.told["budgetedEntries"]]


def embedded(host: Host, budget: int) -> dict[str, Any] | None:
    """A run's variables; None where it failed since vectors were late, which is how it must fail then."""
    found = host.run(WORKFLOW, inputs={"tokenBudget": budget})
    if found["status"] == "failed":
        assert found["error"]["code"] in ("embedding_timeout", "run_timeout"), found
        return None
    return dict(found["variables"])


def seen(product: dict[str, Any], url: str, count: Callable[[str], int], budget: int) -> Iterator[Seen]:
    """A run within a budget, on a tenant that has nothing else."""
    tenant = Tenant.fresh(product)
    with tenant.door(url=url) as door:
        host = Host(tenant=tenant, door=door)
        told = eventually(lambda: embedded(host, budget), "the embedder is quick enough for a run")
        entries = host.listed(told["memoryRef"])
        counts = {entry["id"]: count(entry["content"]) for entry in entries}
        yield Seen(host=host, told=told, entries=entries, counts=counts)


@pytest.fixture(scope="module")
def run(product: dict[str, Any], host_url: str) -> Iterator[Seen]:
    """A run in the default counter, on a host whose model serves."""
    discovery = f"{host_url}/.well-known/openwop"
    eventually(lambda: "search" in httpx.get(discovery).json()["memory"], "the model serves")
    yield from seen(product, host_url, tokens.count, BUDGET)


@pytest.fixture(scope="module")
def plain(product: dict[str, Any], shim: Callable[..., str]) -> Iterator[Seen]:
    """A run on a host that counts characters and finds nothing by meaning."""
    url = shim(FOREWORD_TOKEN_COUNTER="chars", FOREWORD_EMBEDDER="none", **DOORS)
    yield from seen(product, url, len, 900)


def prefix(ranking: list[str], counts: dict[str, int], budget: int) -> list[str]:
    """What may be injected of a ranking: what alone exceeds the budget aside, as long as it fits."""
    kept: list[str] = []
    for id_ in ranking:
        if counts[id_] > budget:
            continue
        if sum(counts[other] for other in kept) + counts[id_] > budget:
            break
        kept.append(id_)
    return kept


def skipping(ranking: list[str], counts: dict[str, int], budget: int) -> list[str]:
    """What a host would inject that goes on after the first that does not fit."""
    kept: list[str] = []
    for id_ in ranking:
        if sum(counts[other] for other in kept) + counts[id_] <= budget:
            kept.append(id_)
    return kept


def test_our_tokenizer_is_one() -> None:
    """The tests' own tokenizer counts every ASCII text of the table as the table says."""
    rows = [json.loads(line) for line in gzip.decompress(TRUTH.read_bytes()).splitlines()]
    plain = [row for row in rows if row["text"].isascii() and len(row["text"]) < 2_000]
    assert len(plain) > 100
    assert [row["id"] for row in plain if tokens.count(row["text"]) != row["o200k_base"]] == []


@pytest.mark.parametrize("which", ["run", "plain"])
def test_the_slice_fits(which: str, request: pytest.FixtureRequest) -> None:
    """The entries told are whole and cost, by our own count, what is told and no more than the budget."""
    it: Seen = request.getfixturevalue(which)
    by_id = {entry["id"]: entry for entry in it.entries}
    assert it.told["budgetedEntries"] == [by_id[id_] for id_ in it.kept]
    assert it.told["budgetedTokenTotal"] == sum(it.counts[id_] for id_ in it.kept)
    assert 0 < it.told["budgetedTokenTotal"] <= it.told["tokenBudget"]


@pytest.mark.parametrize("which", ["run", "plain"])
def test_the_slice_is_a_prefix(which: str, request: pytest.FixtureRequest) -> None:
    """The slice is the prefix of the newest first, where skipping and going on would give another one."""
    it: Seen = request.getfixturevalue(which)
    newest, budget = [entry["id"] for entry in it.entries], it.told["tokenBudget"]
    assert it.kept == prefix(newest, it.counts, budget)
    assert skipping(newest, it.counts, budget) != it.kept
    assert it.kept != newest


@pytest.mark.parametrize("which", ["run", "plain"])
def test_the_oversize_entry_is_left_out(which: str, request: pytest.FixtureRequest) -> None:
    """The one entry that alone exceeds the budget is the one told, is the oldest, and is not in the slice."""
    it: Seen = request.getfixturevalue(which)
    oversize = [id_ for id_, cost in it.counts.items() if cost > it.told["tokenBudget"]]
    assert oversize == [it.told["overBudgetEntryId"]] == [it.entries[-1]["id"]]
    assert it.told["overBudgetEntryOmitted"] is True
    assert oversize[0] not in it.kept


def test_the_list_agrees(run: Seen) -> None:
    """A budgeted list over HTTP gives the slice that the run tells, and the same total."""
    params = {"memoryRef": run.told["memoryRef"], "tokenBudget": BUDGET}
    body = run.host.door.get("/v1/memory/entries", params=params).json()
    assert body["entries"] == run.told["budgetedEntries"]
    assert body["budget"]["used"] == run.told["budgetedTokenTotal"]
    assert body["budget"]["counter"] == run.told["tokenCounter"] == "o200k_base"


def test_a_lone_oversize_entry_gives_nothing(run: Seen) -> None:
    """A memory whose only entry exceeds the budget is empty within it: nothing is kept for its own sake."""
    ref = f"{run.told['memoryRef']}/lone"
    (lone,) = run.host.listed(ref)
    assert tokens.count(lone["content"]) > BUDGET
    assert run.host.listed(ref, tokenBudget=BUDGET) == []


def test_what_is_injected_is_redacted(run: Seen) -> None:
    """The sample is the newest entry and has the marker of what the run resolved, and so has the ledger."""
    newest = run.entries[0]
    assert run.told["redactedContentSample"] == newest["content"]
    assert "[REDACTED:openwop-conformance-canary-secret]" in newest["content"]
    assert newest["id"] in run.kept
    assert run.host.kept(run.told["memoryRef"])[0]["content"] == newest["content"]


def test_a_foreign_memory_injects_nothing(run: Seen) -> None:
    """The probed ref holds another tenant's entry in the ledger, and nothing of it is told or listed."""
    ref = f"{run.told['memoryRef']}/foreign"
    rows = run.host.ledger(
        "SELECT e.tenant_id, e.content FROM entries e JOIN scopes s USING (tenant_id, scope_id) "
        "WHERE s.memory_ref = %s",
        ref,
    )
    assert [row["tenant_id"] == run.host.tenant.number for row in rows] == [False]
    assert run.told["crossTenantBudgetedProbe"] == []
    assert run.host.listed(ref, tokenBudget=BUDGET) == run.host.listed(ref) == []
    assert rows[0]["content"] not in json.dumps(run.told)


def test_relevance_is_another_order(run: Seen) -> None:
    """The order by relevance is the list's own, within the same budget, and not the order by recency."""
    orders = run.told["recencyOrder"], run.told["relevanceOrder"]
    assert orders[0] == run.kept != orders[1]
    ranked = {"rank": "relevance", "query": QUESTION}
    assert orders[1] == [
        entry["id"] for entry in run.host.listed(run.told["memoryRef"], tokenBudget=BUDGET, **ranked)
    ]
    whole = [entry["id"] for entry in run.host.listed(run.told["memoryRef"], **ranked)]
    assert orders[1] == prefix(whole, run.counts, BUDGET)


def test_without_meaning_there_is_one_order(plain: Seen) -> None:
    """A host that finds nothing by meaning completes the run and tells no order by relevance."""
    assert not {"recencyOrder", "relevanceOrder"} & plain.told.keys()
    assert plain.told["tokenCounter"] == "chars"


def test_another_budget_gives_another_slice(plain: Seen) -> None:
    """What is told follows the budget and the memory: no two runs tell the same entries."""
    budget = 2 * plain.told["tokenBudget"]
    other = plain.host.completed(WORKFLOW, inputs={"tokenBudget": budget})
    assert other["tokenBudget"] == budget
    assert other["budgetedTokenTotal"] > plain.told["budgetedTokenTotal"]
    assert not {entry["id"] for entry in other["budgetedEntries"]} & set(plain.kept)


@pytest.mark.parametrize("which", ["run", "plain"])
def test_every_seed_is_attributed(which: str, request: pytest.FixtureRequest) -> None:
    """The stream tells of each entry in both memories of the run, and of none of the other tenant's."""
    it: Seen = request.getfixturevalue(which)
    ref = it.told["memoryRef"]
    payloads = written(it.host.events(ref.rpartition("/")[2]))
    entries = [(at, row["id"]) for at in (ref, f"{ref}/lone") for row in it.host.kept(at)]
    assert sorted((told["memoryRef"], told["memoryId"]) for told in payloads) == sorted(entries)
    assert len(entries) == len(it.entries) + 1
