"""One law, four places: Python over a plain list, the packed head, the window's Lua, the ledger's SQL."""

import itertools
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field, replace

import pytest
from hypothesis import currently_in_test_context, given, note, settings
from hypothesis import strategies as st

from foreword import instant
from foreword.budget import FITS, MAX_BUDGET, WALK_LIMIT, walk
from foreword.draft import Draft
from foreword.entry import Entry
from foreword.page import Ask, Page, join, page
from foreword.scope import Scope
from tests.integration.rig import EFFORT, Rig, everything
from worker.stores.hot_view import HotView
from worker.stores.ledger import Claimed, Ledger
from worker.stores.rebuild import rebuild

HOUR = 3_600_000
KINDS = ("fact", "note")
TAGS = ("a", "b")
COUNTERS = ("o200k_base", "cl100k_base", "chars", "host-defined")

small = st.integers(0, 40)
huge = st.sampled_from((0, 1, 39, 40, 41, 1_000, 9_999_999))
costs = st.one_of(small, small, huge)


@dataclass(frozen=True)
class Given:
    """A row to write: its costs, hours until it expires, what it replaces, and what it is filtered by."""

    costs: tuple[int, ...]
    hours: int | None
    supersedes: frozenset[int]
    kind: str
    tags: frozenset[str]
    size: int


@dataclass
class Kept:
    """The model: everything filed, as the law's plain list sees it."""

    base: int
    entries: dict[str, Entry] = field(default_factory=dict)
    replaced: set[str] = field(default_factory=set)

    def file(self, entry: Entry) -> None:
        self.entries[entry.id] = entry
        self.replaced |= set(entry.supersedes) - {entry.id}

    def live(self, ask: Ask, now: int) -> list[Entry]:
        """Newest first, what a read with these filters may see at ``now``."""
        found = [
            entry
            for entry in self.entries.values()
            if entry.id not in self.replaced
            and (entry.expires_at is None or entry.expires_at > now)
            and (ask.tag is None or ask.tag in entry.tags)
            and (ask.kind is None or ask.kind == entry.kind)
        ]
        return sorted(found, key=lambda entry: -entry.seq)

    def read(self, ask: Ask, now: int) -> Page:
        """The law over the plain list."""
        live = self.live(ask, now)
        behind = [entry for entry in live if ask.before is None or entry.seq < ask.before]
        seen = walk(
            [entry.costs[ask.ordinal] for entry in behind], budget=ask.budget, limit=ask.limit, fit=ask.fit
        )
        return page(
            ask,
            fragments=join([behind[index].fragment() for index in seen.kept]),
            selection=seen,
            total=len(live),
            last_visited=behind[seen.visited - 1].seq if seen.visited else None,
        )


rows = st.builds(
    Given,
    costs=st.tuples(costs, costs, costs, costs),
    hours=st.one_of(st.none(), st.integers(1, 4)),
    supersedes=st.one_of(
        st.just(frozenset()), st.just(frozenset()), st.frozensets(st.integers(0, 29), max_size=2)
    ),
    kind=st.sampled_from(KINDS),
    tags=st.frozensets(st.sampled_from(TAGS)),
    size=st.sampled_from((1, 30, 200)),
)


@dataclass(frozen=True)
class Story:
    """How a memory came to be: batches in filing order, which is not accept order, and what came between."""

    given: list[Given]
    order: list[int]
    cuts: list[int]
    between: list[tuple[str, int]]
    sizes: dict[str, int]
    sift: dict[str, int]


@st.composite
def stories(draw: st.DrawFn) -> Story:
    given_rows = draw(st.lists(rows, max_size=30))
    order = draw(st.permutations(range(len(given_rows))))
    cuts = draw(st.lists(st.integers(0, len(given_rows)), max_size=4))
    between = draw(
        st.lists(
            st.tuples(st.sampled_from(("rebuild", "remove", "none")), st.integers(0, 29)),
            min_size=len(cuts) + 1,
            max_size=len(cuts) + 1,
        )
    )
    sizes = draw(
        st.fixed_dictionaries(
            {
                "max_rows": st.sampled_from((1, 3, 8, 2000)),
                "max_tokens": st.sampled_from((50, 300, 10**9)),
                "head_bytes": st.sampled_from((300, 1500, 32 * 1024)),
                "head_entries": st.sampled_from((1, 2, 5, 256)),
            }
        )
    )
    sift = draw(
        st.fixed_dictionaries(
            {"large": st.sampled_from((5, 30, 1024)), "room": st.sampled_from((100, 400, 32768))}
        )
    )
    return Story(given_rows, list(order), sorted(cuts), between, sizes, sift)


