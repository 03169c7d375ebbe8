"""The budget law, its report and its cursor."""

import gzip
import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from foreword import select as public_select
from foreword.budget import (
    DEFAULT_LIMIT,
    FITS,
    HOST_CAP,
    MAX_BUDGET,
    WALK_LIMIT,
    Fit,
    Selection,
    Walk,
    page_limit,
    report,
    select,
    walk,
)
from foreword.errors import ValidationError

VECTORS = Path(__file__).parents[2] / "data/openwop/budget_cases.jsonl.gz"

costs_lists = st.lists(st.integers(0, 60), max_size=40)
budgets = st.integers(1, 120)
limits = st.one_of(st.none(), st.integers(0, 12))
fits = st.sampled_from(FITS)


def by_the_book(costs: list[int], budget: int, limit: int | None, fit: Fit) -> list[int]:
    """The law written as its words: filter or not, then the longest run whose sum fits."""
    ranked = list(enumerate(costs))
    if fit == "prefix":
        ranked = [(i, cost) for i, cost in ranked if cost <= budget]
    kept: list[int] = []
    for i, cost in ranked:
        if limit and len(kept) == limit:
            break
        if sum(costs[k] for k in kept) + cost <= budget:
            kept.append(i)
        elif fit != "pack":
            break
    return kept


@given(costs_lists, budgets, limits, fits)
def test_the_law_is_what_its_words_say(costs: list[int], budget: int, limit: int | None, fit: Fit) -> None:
    """The walk keeps what a word-for-word reading of the law keeps."""
    assert select(costs, budget, limit, fit) == by_the_book(costs, budget, limit, fit)


@given(costs_lists, budgets, limits, fits)
def test_never_over_budget_never_reordered(
    costs: list[int], budget: int, limit: int | None, fit: Fit
) -> None:
    """What is kept costs at most the budget, in ranked order, each entry once, and at most the limit."""
    kept = select(costs, budget, limit, fit)
    assert sum(costs[i] for i in kept) <= budget
    assert kept == sorted(set(kept))
    assert len(kept) <= (limit or len(costs))


@given(costs_lists, budgets, st.integers(0, 60))
def test_strict_grows_with_the_budget(costs: list[int], budget: int, more: int) -> None:
    """Under strict a larger budget keeps everything a smaller one kept, and more behind it."""
    small, large = select(costs, budget, fit="strict"), select(costs, budget + more, fit="strict")
    assert large[: len(small)] == small


@given(costs_lists, budgets, st.integers(1, 12), fits)
def test_limit_and_budget_commute(costs: list[int], budget: int, limit: int, fit: Fit) -> None:
    """Limit and budget together give the first entries of the budget alone, whichever binds."""
    assert select(costs, budget, limit, fit) == select(costs, budget, None, fit)[:limit]


@given(costs_lists, budgets, fits)
def test_no_limit_and_limit_zero_are_one(costs: list[int], budget: int, fit: Fit) -> None:
    """A limit of 0 means no limit."""
    assert select(costs, budget, 0, fit) == select(costs, budget, None, fit)


@given(st.lists(st.integers(1, 60), min_size=1, max_size=40), fits)
def test_exact_fit_is_kept(costs: list[int], fit: Fit) -> None:
    """A budget of exactly everything keeps everything; one token less loses the last entry."""
    everything = list(range(len(costs)))
    assert select(costs, sum(costs), fit=fit) == everything
    assert select(costs, max(sum(costs) - 1, 1), fit=fit) != everything or sum(costs) == 1
    assert select(costs, MAX_BUDGET, fit=fit) == everything


@given(costs_lists, budgets)
def test_pack_keeps_all_that_prefix_and_strict_keep(costs: list[int], budget: int) -> None:
    """Strict is a prefix of prefix, and pack holds all of prefix."""
    strict, prefix, pack = (select(costs, budget, fit=fit) for fit in ("strict", "prefix", "pack"))
    assert prefix[: len(strict)] == strict
    assert pack[: len(prefix)] == prefix


def test_nothing_fits_is_an_answer() -> None:
    """No entry is kept for the sake of keeping one."""
    assert select([101, 500], 100) == []
    assert select([], 1) == []
    assert select([0, 0, 1], 1) == [0, 1, 2]


def test_one_misfit_does_not_end_the_read() -> None:
    """An entry too large for the budget alone is passed over, and only strict ends there."""
    assert select([30, 200, 20, 20], 100) == [0, 2, 3]
    assert select([30, 200, 20, 20], 100, fit="strict") == [0]
    assert select([40, 30, 15], 60) == [0]
    assert select([40, 30, 15], 60, fit="pack") == [0, 2]


