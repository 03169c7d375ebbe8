"""The packed head: it answers as the law does or hands on, and holds for one server run and for its time."""

from itertools import groupby
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from foreword.budget import FITS, MAX_BUDGET, walk
from foreword.head import FOREVER, MAX_BYTES, MAX_ENTRIES, MAX_UPCOMING, Head, Row, Run, Summary, encode
from foreword.page import Ask, Page, join, page

RUN = "a" * 40
NOW = 1_000

costs = st.one_of(st.integers(0, 30), st.sampled_from((0, 31, 5_000, 9_999_999)))
rows_of = st.lists(
    st.builds(
        lambda expires_at, cost, size: (expires_at, cost, b'{"x":"' + b"y" * size + b'"}'),
        expires_at=st.sampled_from((0, 0, 0, NOW + 1, NOW + 50, NOW + 90)),
        cost=st.tuples(costs, costs),
        size=st.integers(0, 40),
    ),
    max_size=20,
)
asks = st.builds(
    Ask,
    counter=st.just("o200k_base"),
    ordinal=st.integers(0, 1),
    budget=st.one_of(st.none(), st.integers(1, 200), st.just(MAX_BUDGET)),
    limit=st.integers(1, 25),
    fit=st.sampled_from(FITS),
    before=st.one_of(st.none(), st.none(), st.integers(0, 220)),
    remaining=st.none(),
)


def rows_from(drawn: list[tuple[int, tuple[int, int], bytes]]) -> list[Row]:
    """Rows newest first, ten positions apart."""
    top = 10 * len(drawn)
    return [
        Row(seq=top - 10 * i, expires_at=expires_at, costs=cost, fragment=fragment)
        for i, (expires_at, cost, fragment) in enumerate(drawn)
    ]


def summary_of(rows: list[Row], more: int = 0) -> Summary:
    """The summary of a scope of these rows and so many older ones."""
    return Summary.of(7, len(rows) + more, sorted(row.expires_at for row in rows if row.expires_at), made=NOW)


def by_the_law(rows: list[Row], ask: Ask, now: int, more: int = 0) -> Page:
    """The page over the plain list of all rows; older ones cost nothing and have no position."""
    live = [row for row in rows if row.expires_at == 0 or row.expires_at > now]
    behind = [row for row in live if ask.before is None or row.seq < ask.before]
    seen = walk([row.costs[ask.ordinal] for row in behind], budget=ask.budget, limit=ask.limit, fit=ask.fit)
    return page(
        ask,
        fragments=join([behind[i].fragment for i in seen.kept]),
        selection=seen,
        total=len(live) + more,
        last_visited=behind[seen.visited - 1].seq if seen.visited else None,
    )


@given(rows_of, asks, st.sampled_from((NOW, NOW + 1, NOW + 60)))
def test_a_whole_head_answers_as_the_law(drawn: Any, ask: Ask, now: int) -> None:
    """A head that holds its whole scope answers every read, page by page what the plain list gives."""
    rows = rows_from(drawn)
    head = Head.decode(encode(RUN, summary_of(rows), rows), run_id=RUN, now=now)
    assert head is not None
    assert head.complete
    assert head.read(ask, now) == by_the_law(rows, ask, now)


@given(rows_of, asks, st.integers(0, 20), st.sampled_from((NOW, NOW + 60)))
def test_a_part_answers_alike_or_hands_on(drawn: Any, ask: Ask, held: int, now: int) -> None:
    """A head of the newest few gives the page of the whole list, or none at all."""
    rows = rows_from(drawn)
    head = Head.decode(encode(RUN, summary_of(rows), rows, max_entries=held), run_id=RUN, now=now)
    assert head is not None
    found = head.read(ask, now)
    assert found is None or found == by_the_law(rows, ask, now)
    if held >= len(rows):
        assert found is not None


def sifted(rows: list[Row], large: int) -> tuple[list[Row], list[Run]]:
    """The rows that are not large, and the runs of large ones between them."""
    held: list[Row] = []
    runs: list[Run] = []
    for is_large, group in groupby(rows, lambda row: row.costs[0] > large):
        taken = list(group)
        if is_large:
            least = tuple(min(costs) for costs in zip(*(row.costs for row in taken), strict=True))
            runs.append(Run(len(held), len(taken), taken[-1].seq, least))
        else:
            held += taken
    return held, runs


@given(rows_of, asks, st.integers(0, 20), st.integers(0, 20), st.sampled_from((NOW, NOW + 60)))
def test_a_sifted_head_answers_alike_or_hands_on(
    drawn: Any, ask: Ask, large: int, held: int, now: int
) -> None:
    """Where large rows are only counted the page is that of the whole list, or there is none."""
    rows = rows_from(drawn)
    head = Head.decode(
        encode(RUN, summary_of(rows), *sifted(rows, large), max_entries=held), run_id=RUN, now=now
    )
    assert head is not None
    found = head.read(ask, now)
    assert found is None or found == by_the_law(rows, ask, now)


@given(rows_of, st.integers(1, 60), st.integers(1, 25), st.integers(0, 30))
def test_a_sifted_head_answers_what_passes_over_the_large(
    drawn: Any, budget: int, limit: int, large: int
) -> None:
    """A first page whose budget all large rows exceed, and no other row, is answered without any of them."""
    rows = rows_from(drawn)
    held, runs = sifted(rows, large)
    ask = Ask(counter="o200k_base", ordinal=0, budget=max(budget, large), limit=limit, fit="prefix")
    head = Head.decode(encode(RUN, summary_of(rows), held, runs), run_id=RUN, now=NOW)
    assert head is not None
    assert head.sifted == bool(runs)
    if all(row.costs[0] > max(budget, large) for row in rows if row.costs[0] > large):
        assert head.read(ask, NOW) == by_the_law(rows, ask, NOW)


