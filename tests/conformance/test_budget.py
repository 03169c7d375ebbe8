"""The injection budget of a list (OpenWOP RFC 0113): each rule on entries that the test lists and counts."""

from collections.abc import Iterator
from typing import Any

import httpx
import pytest

from foreword.counters import COUNTERS
from tests.acceptance.tenants import Tenant, filed, filed_all
from tests.conformance import checks
from tests.conformance.checks import Entry, cost
from tests.services import eventually

REF = "mem://conformance/budget"
ALONE = "conformance/alone"
SECRET = "zebra quartz meadow lantern"
NEWEST_FIRST = (
    "The newest is long: " + "the harbour cranes were repainted in the week before the regatta, " * 12,
    "Ada prefers mornings.",
    f"The portal opens with {SECRET} since May.",
    "Café Zürich serves 2,400 cups a day 😀.",
    "Invoices go to Ada, with the order number in the subject line and the address of the branch below it.",
    "Ship on Thursday.",
    "No.",
    "A long one again: " + "they counted every crate twice and wrote the number on the wall, " * 9,
)
"""Two are far larger than the rest, one of them the newest; the second smallest is the second oldest."""


@pytest.fixture(scope="module")
def owner(product: dict[str, Any]) -> Iterator[httpx.Client]:
    """A client of a tenant whose memory holds the entries, and one entry alone in another."""
    tenant = Tenant.fresh(product)
    with tenant.door() as door:
        door.put("/v1/secrets/portal", json={"value": SECRET}).raise_for_status()
        filed_all(door, REF, *reversed(NEWEST_FIRST))
        filed(door, ALONE, NEWEST_FIRST[0])
        yield door


def entries(door: httpx.Client, ref: str = REF, **options: Any) -> list[Entry]:
    """The entries of a list."""
    answer = door.get("/v1/memory/entries", params={"memoryRef": ref, **options})
    assert answer.status_code == 200, answer.text
    return list(answer.json()["entries"])


