"""The injection budget: headroom's dials over whole entries, each fault of the original as a test."""

import dataclasses
import json
import re
import sys
from datetime import UTC, date, datetime
from types import SimpleNamespace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from foreword import InjectionBudget as PublicInjectionBudget
from foreword import counters
from foreword.counters import COUNTERS, counter
from foreword.errors import CounterUnavailable, ValidationError
from foreword.injection import InjectionBudget
from foreword.json_row import JSON_HEAD, JSON_TAIL, json_advisory_row, render_json_row
from foreword.render import HEADINGS, advisory_row, render_row, short_id
from tests.unit.foreword import hostile

names = st.sampled_from(sorted(COUNTERS))
entries = st.lists(
    st.fixed_dictionaries(
        {"id": st.text(max_size=4), "content": hostile.texts, "kind": st.sampled_from(["fact", "event"])},
        optional={"similarity": st.one_of(st.none(), st.floats(-1, 1)), "confidence": st.floats(0, 1)},
    ),
    max_size=8,
)


def entry(content: str, similarity: float | None = 0.9, **fields: Any) -> dict[str, Any]:
    """A ranked entry as it comes over the wire."""
    return {"id": "m1", "content": content, "similarity": similarity, **fields}


def test_the_dials_are_headrooms() -> None:
    """1,024 tokens, 10 entries, 0.3 similarity, four characters a token; frozen and equal by value."""
    budget = InjectionBudget()
    assert (budget.max_tokens, budget.max_entries, budget.min_similarity) == (1024, 10, 0.3)
    assert budget.counter == "host-defined"
    assert budget == InjectionBudget(max_tokens=1024)
    assert len({budget, InjectionBudget(), InjectionBudget(max_entries=9)}) == 2
    with pytest.raises(dataclasses.FrozenInstanceError):
        budget.max_tokens = 5  # type: ignore[misc]
    assert PublicInjectionBudget is InjectionBudget


@pytest.mark.parametrize("value", [-1, 0, True, 1.5, "10", None, 2**53, float("nan"), float("inf")])
@pytest.mark.parametrize("dial", ["max_tokens", "max_entries"])
def test_no_count_re_opens_the_unbounded_state(dial: str, value: Any) -> None:
    """A negative, zero, fractional, boolean or absent count is refused, so that none means unbounded."""
    with pytest.raises(ValidationError) as refused:
        InjectionBudget(**{dial: value})
    assert [f.field for f in refused.value.fields] == [dial]


@pytest.mark.parametrize("value", [-1.01, 1.01, 2, True, "0.3", None, float("nan"), float("inf"), 10**400])
def test_a_floor_that_is_none_is_refused(value: Any) -> None:
    """A similarity floor is a number from -1 to 1, not NaN and not a boolean."""
    with pytest.raises(ValidationError) as refused:
        InjectionBudget(min_similarity=value)
    assert [f.field for f in refused.value.fields] == ["min_similarity"]


def test_every_bad_dial_is_named() -> None:
    """One refusal names all bad dials; the ends of each range are good."""
    with pytest.raises(ValidationError) as refused:
        InjectionBudget(max_tokens=0, max_entries=-1, min_similarity=9, counter="words")
    assert len(refused.value.fields) == 4
    InjectionBudget(max_tokens=1, max_entries=1, min_similarity=-1)
    InjectionBudget(max_tokens=2**53 - 1, max_entries=2**53 - 1, min_similarity=1, counter="chars")


def test_a_bpe_counter_without_tiktoken_raises(monkeypatch: pytest.MonkeyPatch) -> None:
    """A budget in BPE tokens is never measured by something else."""
    monkeypatch.setattr(counters, "_loaded", {})
    monkeypatch.setitem(sys.modules, "tiktoken", None)
    with pytest.raises(CounterUnavailable):
        InjectionBudget(counter="o200k_base").apply([entry("x")])
    assert InjectionBudget().apply([entry("x")]) == [entry("x")]


def test_entries_come_back_themselves_in_their_order() -> None:
    """Kept entries are the same objects, whole and in the order given; the input is not touched."""
    given_entries = [entry(f"memory {n}", similarity=s) for n, s in enumerate([0.5, 0.9, 0.3, 0.29, 0.7])]
    before = [dict(e) for e in given_entries]
    kept = InjectionBudget().apply(iter(given_entries))
    assert [id(e) for e in kept] == [id(given_entries[n]) for n in (0, 1, 2, 4)]
    assert given_entries == before
    assert InjectionBudget().apply_to_entries(given_entries) == kept


