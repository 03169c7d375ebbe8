"""The additivity law: a block costs exactly the sum of its rows."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from foreword.counters import counter
from foreword.render import HEADINGS, advisory_row, render_row
from tests.unit.foreword import hostile

EXACT = ["o200k_base", "cl100k_base", "chars"]

blocks = st.lists(
    st.one_of(
        hostile.rows.map(lambda fields: render_row(**fields)),
        st.sampled_from(sorted(HEADINGS.values())),
        st.integers(0, 10**16 - 1).map(advisory_row),
    ),
    max_size=8,
)


@pytest.mark.parametrize("name", EXACT)
@settings(deadline=None)
@given(block=blocks)
def test_a_block_costs_the_sum_of_its_rows(name: str, block: list[str]) -> None:
    """Rows, headings and advisories in any mix and order, of any text: no token more or less when joined."""
    count = counter(name).count
    assert count("".join(block)) == sum(map(count, block))


@given(block=blocks)
def test_the_host_counter_never_undercounts_a_block(block: list[str]) -> None:
    """Rounded up row by row, the host's counter is over by less than one a row, never under."""
    count = counter("host-defined").count
    assert 0 <= sum(map(count, block)) - count("".join(block)) <= len(block)


@pytest.mark.parametrize("name", EXACT[:2])
def test_every_fragment_at_both_edges(name: str) -> None:
    """Each hostile fragment as the whole content, next to every other kind of row, adds up."""
    count = counter(name).count
    plain = render_row(kind="fact", id="1", content="plain")
    for text in hostile.FRAGMENTS:
        row = render_row(kind="fact", id="2", content=text)
        for other in (plain, *HEADINGS.values(), advisory_row(12)):
            assert count(row + other) == count(row) + count(other), text
            assert count(other + row) == count(row) + count(other), text


@pytest.mark.parametrize("name", EXACT[:2])
def test_rows_without_the_marker_would_not_add_up(name: str) -> None:
    """What the marker is for: bare text joined costs another sum."""
    count = counter(name).count
    bare = ["ends in a blank ", " starts with one", "/path", "?!", "\n\n"]
    assert count("".join(bare)) != sum(map(count, bare))