def budgets(listed: list[Entry], counter: str) -> list[int]:
    """Budgets where the answer changes: each sum of a run, one less and one more, and the extremes."""
    costs = [cost(entry["content"], counter) for entry in listed]
    small = [c for c in costs if c < max(costs) // 2]
    edges = {sum(small[:n]) for n in range(1, len(small) + 1)} | {max(costs), sum(costs)}
    return sorted({b for edge in edges for b in (edge - 1, edge, edge + 1) if b >= 1} | {1, 2**53 - 1})


@pytest.fixture(scope="module")
def listed(owner: httpx.Client) -> list[Entry]:
    """The whole memory, as a list without a budget gives it."""
    found = entries(owner)
    assert len(found) == len(NEWEST_FIRST)
    assert [found[n]["content"] for n in (0, 1, 7)] == [NEWEST_FIRST[n] for n in (0, 1, 7)]
    return found


@pytest.mark.parametrize("counter", COUNTERS)
def test_a_budget_gives_a_prefix_of_whole_entries(
    owner: httpx.Client, listed: list[Entry], counter: str
) -> None:
    """RFC 0113: at every edge the answer is whole entries, within the budget, a prefix of what fits alone."""
    for budget in budgets(listed, counter):
        answered = entries(owner, tokenBudget=budget, tokenCounter=counter)
        checks.check_budgeted(answered, listed, budget, counter)


def test_the_first_that_does_not_fit_ends_the_read(owner: httpx.Client, listed: list[Entry]) -> None:
    """RFC 0113 prefix rule: a small entry behind one that does not fit the rest is not let in."""
    small = [entry for entry in listed if cost(entry["content"], "chars") < 200]
    longest = max(range(len(small)), key=lambda n: len(small[n]["content"]))
    last = small[-1]
    budget = checks.total(small[:longest], "chars") + cost(last["content"], "chars")
    assert longest < len(small) - 1
    assert cost(small[longest]["content"], "chars") > cost(last["content"], "chars")
    answered = entries(owner, tokenBudget=budget, tokenCounter="chars")
    assert checks.ids(answered) == checks.ids(small[:longest])
    assert checks.total([*answered, last], "chars") == budget


def test_an_exact_fit_is_kept(owner: httpx.Client, listed: list[Entry]) -> None:
    """RFC 0113: a sum that equals the budget is within it, and one less is not."""
    whole = checks.total(listed, "chars")
    assert entries(owner, tokenBudget=whole, tokenCounter="chars") == listed
    assert checks.ids(entries(owner, tokenBudget=whole - 1, tokenCounter="chars")) == checks.ids(listed[:-1])


def test_the_only_entry_is_left_out_when_it_is_larger(owner: httpx.Client) -> None:
    """RFC 0113: a lone entry over the budget is omitted whole, so that the answer is empty."""
    (alone,) = entries(owner, ALONE)
    size = cost(alone["content"], "o200k_base")
    assert entries(owner, ALONE, tokenBudget=size - 1, tokenCounter="o200k_base") == []
    assert entries(owner, ALONE, tokenBudget=size, tokenCounter="o200k_base") == [alone]


def test_a_huge_newest_entry_starves_nobody(owner: httpx.Client, listed: list[Entry]) -> None:
    """RFC 0113: an entry over the whole budget is omitted, and the read goes on behind it."""
    budget = cost(listed[1]["content"], "chars")
    assert entries(owner, tokenBudget=budget, tokenCounter="chars") == [listed[1]]


@pytest.mark.parametrize("counter", COUNTERS)
def test_the_strict_reading_stops_there(owner: httpx.Client, listed: list[Entry], counter: str) -> None:
    """RFC 0113 read as a pure prefix of the ranked list, for who asks for ``fit=strict``."""
    for budget in budgets(listed, counter):
        answered = entries(owner, tokenBudget=budget, tokenCounter=counter, fit="strict")
        checks.check_within(answered, budget, counter)
        checks.check_strict_prefix(answered, listed, budget, counter)


def test_a_limit_and_a_budget_give_the_fewer(owner: httpx.Client, listed: list[Entry]) -> None:
    """RFC 0113: of limit and budget the one that gives fewer entries wins; neither changes the other."""
    for budget in budgets(listed, "chars")[::3]:
        by_budget = entries(owner, tokenBudget=budget, tokenCounter="chars")
        for limit in range(len(listed) + 1):
            both = entries(owner, tokenBudget=budget, tokenCounter="chars", limit=limit)
            assert both == (by_budget[:limit] if limit else by_budget)


def test_no_budget_is_no_bound(owner: httpx.Client, listed: list[Entry]) -> None:
    """RFC 0113: without a budget a list is not budgeted, whatever its entries cost together."""
    assert checks.total(listed, "o200k_base") > 300
    assert checks.ids(listed) == checks.ids(entries(owner, limit=len(listed)))


@pytest.mark.parametrize("value", ["0", "-1", "1.5", "1e3", "NaN", "x", "", "true", "null", " 1", str(2**53)])
def test_a_budget_that_is_none_is_refused(owner: httpx.Client, value: str) -> None:
    """RFC 0113 ``tokenBudget``, an integer of 1 or more: anything else is a 400 that names the field."""
    answer = owner.get("/v1/memory/entries", params={"memoryRef": REF, "tokenBudget": value})
    assert answer.status_code == 400
    checks.check_refused(answer.json(), "tokenBudget")


def test_the_advertised_counter_counts(owner: httpx.Client, listed: list[Entry]) -> None:
    """RFC 0113: a budget that names no counter is counted in the ``tokenCounter`` that discovery tells."""
    memory = owner.get("/.well-known/openwop").json()["memory"]
    assert memory["injectionBudget"]["supported"] is True
    counter = memory["injectionBudget"]["tokenCounter"]
    assert counter in COUNTERS
    for budget in budgets(listed, counter):
        checks.check_budgeted(entries(owner, tokenBudget=budget), listed, budget, counter)


def test_the_budget_is_over_redacted_text(owner: httpx.Client, listed: list[Entry]) -> None:
    """RFC 0113 with SR-1: what is ranked, counted and answered is the stored text, marker and all."""
    (redacted,) = (entry for entry in listed if "portal opens" in entry["content"])
    checks.check_redacted(redacted["content"], SECRET)
    assert "[REDACTED:portal]" in redacted["content"]
    fitting = [entry for entry in listed[: listed.index(redacted) + 1] if len(entry["content"]) < 200]
    budget = checks.total(fitting, "chars")
    answered = entries(owner, tokenBudget=budget, tokenCounter="chars")
    assert answered[-1] == redacted
    plain = redacted["content"].replace("[REDACTED:portal]", SECRET)
    assert len(plain) > len(redacted["content"])


def test_a_budget_is_spent_on_one_tenant(product: dict[str, Any], owner: httpx.Client) -> None:
    """RFC 0113 with CTI-1: nobody else's entries are in the set that a budget is spent on."""
    other = Tenant.fresh(product)
    with other.door() as door:
        assert entries(door, tokenBudget=10_000) == []
        filed(door, REF, "Ours.")
        assert [entry["content"] for entry in entries(door, tokenBudget=10_000)] == ["Ours."]


def test_relevance_spends_the_budget_on_its_own_order(owner: httpx.Client, listed: list[Entry]) -> None:
    """RFC 0113 ``rank``: relevance is the prefix rule on semantic search's order, not that of recency."""
    asked = {"rank": "relevance", "query": "Where are bills sent?"}
    ranked = eventually(
        lambda: len(found := _if_served(owner, asked)) == len(listed) and found, "every entry has a vector"
    )
    assert checks.ids(ranked) != checks.ids(listed)
    assert sorted(checks.ids(ranked)) == sorted(checks.ids(listed))
    searched = owner.post(
        "/v1/memory/search",
        json={"memoryRef": REF, "query": asked["query"], "mode": "semantic", "topK": len(listed)},
    ).json()["entries"]
    assert checks.ids(searched) == checks.ids(ranked)
    for budget in budgets(ranked, "chars")[::2]:
        answered = entries(owner, tokenBudget=budget, tokenCounter="chars", **asked)
        checks.check_budgeted(answered, ranked, budget, "chars")


def _if_served(door: httpx.Client, asked: dict[str, str]) -> list[Entry]:
    answer = door.get("/v1/memory/entries", params={"memoryRef": REF, **asked})
    return list(answer.json()["entries"]) if answer.status_code == 200 else []


def test_a_fresh_budget_continues_where_one_ended(owner: httpx.Client, listed: list[Entry]) -> None:
    """A cursor spends the budget anew behind the last page; together they are every entry that fits alone."""
    budget, got, cursor = 120, [], None
    while True:
        options = {"memoryRef": REF, "tokenBudget": budget, "tokenCounter": "chars"}
        answer = owner.get(
            "/v1/memory/entries", params=options | ({"cursor": cursor} if cursor else {})
        ).json()
        checks.check_within(answer["entries"], budget, "chars")
        got += answer["entries"]
        cursor = answer.get("nextCursor")
        if cursor is None:
            break
    assert got == [entry for entry in listed if cost(entry["content"], "chars") <= budget]
