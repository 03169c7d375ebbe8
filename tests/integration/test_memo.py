"""Remembered answers while writers race: what was computed behind a head that is gone never comes back."""

import asyncio
from collections.abc import Iterator
from dataclasses import replace

import pytest

from api_shim.answer import Answer, listing
from api_shim.memo import Memo
from api_shim.options import ReadOptions
from api_shim.read import Reader
from api_shim.sources.recent import recent
from foreword import instant
from foreword.draft import Draft
from foreword.keys import view_keys
from foreword.page import empty
from foreword.scope import Scope
from tests.integration.rig import Rig
from tests.integration.stepwise import Drain, Removal
from worker.stores.rebuild import rebuild
from worker.upkeep.expire import expire
from worker.upkeep.recount import recount_tenant
from worker.write import drain

HOUR = 3_600_000
QUESTIONS = (
    {"limit": 10},
    {"budget": 50},
    {"kind": "fact"},
    {"tag": "t"},
    {"all_fields": True},
    {"counter": "chars", "budget": 40, "fit": "pack"},
)


class Played:
    """A memory with some entries, warm, and a reader whose clock is set by hand."""

    def __init__(self, rig: Rig) -> None:
        self.rig = rig
        self.now = instant.now_ms()
        self.parts = rig.parts(clock=lambda: self.now)
        self.scope = rig.scope(rig.tenant())
        self.memo = Memo(2**20)
        self.reader: Reader = replace(rig.reader, memo=self.memo, clock=lambda: self.now)
        for number in range(4):
            self.write(f"e{number}")
        self.write("short", expires_at=self.now + HOUR)
        drain(self.scope.tenant, self.parts)
        self.warm()

    def write(self, id_: str, **options: object) -> None:
        draft = Draft(
            memory_ref=self.scope.memory_ref,
            id=id_,
            content=f"what {id_} says",
            tags=("t",),
            **options,  # type: ignore[arg-type]
        )
        self.rig.accept(self.scope.tenant, [draft])

    def warm(self) -> None:
        assert rebuild(self.scope, self.rig.ledger, self.parts.hot_view, self.now)

    def ask(self, question: dict[str, object], scope: Scope | None = None) -> Answer:
        return self.rig.run(self._ask(question, scope or self.scope))

    async def _ask(self, question: dict[str, object], scope: Scope) -> Answer:
        return await self.reader.list(scope, options_of(question, scope), reachable=True)

    def truth(self, question: dict[str, object]) -> Answer:
        options = options_of(question, self.scope)
        ask, full = options.ask(), options.all_fields
        found = self.rig.run(recent(self.rig.database, self.scope, ask, self.now, full=full))
        return listing(self.scope, options.filters, found or empty(ask))

    def check(self) -> None:
        """Every question twice: the second answer may be a remembered one."""
        for question in QUESTIONS:
            for _ in range(2):
                assert self.ask(question) == self.truth(question), question

    def remembered(self) -> int:
        """How many of the questions would be answered without being computed."""
        sight = self.rig.run(self.rig.reading.look(self.scope))
        if sight is None:
            return 0
        return sum(
            self.memo.recall(self.scope, options_of(question, self.scope), sight, self.now) is not None
            for question in QUESTIONS
        )


def options_of(question: dict[str, object], scope: Scope) -> ReadOptions:
    plain: dict[str, object] = {"memory_ref": scope.memory_ref, "counter": "o200k_base"}
    return ReadOptions(**(plain | question))  # type: ignore[arg-type]


@pytest.fixture
def played(rig: Rig) -> Iterator[Played]:
    """A warm memory whose every question has been answered once."""
    made = Played(rig)
    made.check()
    assert made.remembered() == len(QUESTIONS)
    return made


def test_a_write_ends_what_is_remembered(played: Played) -> None:
    """At every step of a drain: claimed, opened, committed, shown."""
    played.write("new")
    writer = Drain(played.scope.tenant, played.parts)
    while writer.stage != "done":
        played.check()
        writer.step()
    played.check()
    assert b'"new"' in played.ask(QUESTIONS[0]).body


def test_a_removal_ends_what_is_remembered(played: Played) -> None:
    """At every step of a removal, and nothing of it comes back with the next head."""
    removal = Removal(played.rig, played.scope, "e2")
    while removal.stage != "done":
        played.check()
        removal.step()
    assert b'"e2"' not in played.ask(QUESTIONS[0]).body
    played.warm()
    played.check()
    assert b'"e2"' not in played.ask(QUESTIONS[0]).body


