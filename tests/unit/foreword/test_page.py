"""A page: what is left, and where the next one starts, told alike whatever a source knew of the end."""

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from foreword.budget import FITS, Fit, Selection, walk
from foreword.page import Ask, empty, page

ASK = Ask(counter="chars", ordinal=2, budget=10, limit=3, fit="prefix")
DONE = Selection(kept=(0, 1, 2), used=6, visited=3, oversize=0, ended="end", smallest_omitted=None)


@pytest.mark.parametrize("remaining", [2, 3, 4, 9])
def test_the_limit_on_the_last_row_reads_alike(remaining: int) -> None:
    """Whether a source saw that nothing follows, or only that its limit was met, the page is the same."""
    ask = replace(ASK, before=50, remaining=remaining)
    pages = [
        page(ask, fragments=b"", selection=replace(DONE, ended=ended), total=0, last_visited=7)
        for ended in ("end", "limit")
    ]
    assert pages[0] == pages[1]
    assert pages[0].resume == (7 if remaining > 3 else None)


@given(st.lists(st.integers(0, 15), max_size=20), st.sampled_from(FITS), st.integers(0, 25))
def test_a_row_that_was_met_is_never_lost(costs: list[int], fit: Fit, remaining: int) -> None:
    """With a count that is too low the page still continues at the row that ended it for want of budget."""
    ask = replace(ASK, fit=fit, limit=100, before=99, remaining=remaining)
    seen = walk(costs, budget=10, limit=100, fit=fit)
    found = page(ask, fragments=b"", selection=seen, total=0, last_visited=seen.visited)
    if seen.ended == "budget" and not (fit == "strict" and seen.oversize):
        assert found.resume == seen.visited
        assert found.report.next_remaining >= 1
        assert found.report.omitted.budget >= 1
    if seen.ended == "end":
        assert found.resume is None


def test_an_empty_memory_is_an_end() -> None:
    """Nothing is returned, omitted or left."""
    found = empty(ASK)
    assert (found.entries, found.resume) == (b"", None)
    assert (found.report.returned, found.report.omitted.total, found.report.next_remaining) == (0, 0, 0)
