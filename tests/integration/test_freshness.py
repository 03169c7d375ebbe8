"""Freshness: after any sequence of writes, removals, crashes and losses a read is the ledger's truth."""

from collections.abc import Hashable
from dataclasses import dataclass, field, replace

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    RuleBasedStateMachine,
    initialize,
    invariant,
    precondition,
    rule,
    run_state_machine_as_test,
)

from api_shim.answer import Answer, listing
from api_shim.memo import Memo as AnswerMemo
from api_shim.options import ReadOptions
from api_shim.sources.hot import Sight
from api_shim.sources.recent import recent
from foreword import instant
from foreword.draft import Draft
from foreword.errors import NotFound
from foreword.keys import view_keys
from foreword.page import empty
from foreword.scope import Scope
from tests.integration.rig import EFFORT, Rig, everything, ids_of
from tests.integration.stepwise import Drain, Removal
from worker.parts import Parts
from worker.stores.rebuild import rebuild
from worker.upkeep.expire import expire
from worker.write import drain

HOUR = 3_600_000
ASKS = (
    everything(),
    everything(limit=2),
    everything(budget=60),
    everything(budget=25, fit="pack", counter="chars", ordinal=2, limit=3),
)

QUESTIONS = tuple(
    ReadOptions(memory_ref="", counter=counter, **options)
    for counter, options in (
        ("o200k_base", {"limit": 4}),
        ("o200k_base", {"budget": 60}),
        ("chars", {"budget": 25, "fit": "pack", "limit": 3}),
        ("cl100k_base", {"kind": "fact", "limit": 5}),
        ("o200k_base", {"all_fields": True, "limit": 3}),
    )
)


@dataclass
class Memo:
    """What the model knows of one accepted Draft."""

    id: str
    expires_at: int | None
    supersedes: tuple[str, ...]
    state: str = "waiting"
    by: Drain | None = None


@dataclass
class Memory:
    """The model of one scope."""

    scope: Scope
    memos: dict[str, Memo] = field(default_factory=dict)
    replaced: set[str] = field(default_factory=set)
    accepted: list[str] = field(default_factory=list)

    def file(self, memo: Memo) -> None:
        memo.state, memo.by = "filed", None
        self.replaced |= set(memo.supersedes) - {memo.id}

    def visible(self, now: int) -> list[str]:
        """Ids that a read must show, newest first; order is the accept order."""
        return [
            id_
            for id_ in reversed(self.accepted)
            if self.memos[id_].state == "filed"
            and id_ not in self.replaced
            and ((until := self.memos[id_].expires_at) is None or until > now)
        ]


which = st.integers(0, 2)


class CountingMemo(AnswerMemo):
    """A memo that says how often it answered."""

    recalled = 0

    def recall(self, scope: Scope, question: Hashable, sight: Sight, now: int) -> Answer | None:
        found = super().recall(scope, question, sight, now)
        self.recalled += found is not None
        return found