def test_dials_bind_together() -> None:
    """The floor goes first, then tokens and entries, whichever keeps fewer; oversize takes no place."""
    many = [entry("x" * 40) for _ in range(30)]
    assert len(InjectionBudget().apply(many)) == 10
    assert len(InjectionBudget(max_tokens=35).apply(many)) == 3
    assert len(InjectionBudget(max_tokens=30).apply(many)) == 3
    oversize = [entry("y" * 5000), *many]
    assert InjectionBudget(max_entries=2).apply(oversize) == many[:2]


def test_an_entry_is_never_cut() -> None:
    """A memory whose second line says NOT is kept whole or left out, never halved."""
    whole = "Deploy on Fridays\nis allowed\nNOT without a signature"
    budget = InjectionBudget(max_tokens=8)
    assert budget.apply([entry(whole)]) == []
    assert budget.render([entry(whole)]) == ""
    assert budget.apply_to_text(f"- [m1] {whole}\n") == ""


def test_cjk_is_not_a_quarter_of_itself() -> None:
    """4,096 ideographs pass a cap of 1,024 quarter-characters, and not one of 1,024 tokens."""
    ideographs = [entry("固" * 4096)]
    assert InjectionBudget(counter="host-defined").apply(ideographs) == ideographs
    assert InjectionBudget(counter="o200k_base").apply(ideographs) == []
    assert InjectionBudget(counter="o200k_base").render([entry("固" * 100)]) != ""
    assert InjectionBudget(max_tokens=150, counter="cl100k_base").apply([entry("固" * 100)]) == []


def test_the_floor_is_on_the_raw_similarity() -> None:
    """A boosted or decayed score beside a similarity neither lifts nor sinks an entry."""
    old_but_near = entry("near", similarity=0.9, score=0.01)
    new_but_far = entry("far", similarity=0.1, score=0.99)
    assert InjectionBudget().apply([old_but_near, new_but_far]) == [old_but_near]


def test_score_stands_in_only_where_there_is_no_similarity() -> None:
    """An entry in headroom's form is judged by its score; one found by words alone by nothing."""
    assert InjectionBudget().apply([{"content": "a", "score": 0.2}, {"content": "b", "score": 0.4}]) == [
        {"content": "b", "score": 0.4}
    ]
    by_words = entry("by words", similarity=None, score=0.02)
    assert InjectionBudget().apply([by_words]) == [by_words]


@pytest.mark.parametrize("unmeasured", [{"content": "x"}, {"content": "x", "score": None}, entry("x", None)])
def test_what_nobody_measured_is_not_below_the_floor(unmeasured: dict[str, Any]) -> None:
    """An entry that was not ranked by meaning passes, None included."""
    assert InjectionBudget(min_similarity=1).apply([unmeasured]) == [unmeasured]


@pytest.mark.parametrize("similarity", [float("nan"), float("inf"), True, "0.9", [1]])
def test_a_similarity_that_is_none_is_refused_aloud(similarity: Any) -> None:
    """NaN and the like are refused by place, not dropped in silence."""
    with pytest.raises(ValidationError) as refused:
        InjectionBudget().apply([entry("fine"), entry("bad", similarity=similarity)])
    assert [f.field for f in refused.value.fields] == ["entries[1].similarity"]


@pytest.mark.parametrize("bad", [{}, {"content": None}, {"content": b"bytes"}, "text", None, 7])
def test_an_entry_without_text_is_refused(bad: Any) -> None:
    """Something that has no content string is refused by place."""
    with pytest.raises(ValidationError) as refused:
        InjectionBudget().render([bad])
    assert [f.field for f in refused.value.fields] == ["entries[0].content"]


def test_rows_carry_their_ids() -> None:
    """A row names the entry's kind and id, so that a reader can ask for it; without an id it claims none."""
    budget = InjectionBudget()
    assert budget.render([entry("Tea.", kind="preference")]) == f"- [preference-{short_id('m1')}] Tea.\n"
    assert budget.render([{"content": "Tea."}]) == "- [fact] Tea.\n"
    assert budget.render([entry("Tea.", id=7)]) == f"- [fact-{short_id('7')}] Tea.\n"