@st.composite
def asks(draw: st.DrawFn, filtered: bool = False) -> Ask:
    ordinal = draw(st.integers(0, 3))
    budget = draw(
        st.one_of(st.none(), st.integers(1, 60), st.integers(1, 600), st.sampled_from((10**7, MAX_BUDGET)))
    )
    return Ask(
        counter=COUNTERS[ordinal],
        ordinal=ordinal,
        budget=budget,
        limit=draw(st.sampled_from((1, 2, 3, 5, 10, 1000))),
        fit=draw(st.sampled_from(FITS)),
        tag=draw(st.sampled_from((None, *TAGS))) if filtered else None,
        kind=draw(st.sampled_from((None, *KINDS))) if filtered else None,
    )


def tell(what: str) -> None:
    """A note, where a story is told by Hypothesis."""
    if currently_in_test_context():
        note(what)


def entry_of(claimed: Claimed, given_row: Given, base: int) -> Entry:
    """An entry with the costs a test wants, whatever its text."""
    return Entry(
        scope=claimed.scope,
        seq=claimed.seq,
        id=claimed.id,
        content="é" * given_row.size,
        tags=tuple(sorted(given_row.tags)),
        kind=given_row.kind,
        confidence=1.0,
        pinned=False,
        created_at=claimed.accepted_at,
        observed_at=claimed.accepted_at,
        supersedes=tuple(f"e{old}" for old in sorted(given_row.supersedes)),
        expires_at=None if given_row.hours is None else base + given_row.hours * HOUR,
        costs=given_row.costs,
        row_costs=given_row.costs,
        json_costs=given_row.costs,
    )


def file(
    ledger: Ledger, hot_view: HotView, kept: Kept, scope: Scope, batch: Sequence[tuple[str, Given]]
) -> None:
    """The write path from the claim on, for entries whose costs are given."""
    wanted = dict(batch)
    with ledger.transaction(scope.tenant) as filing:
        claimed = [row for row in filing.claim(1000) if row.scope == scope and row.id in wanted]
        entries = [entry_of(row, wanted[row.id], kept.base) for row in claimed]
        filing.lock([row.scope_id for row in claimed])
        assert not entries or filing.file(entries, [row.scope_id for row in claimed]) is None
        views = filing.views(kept.base)
        opening = hot_view.open(view.scope for view in views)
    cold = hot_view.show(opening, views)
    for entry in entries:
        kept.file(entry)
    tell(f"filed {[(e.id, e.seq, e.costs, e.supersedes) for e in entries]}, cold: {cold}")


def build(rig: Rig, scope: Scope, story: Story) -> Kept:
    """Tells a story: what is in the ledger and the hot view afterwards, and the model of it."""
    kept = Kept(base=instant.now_ms())
    hot_view, ledger = rig.hot_view(**story.sizes), Ledger(rig.ledger.pool, **story.sift)
    named = [(f"e{index}", given_row) for index, given_row in enumerate(story.given)]
    if named:
        drafts = [Draft(memory_ref=scope.memory_ref, content="x", id=name) for name, _ in named]
        rig.accept(scope.tenant, drafts)
    edges = [0, *story.cuts, len(named)]
    for (start, end), (what, which) in zip(itertools.pairwise(edges), story.between, strict=True):
        file(ledger, hot_view, kept, scope, [named[index] for index in story.order[start:end]])
        if what == "rebuild":
            rebuild(scope, ledger, hot_view, kept.base)
        elif what == "remove" and f"e{which}" in kept.entries:
            rig.run(rig.remover.remove(scope, f"e{which}"))
            del kept.entries[f"e{which}"]
        tell(f"then {what} {which}")
    return kept