class Freshness(RuleBasedStateMachine):
    """Two tenants with equal refs and ids, and a second memory of the first tenant."""

    rig: Rig
    memo: CountingMemo
    base_parts: Parts
    tenants: tuple[int, int]

    def __init__(self) -> None:
        super().__init__()
        one, two = self.tenants
        ref = self.rig.scope(one).memory_ref
        scopes = (Scope(one, ref), Scope(two, ref), Scope(one, ref + "/second"))
        self.memories = [Memory(scope) for scope in scopes]
        self.now = instant.now_ms()
        self.parts = Parts(**(vars(self.base_parts) | {"clock": lambda: self.now}))
        self.reader = replace(self.rig.reader, memo=self.memo, clock=lambda: self.now)
        self.drains: list[tuple[int, Drain]] = []
        self.removal: tuple[Memory, str, Removal] | None = None

    @initialize()
    def begin(self) -> None:
        """Something is there already, and warm."""
        for n, memory in enumerate(self.memories):
            self.accept(n, [(None, [], 3), (1, [], 2), (None, [], 12), (None, [], 4)])
            drain(memory.scope.tenant, self.parts)
            self.commit(memory.scope.tenant, None)

    # -- who holds what ------------------------------------------------------------------------------------

    def locked(self, memory: Memory) -> bool:
        """Whether an open transaction holds the scope."""
        if self.removal is not None and self.removal[0] is memory and self.removal[2].stage == "opened":
            return True
        return any(memo.by is not None and memo.by.stage == "opened" for memo in memory.memos.values())

    def claimed(self, memory: Memory) -> bool:
        """Whether an open transaction holds Drafts of the scope."""
        return any(memo.by is not None for memo in memory.memos.values())

    def of(self, tenant: int) -> list[Memory]:
        return [memory for memory in self.memories if memory.scope.tenant == tenant]

    def free(self, tenant: int) -> bool:
        return not any(self.locked(memory) for memory in self.of(tenant))

    def waiting(self, tenant: int) -> list[Memo]:
        return [
            memo
            for memory in self.of(tenant)
            for memo in memory.memos.values()
            if memo.state == "waiting" and memo.by is None
        ]

    def commit(self, tenant: int, by: Drain | None) -> None:
        for memory in self.of(tenant):
            for memo in memory.memos.values():
                if memo.state == "waiting" and memo.by is by:
                    memory.file(memo)

    # -- writes --------------------------------------------------------------------------------------------

    @rule(
        n=which,
        options=st.lists(
            st.tuples(
                st.sampled_from((None, None, 1, 2)),
                st.lists(st.integers(-4, 3), max_size=2),
                st.integers(1, 12),
            ),
            min_size=1,
            max_size=6,
        ),
    )
    def accept(self, n: int, options: list[tuple[int | None, list[int], int]]) -> None:
        """New Drafts; some expire, some replace earlier ones or ones that are yet to come."""
        memory = self.memories[n]
        drafts = []
        for hours, replaced, size in options:
            number = len(memory.accepted)
            memo = Memo(
                id=f"e{number}",
                expires_at=None if hours is None else self.now + hours * HOUR,
                supersedes=tuple(f"e{number + r}" for r in sorted(set(replaced)) if number + r >= 0),
            )
            memory.accepted.append(memo.id)
            memory.memos[memo.id] = memo
            drafts.append(
                Draft(
                    memory_ref=memory.scope.memory_ref,
                    content=f"tenant {memory.scope.tenant} " + "word " * size,
                    id=memo.id,
                    expires_at=memo.expires_at,
                    supersedes=memo.supersedes,
                )
            )
        self.rig.accept(memory.scope.tenant, drafts)

    @rule(one=st.booleans())
    def drain(self, one: bool) -> None:
        """A worker files all that nobody holds."""
        tenant = self.tenants[not one]
        if self.free(tenant):
            drain(tenant, self.parts)
            self.commit(tenant, None)

    @precondition(lambda self: len(self.drains) < 3)
    @rule(one=st.booleans(), steps=st.integers(0, 2))
    def begin_drain(self, one: bool, steps: int) -> None:
        """A worker claims what nobody holds, and may stop at any point after that."""
        tenant = self.tenants[not one]
        memos = self.waiting(tenant)
        if memos and self.free(tenant):
            writer = Drain(tenant, self.parts)
            for memo in memos:
                memo.by = writer
            self.drains.append((tenant, writer))
            for _ in range(steps):
                self.step_drain(len(self.drains) - 1)

    @precondition(lambda self: self.drains)
    @rule(n=which)
    def step_drain(self, n: int) -> None:
        """A worker that was stopped goes on to its next point."""
        tenant, writer = self.drains[n % len(self.drains)]
        if writer.stage == "claimed" and not self.free(tenant):
            return
        committing = writer.stage == "opened"
        if writer.step() == "done":
            self.drains.remove((tenant, writer))
        if committing:
            self.commit(tenant, writer)

    @precondition(lambda self: self.drains)
    @rule(n=which)
    def crash_drain(self, n: int) -> None:
        """A worker dies where it stands; what it held waits again unless it had committed."""
        tenant, writer = self.drains.pop(n % len(self.drains))
        writer.crash()
        for memory in self.of(tenant):
            for memo in memory.memos.values():
                if memo.by is writer:
                    memo.by = None

    # -- removals ------------------------------------------------------------------------------------------

    def target(self, n: int, pick: int) -> tuple[Memory, str] | None:
        memory = self.memories[n]
        if not memory.accepted or self.locked(memory):
            return None
        id_ = memory.accepted[-1 - pick % min(len(memory.accepted), 6)]
        return None if memory.memos[id_].by is not None else (memory, id_)

    @rule(n=which, pick=st.integers(0, 5))
    def remove(self, n: int, pick: int) -> None:
        """An id is removed, filed or not."""
        target = self.target(n, pick)
        if target is None:
            return
        memory, id_ = target
        if memory.memos[id_].state in ("removed", "purged"):
            with pytest.raises(NotFound):
                self.rig.run(self.rig.remover.remove(memory.scope, id_))
        else:
            self.rig.run(self.rig.remover.remove(memory.scope, id_))
            memory.memos[id_].state = "removed"

    @precondition(lambda self: self.removal is None)
    @rule(n=which, pick=st.integers(0, 5))
    def begin_removal(self, n: int, pick: int) -> None:
        """A removal stops before its commit."""
        target = self.target(n, pick)
        if target is not None and target[0].memos[target[1]].state not in ("removed", "purged"):
            memory, id_ = target
            self.removal = (memory, id_, Removal(self.rig, memory.scope, id_))

    @precondition(lambda self: self.removal is not None)
    @rule()
    def step_removal(self) -> None:
        """It commits, or voids the hot view and answers."""
        assert self.removal is not None
        memory, id_, removal = self.removal
        if removal.step() == "done":
            self.removal = None
        memory.memos[id_].state = "removed"

    @precondition(lambda self: self.removal is not None)
    @rule()
    def crash_removal(self) -> None:
        """The shim dies before or after the commit."""
        assert self.removal is not None
        self.removal[2].crash()
        self.removal = None

    @rule(n=which)
    def forget(self, n: int) -> None:
        """A whole memory is forgotten."""
        memory = self.memories[n]
        if not self.locked(memory) and not self.claimed(memory):
            self.rig.run(self.rig.remover.forget(memory.scope, None, None))
            for memo in memory.memos.values():
                memo.state = "removed" if memo.state != "purged" else memo.state

    # -- time, upkeep, losses ------------------------------------------------------------------------------

    @rule()
    def tick(self) -> None:
        """An hour passes."""
        self.now += HOUR

    @rule()
    def purge(self) -> None:
        """Expired rows are purged."""
        if all(self.free(tenant) for tenant in self.tenants) and self.removal is None:
            expire(self.parts)
            for memory in self.memories:
                for memo in memory.memos.values():
                    if memo.state == "filed" and memo.expires_at is not None and memo.expires_at <= self.now:
                        memo.state = "purged"

    @rule()
    def rebuild(self) -> None:
        """Cold scopes are made warm."""
        for memory in self.memories:
            if not self.locked(memory):
                rebuild(memory.scope, self.rig.ledger, self.parts.hot_view, self.now)

    @rule(
        n=which,
        what=st.sampled_from(("head", "order", "rows", "lease", "member", "lapse", "restart", "flush")),
    )
    def lose(self, n: int, what: str) -> None:
        """The hot view loses something, or a writer's time is over."""
        scope, valkey = self.memories[n].scope, self.rig.valkey
        if what == "lapse":
            self.rig.lapse(scope)
        elif what == "member":
            self.tear(scope)
        elif what in ("restart", "flush"):
            self.restart(lost=what == "flush")
        else:
            valkey.unlink(getattr(view_keys(scope), what))

    def restart(self, *, lost: bool) -> None:
        """The server restarts, with or without its file."""
        if lost:
            self.rig.valkey.flushdb()
        for memory in self.memories:
            self.rig.disown(memory.scope)
        for _, writer in self.drains:
            writer.meet_restart()
        self.rig.valkey.script_flush()

    def tear(self, scope: Scope) -> None:
        """One member of a window that was whole is lost."""
        keys, valkey = view_keys(scope), self.rig.valkey
        members, fields = valkey.zrange(keys.order, 0, -1), sorted(valkey.hkeys(keys.rows))
        if members and len(fields) == len(members) + 2:
            if self.now // HOUR % 2:
                valkey.zrem(keys.order, members[len(members) // 2])
            else:
                valkey.hdel(keys.rows, fields[len(fields) // 2])

    # -- the law -------------------------------------------------------------------------------------------

    @invariant()
    def reads_are_the_truth(self) -> None:
        """Ledger equals model, hot view equals ledger, and nothing is another tenant's."""
        for memory in self.memories:
            self.rig.run(self.check(memory))

    async def check(self, memory: Memory) -> None:
        await self.check_sources(memory)
        await self.check_answers(memory)

    async def check_answers(self, memory: Memory) -> None:
        """What a door would send, computed or remembered, is what the ledger says now."""
        for options in QUESTIONS:
            asked = replace(options, memory_ref=memory.scope.memory_ref)
            ask, full = asked.ask(), asked.all_fields
            answer = await self.reader.list(memory.scope, asked, reachable=True)
            page = await recent(self.rig.database, memory.scope, ask, self.now, full=full) or empty(ask)
            assert answer == listing(memory.scope, asked.filters, page)

    async def check_sources(self, memory: Memory) -> None:
        mark = f'"content":"tenant {memory.scope.tenant} '.encode()
        for ask in ASKS:
            glance = await self.rig.glance(memory.scope, ask, self.now)
            ANSWERS[glance.source] = ANSWERS.get(glance.source, 0) + 1
            if glance.page is None and ask is not ASKS[0]:
                continue
            truth = await recent(self.rig.database, memory.scope, ask, self.now, full=False) or empty(ask)
            assert glance.page is None or glance.page == truth, glance.source
            if ask is ASKS[0]:
                assert ids_of(truth) == memory.visible(self.now)
                assert truth.entries.count(mark) == truth.report.returned

    def teardown(self) -> None:
        for _, writer in self.drains:
            writer.crash()
        if self.removal is not None:
            self.removal[2].crash()
        for tenant in self.tenants:
            drain(tenant, self.parts)


ANSWERS: dict[str, int] = {}


@pytest.fixture
def machine(rig: Rig) -> type[Freshness]:
    """The machine on this session's servers, with a head and a window small enough to be outgrown."""
    Freshness.rig = rig
    Freshness.memo = CountingMemo(2**20)
    hot_view = rig.hot_view(max_rows=10, max_tokens=150, head_entries=2, head_bytes=1000)
    Freshness.base_parts = rig.parts(hot_view)
    Freshness.tenants = (rig.tenant(), rig.tenant())
    ANSWERS.clear()
    return Freshness


def test_reads_are_the_truth_after_anything(machine: type[Freshness]) -> None:
    """No read, from anywhere, ever shows what was removed, expired or replaced, nor lacks what was filed."""
    run_state_machine_as_test(
        machine,
        settings=settings(settings.get_profile("servers"), max_examples=15 * EFFORT, stateful_step_count=30),
    )
    assert ANSWERS["head"] > 100, ANSWERS
    assert ANSWERS["window"] > 20, ANSWERS
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