@pytest.mark.parametrize(
    "moment",
    [
        {"observedAt": "2026-03-01T23:30:00.000Z", "createdAt": "2026-04-01T00:00:00.000Z"},
        {"createdAt": "2026-03-02T01:30:00+02:00"},
        {"createdAt": "2026-03-01"},
        {"observed_at": 1772407800000},
        {"observed_at": datetime(2026, 3, 1, 23, 30, tzinfo=UTC)},
        {"created_at": date(2026, 3, 1)},
    ],
)
def test_rows_show_the_utc_day(moment: dict[str, Any]) -> None:
    """The day comes from when it was observed, else filed, in any of the forms an entry carries it in."""
    assert InjectionBudget().render([entry("Tea.", **moment)]).endswith(" Tea. (Observed 2026-03-01)\n")


@pytest.mark.parametrize(
    "odd",
    [
        {"createdAt": "yesterday"},
        {"createdAt": 10**30},
        {"confidence": "high"},
        {"confidence": 7},
        {"kind": 3},
    ],
)
def test_odd_decoration_is_left_out(odd: dict[str, Any]) -> None:
    """A date or a confidence that is none costs the entry its decoration, not its place."""
    assert InjectionBudget().render([entry("Tea.", **odd)]) == f"- [fact-{short_id('m1')}] Tea.\n"


def test_objects_do_as_well_as_mappings() -> None:
    """Typed answers with attributes are read like mappings."""
    typed = SimpleNamespace(id="m1", content="Tea.", kind="fact", similarity=None, score=0.0, confidence=0.5)
    assert InjectionBudget().apply([typed]) == [typed]
    assert InjectionBudget().render([typed]) == f"- [fact-{short_id('m1')}] Tea. (Conf: 0.50)\n"


@given(entries, names, st.integers(1, 80), st.integers(1, 5))
def test_a_rendered_block_never_exceeds_its_budget(
    listed: list[dict[str, Any]], name: str, max_tokens: int, max_entries: int
) -> None:
    """The block as it is sent, decoration and escapes included, stays within both dials, in whole rows."""
    budget = InjectionBudget(max_tokens=max_tokens, max_entries=max_entries, counter=name)
    block = budget.render(listed)
    assert counter(name).count(block) <= max_tokens
    rows = block.splitlines(keepends=True)
    assert len(rows) <= max_entries
    assert set(rows) <= {InjectionBudget(max_tokens=2**40, counter="chars").render([e]) for e in listed}
    assert budget.render(listed) == block


@given(entries, names, st.integers(1, 80), st.integers(1, 5))
def test_applied_entries_never_exceed_the_budget(
    listed: list[dict[str, Any]], name: str, max_tokens: int, max_entries: int
) -> None:
    """Contents kept cost at most the budget together, and all of them are near enough."""
    budget = InjectionBudget(max_tokens=max_tokens, max_entries=max_entries, counter=name)
    kept = budget.apply(listed)
    assert sum(counter(name).count(e["content"]) for e in kept) <= max_tokens
    assert len(kept) <= max_entries
    assert all(e.get("similarity") is None or e["similarity"] >= 0.3 for e in kept)


def block_of(contents: list[str], omitted: int | None = None) -> str:
    """A framed block of our own rows."""
    rows = [render_row(kind="fact", id=str(n), content=text) for n, text in enumerate(contents)]
    advisory = "" if omitted is None else advisory_row(omitted)
    return f"<memory>\n{HEADINGS['recall']}{''.join(rows)}{advisory}</memory>\n"


any_cut = given(
    st.lists(hostile.texts, max_size=6),
    names,
    st.integers(1, 120),
    st.integers(1, 5),
    st.none() | st.integers(0, 999),
)
"""Contents of a ready block, what it is cut to, and what it says was left out before."""


@any_cut
def test_a_ready_block_is_cut_to_whole_rows(
    contents: list[str], name: str, max_tokens: int, max_entries: int, omitted: int | None
) -> None:
    """Cut or not, a block stays within the budget, holds whole rows in order and keeps its frame."""
    budget = InjectionBudget(max_tokens=max_tokens, max_entries=max_entries, counter=name)
    ready = block_of(contents, omitted)
    cut = budget.apply_to_text(ready)
    assert counter(name).count(cut) <= max_tokens
    if cut not in ("", ready):
        assert cut.startswith(f"<memory>\n{HEADINGS['recall']}- [")
        assert cut.endswith("</memory>\n")
        kept = [line for line in cut.splitlines() if re.match(r"- \[[a-z]", line)]
        there = iter(ready.splitlines())
        assert all(row in there for row in kept)
        assert 0 < len(kept) <= max_entries
        assert omitted is None or advisory_row(omitted + len(contents) - len(kept)) in cut
    assert budget.apply_to_text(cut) == cut