def hold_together(
    rig: Rig,
    scope: Scope,
    kept: Kept,
    ask: Ask,
    now: int,
    answered: Counter[tuple[str, bool]] | None = None,
) -> Page:
    """Asserts that every source that can answer gives the model's page; counts which could."""
    expected = kept.read(ask, now)
    tell(f"{ask} at {now - kept.base}")
    assert rig.from_ledger(scope, ask, now) == expected
    if not ask.filtered:
        for name, source in (("head", rig.from_head), ("window", rig.from_window)):
            found = source(scope, ask, now)
            assert found is None or found == expected, name
            if answered is not None:
                answered[name, found is not None] += 1
                if name == "head" and rig.is_sifted(scope, now):
                    answered["sifted head", found is not None] += 1
        glance = rig.run(rig.glance(scope, ask, now))
        assert glance.page is None or glance.page == expected
    return expected


hours = st.integers(0, 5)
stale = st.integers(-2, 3)


def test_every_source_gives_the_page_of_the_law(rig: Rig, tenant: int) -> None:
    """Python, head, window and SQL agree on entries, report and cursor, on first and on further pages."""
    answered: Counter[tuple[str, bool]] = Counter()

    @settings(settings.get_profile("servers"), max_examples=150 * EFFORT)
    @given(story=stories(), reads=st.lists(st.tuples(asks(), hours, stale), min_size=3, max_size=8))
    def agree(story: Story, reads: list[tuple[Ask, int, int]]) -> None:
        scope = rig.scope(tenant)
        kept = build(rig, scope, story)
        for ask, hour, shift in reads:
            now = kept.base + hour * HOUR
            first = hold_together(rig, scope, kept, ask, now, answered)
            if first.resume is not None:
                left = max(first.report.next_remaining + shift, 0)
                further = replace(ask, before=first.resume, remaining=left)
                hold_together(rig, scope, kept, further, now, answered)

    agree()
    for source in ("head", "window"):
        assert min(answered[source, told] for told in (True, False)) > 20, answered


def test_a_sifted_head_gives_the_page_of_the_law(rig: Rig, tenant: int) -> None:
    """A head that only counts large rows agrees with all others on reads whose budget passes over these."""
    answered: Counter[tuple[str, bool]] = Counter()
    mixed = st.one_of(st.integers(0, 9), st.integers(10, 60))
    written = st.builds(
        replace,
        rows,
        costs=st.tuples(mixed, mixed, mixed, mixed),
        hours=st.sampled_from((None,) * 9 + (2,)),
        supersedes=st.just(frozenset()),
    )
    asked = st.builds(
        everything,
        budget=st.integers(9, 40),
        limit=st.sampled_from((1, 3, 1000)),
        ordinal=st.sampled_from((0, 0, 1)),
    )

    @settings(settings.get_profile("servers"), max_examples=40 * EFFORT)
    @given(
        given_rows=st.lists(written, min_size=8, max_size=30),
        large=st.integers(8, 30),
        last=st.integers(0, 8),
        reads=st.lists(st.tuples(asked, hours), min_size=3, max_size=6),
    )
    def agree(given_rows: list[Given], large: int, last: int, reads: list[tuple[Ask, int]]) -> None:
        scope, number = rig.scope(tenant), len(given_rows)
        story = Story(
            given=given_rows,
            order=list(range(number)),
            cuts=[number - last],
            between=[("rebuild", 0), ("none", 0)],
            sizes={},
            sift={"large": large, "room": 200},
        )
        kept = build(rig, scope, story)
        for ask, hour in reads:
            first = hold_together(rig, scope, kept, ask, kept.base + hour * HOUR, answered)
            if first.resume is not None:
                further = replace(ask, before=first.resume, remaining=first.report.next_remaining)
                hold_together(rig, scope, kept, further, kept.base + hour * HOUR, answered)

    agree()
    assert min(answered["sifted head", told] for told in (True, False)) > 0, answered


