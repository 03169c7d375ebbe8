"""Freshness: after any sequence of writes, removals, crashes and losses a read is the ledger's truth."""

from collections import Counter

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from hypothesis.stateful import run_state_machine_as_test

from tests.integration.freshness import CountingMemo, Freshness
from tests.integration.rig import EFFORT, Rig
from tests.integration.stepwise import Drain


@pytest.fixture
def machine(rig: Rig) -> type[Freshness]:
    """The machine on this session's servers, with a head and a window small enough to be outgrown."""
    Freshness.rig = rig
    Freshness.memo = CountingMemo(2**20)
    hot_view = rig.hot_view(max_rows=10, max_tokens=150, head_entries=2, head_bytes=1000)
    Freshness.base_parts = rig.parts(hot_view)
    Freshness.tenants = (rig.tenant(), rig.tenant())
    Freshness.answered = Counter()
    return Freshness


def test_reads_are_the_truth_after_anything(machine: type[Freshness]) -> None:
    """No read, from anywhere, ever shows what was removed, expired or replaced, nor lacks what was filed."""
    run_state_machine_as_test(
        machine,
        settings=settings(settings.get_profile("servers"), max_examples=15 * EFFORT, stateful_step_count=30),
    )
    assert machine.answered["head"] > 100, machine.answered
    assert machine.answered["window"] > 20, machine.answered
    assert machine.memo.recalled > 200


RACE = (
    *("one", "two") * 5,
    *("remove", "rebuild") * 2,
    *("flush", "lease", "order", "rows", "lapse", "restart", "crash"),
)


def test_reads_are_the_truth_while_writers_race(machine: type[Freshness]) -> None:
    """Two drains and a removal of one scope, step by step in any order, with losses and rebuilds."""

    @settings(settings.get_profile("servers"), max_examples=40 * EFFORT)
    @given(events=st.lists(st.sampled_from(RACE), min_size=5, max_size=15))
    @example(["one", "one", "two", "one", "two"])
    @example(["one", "one", "crash", "lapse", "two", "two", "two"])
    @example(["rebuild", "order", "one", "one", "one", "rows", "two", "two", "two"])
    @example(["one", "one", "two", "lapse", "one", "two"])
    @example(["one", "one", "two", "lease", "rebuild", "one", "two", "two"])
    @example(["one", "one", "remove", "one", "remove", "rebuild", "remove"])
    @example(["one", "one", "two", "two", "two", "one", "rebuild"])
    @example(["one", "one", "restart", "two", "two", "two", "one", "rebuild"])
    def race(events: list[str]) -> None:
        playing = machine()
        try:
            playing.begin()
            writers = []
            for size in (2, 5):
                playing.accept(0, [(None, [], size), (1, [-1], size)])
                playing.begin_drain(True, 0)
                writers.append(playing.drains[-1])
            for event in events:
                play(playing, writers, event)
                playing.rig.run(playing.check(playing.memories[0]))
        finally:
            playing.teardown()

    race()


def play(playing: Freshness, writers: list[tuple[int, Drain]], event: str) -> None:
    """One event of a race, where it can happen."""
    if event in ("one", "two"):
        writer = writers[event == "two"]
        if writer in playing.drains:
            playing.step_drain(playing.drains.index(writer))
    elif event == "crash":
        if playing.drains:
            playing.crash_drain(0)
    elif event == "remove":
        if playing.removal is None:
            playing.begin_removal(0, 3)
        else:
            playing.step_removal()
    elif event == "rebuild":
        playing.rebuild()
    else:
        playing.lose(0, event)