def test_select_is_public_and_knows_no_page() -> None:
    """The law itself has neither the host's cap nor the walk's: those belong to pages."""
    assert public_select is select
    assert len(select([1] * 3000, 5000, fit="pack")) == 3000
    assert select([9] * 3000 + [1], 5, fit="pack") == [3000]


@pytest.mark.parametrize("budget", [0, -1, 1.0, 1.5, True, False, "100", None, 2**53, 2**63, float("nan")])
def test_a_bad_budget_is_refused(budget: Any) -> None:
    """A budget is an integer from 1 to 2^53 - 1, and nothing else passes for one."""
    with pytest.raises(ValidationError) as refused:
        select([1], budget)
    assert [f.field for f in refused.value.fields] == ["budget"]


def test_every_bad_argument_is_named_at_once() -> None:
    """A refusal names each bad argument, costs by their place."""
    with pytest.raises(ValidationError) as refused:
        select([1, -1, True, 2.0, 3], 0, limit=True, fit="best")  # type: ignore[list-item, arg-type]
    assert [f.field for f in refused.value.fields] == [
        "budget",
        "limit",
        "fit",
        "costs[1]",
        "costs[2]",
        "costs[3]",
    ]


def test_openwop_vectors() -> None:
    """Every vector gives the expected ids and total, also under the two other readings of the rule."""
    readings = {
        "prefix": "expected",
        "strict": "expected_if_strict_prefix",
        "pack": "expected_if_later_smaller_entries_may_fill",
    }
    cases = [json.loads(line) for line in gzip.decompress(VECTORS.read_bytes()).splitlines()]
    assert len(cases) == 90
    for case in cases:
        newest_first = case["entries"][::-1]
        for fit, name in readings.items():
            expected = case[name] or case["expected"]
            chosen = walk(
                [e["cost"] for e in newest_first], budget=case["tokenBudget"], limit=case["limit"], fit=fit
            )
            assert [newest_first[i]["id"] for i in chosen.kept] == expected["ids"], (case["id"], fit)
            assert chosen.used == expected["total"]


@pytest.mark.parametrize(
    ("costs", "budget", "limit", "fit", "expected"),
    [
        ([10, 500, 10, 90], 100, None, "prefix", ((0, 2), 20, 3, 1, "budget", 90)),
        ([10, 500, 10, 80], 100, None, "prefix", ((0, 2, 3), 100, 4, 1, "end", 500)),
        ([10, 500, 10], 100, None, "strict", ((0,), 10, 2, 1, "budget", 500)),
        ([10, 95, 10], 100, None, "strict", ((0,), 10, 1, 0, "budget", 95)),
        ([10, 95, 10, 500], 100, None, "pack", ((0, 2), 20, 4, 1, "end", 95)),
        ([10, 10, 10], 100, 2, "prefix", ((0, 1), 20, 2, 0, "limit", None)),
        ([10, 10], 100, 2, "prefix", ((0, 1), 20, 2, 0, "end", None)),
        ([10, 10], None, None, "prefix", ((0, 1), 20, 2, 0, "end", None)),
        ([10, 10], None, 1, "prefix", ((0,), 10, 1, 0, "limit", None)),
        ([], 100, None, "prefix", ((), 0, 0, 0, "end", None)),
    ],
)
def test_what_a_walk_saw(
    costs: list[int], budget: int | None, limit: int | None, fit: Fit, expected: tuple[Any, ...]
) -> None:
    """A selection says what was kept, used, visited and oversize, why it ended, and what was smallest."""
    chosen = walk(costs, budget=budget, limit=limit, fit=fit)
    assert (
        chosen.kept,
        chosen.used,
        chosen.visited,
        chosen.oversize,
        chosen.ended,
        chosen.smallest_omitted,
    ) == expected


def test_only_pack_bounds_its_walk() -> None:
    """Pack visits at most a page's worth of rows; prefix walks past any number of oversize ones."""
    oversize = [9] * (WALK_LIMIT + 500) + [1]
    packed, prefixed = walk(oversize, budget=5, fit="pack"), walk(oversize, budget=5)
    assert (packed.visited, packed.ended, packed.kept) == (WALK_LIMIT, "walk", ())
    assert (prefixed.ended, prefixed.kept) == ("end", (WALK_LIMIT + 500,))


def test_a_walk_reads_one_row_past_its_end_and_no_more() -> None:
    """An iterator is consumed one row past the last one visited."""
    rows = iter([5, 5, 5, 5, 5])
    walk(rows, budget=100, limit=2)
    assert len(list(rows)) == 2