def test_a_page_ends_behind_the_large_rows_it_passed_over() -> None:
    """The cursor stands behind a run that the read passed, and before one that its limit kept it from."""
    costs = (5, 90, 80, 5, 70, 5, 5)
    rows = [Row(seq=70 - 10 * i, expires_at=0, costs=(c,), fragment=b"%d" % i) for i, c in enumerate(costs)]
    head = Head.decode(encode(RUN, summary_of(rows), *sifted(rows, 9)), run_id=RUN, now=NOW)
    assert head is not None
    told = []
    for budget, limit in ((9, 9), (14, 9), (14, 2), (14, 1), (20, 9)):
        ask = Ask(counter="o200k_base", ordinal=0, budget=budget, limit=limit, fit="prefix")
        found = head.read(ask, NOW)
        assert found == by_the_law(rows, ask, NOW)
        told.append((found.entries, found.resume, found.report.omitted.oversize))
    assert told == [(b"0", 50, 2), (b"0,3", 30, 3), (b"0,3", 40, 2), (b"0", 70, 0), (b"0,3,5,6", None, 3)]


@given(rows_of, st.integers(0, 2_000))
def test_a_head_fits_its_room(drawn: Any, room: int) -> None:
    """No head is larger than it may be, and none is empty where a row would fit."""
    rows = rows_from(drawn)
    raw = encode(RUN, summary_of(rows), rows, max_bytes=room)
    least = encode(RUN, summary_of(rows), [])
    assert len(raw) <= max(room, len(least) + 12)


def test_a_head_holds_no_more_than_its_entries() -> None:
    """However small they are, only so many entries are in a head."""
    rows = [Row(seq=9_999 - i, expires_at=0, costs=(1,), fragment=b"{}") for i in range(MAX_ENTRIES + 50)]
    raw = encode(RUN, summary_of(rows), rows)
    head = Head.decode(raw, run_id=RUN, now=NOW)
    assert head is not None
    assert not head.complete
    assert len(raw) <= MAX_BYTES
    ask = Ask(counter="chars", ordinal=0, budget=10**6, limit=MAX_ENTRIES, fit="prefix")
    found = head.read(ask, NOW)
    assert found is not None
    assert (found.report.returned, found.report.omitted.limit) == (MAX_ENTRIES, 50)


@pytest.mark.parametrize(
    ("run_id", "now", "cut", "valid"),
    [
        (RUN, NOW, None, True),
        ("b" * 40, NOW, None, False),
        (RUN, NOW + 99, None, True),
        (RUN, NOW + 100, None, False),
        (RUN, NOW, 0, False),
        (RUN, NOW, 60, False),
    ],
)
def test_a_head_is_cold_elsewhere_and_later(run_id: str, now: int, cut: int | None, valid: bool) -> None:
    """Another server run, the end of its validity and a stump of a value all read as cold."""
    summary = Summary(version=1, total=1, valid_until=NOW + 100)
    raw = encode(RUN, summary, [Row(seq=1, expires_at=0, costs=(1,), fragment=b"{}")])
    assert (Head.decode(raw[:cut], run_id=run_id, now=now) is not None) == valid


def test_a_foreign_value_is_cold() -> None:
    """A value of another format under the same key is not read."""
    raw = encode(RUN, Summary(version=1, total=0), [])
    assert Head.decode(b"FWH0" + raw[4:], run_id=RUN, now=NOW) is None


def test_mixed_costs_are_read_where_all_have_them() -> None:
    """While a counter is added, rows that lack its cost are served in the older counters alone."""
    rows = [
        Row(seq=2, expires_at=0, costs=(1, 2, 3), fragment=b"{}"),
        Row(seq=1, expires_at=0, costs=(1, 2), fragment=b"[]"),
    ]
    head = Head.decode(encode(RUN, summary_of(rows), rows), run_id=RUN, now=NOW)
    assert head is not None
    found = [
        head.read(Ask(counter="x", ordinal=ordinal, budget=9, limit=9, fit="prefix"), NOW)
        for ordinal in range(3)
    ]
    assert [page_ and (page_.entries, page_.report.used) for page_ in found] == [
        (b"{},[]", 2),
        (b"{},[]", 4),
        None,
    ]


def test_filters_are_not_for_a_head() -> None:
    """A head knows neither tags nor kinds, and says so by handing on."""
    head = Head.decode(encode(RUN, Summary(version=1, total=0), []), run_id=RUN, now=NOW)
    assert head is not None
    for filters in ({"tag": "t"}, {"kind": "fact"}):
        ask = Ask(counter="chars", ordinal=2, budget=9, limit=9, fit="prefix", **filters)  # type: ignore[arg-type]
        assert head.read(ask, NOW) is None


@given(st.lists(st.integers(NOW, NOW + 500), max_size=MAX_UPCOMING + 6), st.integers(NOW, NOW + 600))
def test_a_summary_counts_the_living_while_it_is_valid(expiries: list[int], now: int) -> None:
    """Until its validity ends a summary knows how many entries are alive."""
    ordered = sorted(expiries)
    summary = Summary.of(1, len(ordered) + 3, ordered[: MAX_UPCOMING + 1], made=NOW)
    if now < summary.valid_until:
        assert summary.live(now) == 3 + sum(at > now for at in ordered)
    else:
        assert len(ordered) > MAX_UPCOMING
    assert (summary.valid_until == FOREVER) == (len(ordered) <= MAX_UPCOMING)