@any_cut
def test_a_ready_json_block_is_cut_to_whole_rows(
    contents: list[str], name: str, max_tokens: int, max_entries: int, omitted: int | None
) -> None:
    """Cut or not, a JSON block stays within the budget and is one document, of whole rows in order."""
    budget = InjectionBudget(max_tokens=max_tokens, max_entries=max_entries, counter=name)
    rows = [render_json_row(kind="fact", id=str(n), content=text) for n, text in enumerate(contents)]
    advisory = [] if omitted is None else [json_advisory_row(omitted)]
    ready = "".join((JSON_HEAD, *rows, *advisory, JSON_TAIL))
    cut = budget.apply_to_text(ready)
    assert counter(name).count(cut) <= max_tokens
    if cut not in ("", ready):
        _, *kept = json.loads(cut)
        left = kept.pop() if omitted is not None else None
        whole = iter(json.loads(ready))
        assert all(row in whole for row in kept)
        assert 0 < len(kept) <= max_entries
        assert omitted is None or left == {"omitted": omitted + len(contents) - len(kept)}
    assert budget.apply_to_text(cut) == cut


def test_a_block_that_fits_is_the_same_block() -> None:
    """A block within the dials comes back byte for byte, an advisory row not counted as an entry."""
    ten = block_of([f"memory {n}" for n in range(10)], omitted=12)
    assert InjectionBudget().apply_to_text(ten) == ten
    assert InjectionBudget().apply_to_text("") == ""
    assert InjectionBudget().apply_to_text("just a note") == "just a note"


def test_a_cut_block_counts_what_it_left_out() -> None:
    """The advisory of a cut block says what is missing now."""
    cut = InjectionBudget(max_entries=2).apply_to_text(block_of(["a", "b", "c"], omitted=12))
    assert cut.count("- [fact-") == 2
    assert advisory_row(13) in cut


def test_frame_and_advisory_are_paid_to_the_last_character() -> None:
    """At every budget the cut block is within it, and at the block's own cost it is whole."""
    ready = block_of(["tea"] * 12, omitted=99)
    for max_tokens in range(1, len(ready)):
        budget = InjectionBudget(max_tokens=max_tokens, max_entries=99, counter="chars")
        assert len(budget.apply_to_text(ready)) <= max_tokens
    assert (
        InjectionBudget(max_tokens=len(ready), max_entries=99, counter="chars").apply_to_text(ready) == ready
    )


def test_no_frame_without_a_memory() -> None:
    """When no row fits there is no header, no frame and no text, not an empty frame counted as memory."""
    budget = InjectionBudget(max_tokens=20)
    assert budget.apply_to_text("## Memories\n- [m1] " + "x" * 5000 + "\n") == ""
    assert budget.apply_to_text(block_of(["y" * 200], omitted=3)) == ""
    assert budget.apply_to_text("z" * 5000) == ""


def test_rows_end_where_the_next_begins() -> None:
    """Rows of several lines stay whole, an oversize one is passed over, and plain bullets are rows too."""
    block = "Notes:\n- [a] allow\n  on staging\n- [b] " + "x" * 400 + "\n- [c] deny\n  unless signed\n"
    assert (
        InjectionBudget(max_tokens=20).apply_to_text(block)
        == "Notes:\n- [a] allow\n  on staging\n- [c] deny\n  unless signed\n"
    )
    plain = "- A: allow\n- B: deny unless signed by ops"
    assert InjectionBudget(max_tokens=5).apply_to_text(plain) == "- A: allow\n"


def test_defaults_bound_any_injection() -> None:
    """A hundred long memories, nothing set: at most 1,024 tokens and 10 rows."""
    budget = InjectionBudget()
    block = budget.render([entry("a long memory " * 40) for _ in range(100)])
    assert 0 < len(block) <= 4096
    assert 0 < block.count("\n") <= 10