@given(costs_lists, budgets, limits, fits, st.integers(1, 7))
def test_a_walk_fed_in_pieces_is_the_same_walk(
    costs: list[int], budget: int, limit: int | None, fit: Fit, size: int
) -> None:
    """Costs that arrive piece by piece give the selection of the whole, and feeding stops once it is done."""
    moving, fed = Walk(budget=budget, limit=limit, fit=fit, walk_limit=9), 0
    while fed < len(costs) and not moving.done:
        moving.feed(costs[fed : fed + size])
        fed += size
    whole = walk(costs, budget=budget, limit=limit, fit=fit, walk_limit=9)
    assert moving.finish(more=fed < len(costs)) == whole


@given(costs_lists, budgets, limits, fits)
def test_pages_visit_every_row_once_and_end(
    costs: list[int], budget: int, limit: int | None, fit: Fit
) -> None:
    """Following the cursor visits each row exactly once, loses none that fits, and comes to an end."""
    at, remaining, seen, kept = 0, len(costs), 0, []
    for _ in range(len(costs) + 1):
        page = walk(costs[at:], budget=budget, limit=limit, fit=fit, walk_limit=5)
        told = report(page, counter="chars", budget=budget, remaining=remaining)
        assert told.next_remaining == len(costs) - at - page.visited
        kept += [at + i for i in page.kept]
        seen += len(page.kept) + page.oversize
        at += page.visited
        remaining = told.next_remaining
        if page.ended == "end":
            break
        assert page.visited > 0
    assert at == len(costs)
    assert remaining == 0
    if fit != "pack":
        assert kept == [i for i, cost in enumerate(costs) if cost <= budget]
        assert seen == len(costs)


@given(costs_lists, budgets, limits, fits, st.integers(0, 5))
def test_reports_add_up(
    costs: list[int], budget: int, limit: int | None, fit: Fit, below_the_floor: int
) -> None:
    """Returned and omitted by every reason are all the rows there were."""
    chosen = walk(costs, budget=budget, limit=limit, fit=fit, walk_limit=5)
    remaining = len(costs) + below_the_floor
    told = report(chosen, counter="chars", budget=budget, remaining=remaining, similarity=below_the_floor)
    assert told.returned + told.omitted.total == remaining
    assert min(told.omitted.oversize, told.omitted.budget, told.omitted.limit, told.next_remaining) >= 0
    assert told.used == sum(costs[i] for i in chosen.kept)


def test_a_report_names_the_reason() -> None:
    """What the limit left is not blamed on the budget, nor the other way round."""
    by_limit = report(walk([5, 5, 5, 5], budget=100, limit=1), counter="chars", budget=100, remaining=4)
    by_budget = report(walk([5, 500, 5, 5], budget=9), counter="chars", budget=9, remaining=4)
    assert json.loads(by_limit.to_json())["omitted"] == {
        "oversize": 0,
        "budget": 0,
        "limit": 3,
        "similarity": 0,
    }
    assert json.loads(by_budget.to_json()) == {
        "counter": "chars",
        "tokenBudget": 9,
        "used": 5,
        "returned": 1,
        "omitted": {"oversize": 1, "budget": 2, "limit": 0, "similarity": 0},
        "smallestOmitted": 5,
    }


def test_an_unbudgeted_report_has_no_budget() -> None:
    """A plain list reports its use but no budget and no smallest row."""
    told = report(walk([5, 5], budget=None, limit=2), counter="chars", budget=None, remaining=2)
    assert told.to_json() == (
        b'{"counter":"chars","used":10,"returned":2,"omitted":{"oversize":0,"budget":0,"limit":0,"similarity":0}}'
    )


def test_rows_gone_since_the_count_are_not_owed() -> None:
    """A count carried by a cursor may be too high or too low; the walk that saw the end decides."""
    ended = Selection(kept=(0,), used=5, visited=1, oversize=0, ended="end", smallest_omitted=None)
    cut = Selection(kept=(0, 1), used=9, visited=2, oversize=0, ended="budget", smallest_omitted=7)
    assert report(ended, counter="chars", budget=9, remaining=4).omitted.total == 0
    assert report(ended, counter="chars", budget=9, remaining=4).next_remaining == 0
    assert report(cut, counter="chars", budget=9, remaining=1).next_remaining == 0


def test_page_limits() -> None:
    """A page holds the limit, else 100 entries without a budget, and never more than the cap."""
    assert page_limit(7, budgeted=True) == 7
    assert page_limit(None, budgeted=False) == DEFAULT_LIMIT == 100
    assert page_limit(None, budgeted=True) == page_limit(0, budgeted=True) == HOST_CAP == 1000
    assert page_limit(5000, budgeted=False) == HOST_CAP
