"""A machine that writes, removes, crashes and loses in any order, and holds every read to the model."""

from collections import Counter
from collections.abc import Hashable
from dataclasses import replace

import pytest
from hypothesis import strategies as st
from hypothesis.stateful import (
    RuleBasedStateMachine,
    initialize,
    invariant,
    precondition,
    rule,
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
from tests.integration.model import Memo, Memory
from tests.integration.rig import Rig, everything, ids_of
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
    answered: Counter[str]
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
            self.answered[glance.source] += 1
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