@settings(settings.get_profile("servers"), max_examples=50 * EFFORT)
@given(story=stories(), reads=st.lists(st.tuples(asks(filtered=True), hours), min_size=3, max_size=6))
def test_the_ledger_keeps_the_law_under_filters(
    rig: Rig, tenant: int, story: Story, reads: list[tuple[Ask, int]]
) -> None:
    """A tag, a kind or both narrow the list that the law walks, and nothing else."""
    scope = rig.scope(tenant)
    kept = build(rig, scope, story)
    for ask, hour in reads:
        first = hold_together(rig, scope, kept, ask, kept.base + hour * HOUR)
        if first.resume is not None:
            further = replace(ask, before=first.resume, remaining=first.report.next_remaining)
            hold_together(rig, scope, kept, further, kept.base + hour * HOUR)


@settings(settings.get_profile("servers"), max_examples=40 * EFFORT)
@given(story=stories(), ask=asks(filtered=True), hour=hours)
def test_pages_visit_every_live_row_once(rig: Rig, tenant: int, story: Story, ask: Ask, hour: int) -> None:
    """Following the cursor ends, and kept and passed-over rows are the live rows, each once."""
    scope = rig.scope(tenant)
    kept = build(rig, scope, story)
    now = kept.base + hour * HOUR
    live = kept.live(ask, now)
    told: list[bytes] = []
    oversize = passed = 0
    for _ in range(len(live) + 1):
        found = hold_together(rig, scope, kept, ask, now)
        told += [found.entries] if found.entries else []
        oversize += found.report.omitted.oversize
        passed += found.report.omitted.total - found.report.omitted.oversize - found.report.next_remaining
        if found.resume is None:
            break
        ask = replace(ask, before=found.resume, remaining=found.report.next_remaining)
    else:
        pytest.fail("the cursor does not end")
    shown = join(told)
    assert shown.count(b'"id":') + oversize + passed == len(live)
    kept_rows = [entry for entry in live if entry.fragment() in shown]
    assert join([entry.fragment() for entry in kept_rows]) == shown


def test_a_long_pack_is_cut_alike_everywhere(rig: Rig, tenant: int) -> None:
    """A pack that meets the bound on rows walked ends there in every place, and goes on behind it."""
    scope = rig.scope(tenant)
    kept, hot_view = Kept(base=instant.now_ms()), rig.hot_view()
    plain = Given((9, 9, 9, 9), None, frozenset(), "fact", frozenset(), 1)
    named = [
        (f"e{i}", replace(plain, costs=(3,) * 4) if i % 400 == 0 else plain) for i in range(WALK_LIMIT + 201)
    ]
    rig.accept(tenant, [Draft(memory_ref=scope.memory_ref, content="x", id=name) for name, _ in named])
    for start in range(0, len(named), 250):
        file(rig.ledger, hot_view, kept, scope, named[start : start + 250])
    ask = everything(budget=8, fit="pack")
    first = hold_together(rig, scope, kept, ask, kept.base)
    assert (first.report.returned, first.report.next_remaining) == (2, 201)
    assert rig.from_window(scope, ask, kept.base) == first
    further = replace(ask, before=first.resume, remaining=first.report.next_remaining)
    assert hold_together(rig, scope, kept, further, kept.base).resume is None


def test_a_window_that_ran_empty_leaves_no_gap(rig: Rig, tenant: int) -> None:
    """When all of a bounded window is replaced, a late row must not pass for the newest that is left."""
    scope = rig.scope(tenant)
    kept, hot_view = Kept(base=instant.now_ms()), rig.hot_view(max_rows=1, head_entries=1)
    plain = Given((1, 1, 1, 1), None, frozenset(), "fact", frozenset(), 1)
    named = [(f"e{i}", plain) for i in range(6)]
    rig.accept(tenant, [Draft(memory_ref=scope.memory_ref, content="x", id=name) for name, _ in named])
    file(rig.ledger, hot_view, kept, scope, named[3:])
    file(rig.ledger, hot_view, kept, scope, [("e2", replace(plain, supersedes=frozenset({5})))])
    file(rig.ledger, hot_view, kept, scope, [named[0]])
    file(rig.ledger, hot_view, kept, scope, [named[1]])
    for limit in (1, 2, 10):
        hold_together(rig, scope, kept, everything(limit=limit), kept.base)


@pytest.fixture(scope="module")
def tenant(rig: Rig) -> int:
    """A tenant of this file's own."""
    return rig.tenant()