@pytest.mark.parametrize("question", QUESTIONS[2:5], ids=["kind", "tag", "fields"])
def test_a_removal_between_head_and_ledger(played: Played, question: dict[str, object]) -> None:
    """A read that saw the head before a removal and the ledger after it, or the other way, spoils nothing."""
    rig = played.rig
    played.memo = Memo(2**20)
    gates: list[asyncio.Event] = []

    class Slow:
        """The ledger, after a moment in which others act."""

        async def read(self, *told: object) -> object:
            gates[0].set()
            await gates[1].wait()
            return await rig.database.read(*told)  # type: ignore[arg-type]

    slow: Reader = replace(played.reader, memo=played.memo, database=Slow())  # type: ignore[arg-type]
    played.reader = replace(played.reader, memo=played.memo)

    async def race() -> None:
        gates.extend((asyncio.Event(), asyncio.Event()))
        options = options_of(question, played.scope)
        reading = asyncio.create_task(slow.list(played.scope, options, reachable=True))
        await gates[0].wait()
        await rig.remover.remove(played.scope, "e1")
        gates[1].set()
        assert b'"e1"' not in (await reading).body

    rig.run(race())
    played.check()
    played.warm()
    played.check()
    assert b'"e1"' not in played.ask(question).body


def test_a_remembered_answer_ends_with_the_next_expiry(played: Played) -> None:
    """The head stays and the answer does not; a clock that goes back gets the earlier truth."""
    begun = played.now
    assert b'"short"' in played.ask(QUESTIONS[0]).body
    played.now = begun + HOUR
    played.check()
    assert b'"short"' not in played.ask(QUESTIONS[0]).body
    played.now = begun + HOUR - 1
    played.check()
    played.now = begun - 2 * HOUR
    played.check()
    played.now = begun + HOUR
    assert expire(played.parts) >= 1
    played.check()


def test_a_clock_behind_the_worker_s_remembers_nothing(played: Played) -> None:
    """Who lives earlier than the head was made cannot know from it what will expire until then."""
    played.now += HOUR
    played.warm()
    played.now -= HOUR // 2
    played.memo = Memo(2**20)
    played.reader = replace(played.reader, memo=played.memo)
    assert b'"short"' in played.ask({"kind": "fact"}).body
    assert played.memo.size == 0
    played.now += HOUR // 2
    assert b'"short"' not in played.ask({"kind": "fact"}).body


def test_a_flush_and_a_rebuild_of_the_same_version(played: Played) -> None:
    """A head that was lost and built again is that of the same scope: same answers, or new ones."""
    played.rig.valkey.flushdb()
    played.check()
    played.warm()
    played.check()
    assert played.remembered() == len(QUESTIONS)


def test_a_recount_ends_what_is_remembered(played: Played) -> None:
    """Costs may be others afterwards, so the version is."""
    for _ in recount_tenant(played.scope.tenant, played.parts, everything=True):
        played.check()
    played.warm()
    assert played.remembered() == 0
    played.check()


def test_another_run_of_the_server_ends_what_is_remembered(played: Played) -> None:
    """The same bytes from a server that was restarted are not the same head."""
    played.rig.disown(played.scope)
    assert played.remembered() == 0
    played.check()


def test_what_the_window_cannot_hold_is_remembered(rig: Rig) -> None:
    """A walk that leaves head and window asks the ledger once, and for no rebuild: the scope is warm."""
    played = Played(rig)
    asked: list[Scope] = []
    played.reader = replace(played.reader, rebuild=asked.append)
    small = rig.hot_view(max_rows=2, max_tokens=100, head_entries=1, head_bytes=600)
    assert rebuild(played.scope, rig.ledger, small, played.now)
    question: dict[str, object] = {"limit": 4}
    sight = rig.run(rig.reading.look(played.scope))
    glance = rig.run(rig.glance(played.scope, options_of(question, played.scope).ask(), played.now))
    assert (glance.page, glance.cold, glance.source) == (None, False, "ledger")
    first = played.ask(question)
    assert first == played.truth(question)
    assert sight is not None
    assert played.memo.recall(played.scope, options_of(question, played.scope), sight, played.now) == first
    assert asked == []


def test_a_lost_window_is_asked_for_until_it_is_back(rig: Rig) -> None:
    """Behind a head whose window is gone nothing is remembered: one request for a rebuild may be lost."""
    played = Played(rig)
    asked: list[Scope] = []
    played.reader = replace(played.reader, rebuild=asked.append)
    assert rebuild(played.scope, rig.ledger, rig.hot_view(head_entries=1, head_bytes=600), played.now)
    keys = view_keys(played.scope)
    rig.valkey.delete(keys.order, keys.rows)
    question: dict[str, object] = {"limit": 4}
    for _ in range(3):
        assert played.ask(question) == played.truth(question)
    assert asked == [played.scope] * 3


def test_no_tenant_meets_another_s_answer(played: Played) -> None:
    """The same ref of another tenant is another memory."""
    other = Scope(played.rig.tenant(), played.scope.memory_ref)
    for question in QUESTIONS:
        assert b'"entries":[]' in played.ask(question, other).body
