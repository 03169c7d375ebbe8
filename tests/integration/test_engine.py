"""The engine over a real ledger, inbox and worker: programs that are lied to fail, and each end is told."""

import asyncio
import itertools
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import psycopg
import pytest

from api_shim.capabilities import Capabilities
from api_shim.question import Questions
from api_shim.runs.engine import Engine, new_run_id
from api_shim.runs.live import LiveMemory, MemoryDoors
from api_shim.runs.memory import Budgeted, Memory, Note, Wire
from api_shim.runs.registry import Registry
from api_shim.runs.run import Run
from api_shim.runs.stage import Stage, Variables
from api_shim.runs.store import RunStore
from api_shim.runs.vault import CANARY
from api_shim.runs.workflows import WORKFLOWS, Workflow
from api_shim.search import Searcher
from foreword.draft import DEFAULT_LIMITS
from foreword.errors import RateLimited, Unavailable
from foreword.seal import new_secret_key
from tests.integration.rig import Rig
from worker.write import drain

HOST = Capabilities(counter="chars", max_entry_bytes=1, runs=True)
BUDGETED = "conformance-agent-memory-injection-budget"
NOOP = "conformance-noop"


async def host() -> Capabilities:
    """A host that finds nothing by meaning."""
    return HOST


def engine(rig: Rig, *, lease_s: float = 30, patience_s: float = 20, **given: Any) -> Engine:
    """An engine on the rig's stores."""
    doors = MemoryDoors(
        acceptor=rig.acceptor,
        reader=rig.reader,
        searcher=Searcher(rig.database, Questions(None)),
        database=rig.database,
        counter="chars",
        limits=DEFAULT_LIMITS,
        patience_s=patience_s,
    )
    registry = Registry(rig.database, rig.acceptor.sealer)
    return Engine(RunStore(rig.database, lease_s), registry, doors, host, **given)


async def see(made: Engine, tenant: int, workflow_id: str, work: Callable[[], object] | None) -> Run:
    """A run to its end; ``work`` is what a worker does meanwhile, again and again."""
    run = await made.start(tenant, new_run_id(), workflow_id, {})
    while not run.is_over:
        if work is not None:
            await asyncio.to_thread(work)
        await asyncio.sleep(0.01)
        found = await made.store.find(tenant, run.id)
        assert found is not None
        run = found
    return run


def ended(rig: Rig, made: Engine, workflow_id: str, *, works: bool = True, **parts: Any) -> Run:
    """A run of a new tenant to its end, with a worker or without."""
    tenant, worker = rig.tenant(), rig.parts(**parts)

    def work() -> None:
        drain(tenant, worker)
        drain(0, worker)

    return rig.run(see(made, tenant, workflow_id, work if works else None))


def code(run: Run) -> str | None:
    """Why a run failed."""
    return None if run.error is None else str(run.error["code"])


@dataclass(frozen=True, kw_only=True)
class Liar(LiveMemory):
    """Real memory that reads in another way than it should."""

    @classmethod
    def over(cls, memory: Memory) -> "Liar":
        """The same memory, lying."""
        assert isinstance(memory, LiveMemory)
        return cls(**{name: getattr(memory, name) for name in LiveMemory.__dataclass_fields__})


class SkipsAndGoesOn(Liar):
    """Passes over what does not fit and goes on: the real reader's ``fit=pack``."""

    async def budgeted(self, memory_ref: str, budget: int) -> Budgeted:
        body = await self._read(memory_ref, budget=budget, fit="pack")
        return Budgeted(entries=body["entries"], used=body["budget"]["used"])


class ReadsUnbudgeted(Liar):
    """Leaves the budget out."""

    async def budgeted(self, memory_ref: str, budget: int) -> Budgeted:
        body = await self._read(memory_ref, limit=0)
        return Budgeted(entries=body["entries"], used=body["budget"]["used"])


class KeepsOne(Liar):
    """Gives the newest whatever it costs."""

    async def budgeted(self, memory_ref: str, budget: int) -> Budgeted:
        found = await super().budgeted(memory_ref, budget)
        return found if found.entries else await super().budgeted(memory_ref, 10 * budget)


class WritesLater(Liar):
    """Says that it wrote, and did not wait."""

    _numbers = itertools.count()

    async def remember(self, memory_ref: str, notes: Sequence[Note]) -> list[str]:
        return [f"promised-{next(self._numbers)}" for _ in notes]


class WritesForNobody(Liar):
    """Writes outside the run, so that nobody is told."""

    async def remember(self, memory_ref: str, notes: Sequence[Note]) -> list[str]:
        return await LiveMemory.remember(replace(self, run=None), memory_ref, notes)


class ForgetsTheSecret(Liar):
    """Gives back what was written, not what was kept."""

    async def get(self, memory_ref: str, entry_id: str) -> Wire | None:
        entry = await super().get(memory_ref, entry_id)
        return None if entry is None else {**entry, "content": "The portal opens with it, as agreed."}


@pytest.mark.parametrize(
    ("workflow_id", "liar", "expected"),
    [
        (BUDGETED, SkipsAndGoesOn, "injection_budget_not_a_prefix"),
        (BUDGETED, ReadsUnbudgeted, "injection_budget_oversize_kept"),
        (BUDGETED, KeepsOne, "injection_budget_lone_entry_kept"),
        (NOOP, WritesLater, "memory_readback_failed"),
        (NOOP, WritesForNobody, "memory_attribution_missing"),
        ("conformance-agent-memory-redaction", ForgetsTheSecret, "sr1_redaction_failed"),
    ],
    ids=lambda it: getattr(it, "__name__", it),
)
def test_a_lie_fails_the_run(rig: Rig, workflow_id: str, liar: type[Liar], expected: str) -> None:
    """On real stores, a program whose memory breaks a rule fails under the rule's name, without variables."""
    run = ended(rig, engine(rig, seen_as=liar.over), workflow_id)
    assert (run.status, code(run), run.variables) == ("failed", expected, {})


@pytest.mark.parametrize("workflow_id", WORKFLOWS)
def test_the_truth_completes_it(rig: Rig, workflow_id: str) -> None:
    """On the same stores, without a lie between, every workflow completes."""
    run = ended(rig, engine(rig), workflow_id)
    assert (run.status, code(run)) == ("completed", None)
    assert run.finished_at is not None


def test_nobody_files(rig: Rig) -> None:
    """A write that no worker files fails the run as too late, and its secrets stay until it is filed."""
    run = ended(rig, engine(rig, patience_s=0.2), "conformance-agent-memory-redaction", works=False)
    assert code(run) == "memory_write_timeout"
    with psycopg.connect(rig.services.owner_url) as conn:
        kept = conn.execute("SELECT secret_id FROM run_secrets WHERE run_id = %s", (run.id,)).fetchall()
    assert kept == [(CANARY,)]


def test_what_cannot_be_filed(rig: Rig) -> None:
    """A worker that cannot open the Draft fails it, and so the run."""
    assert code(ended(rig, engine(rig), NOOP, keys=[new_secret_key()])) == "memory_write_failed"


async def sleeps(_: Stage) -> Variables:
    """A program that takes its time."""
    await asyncio.sleep(60)
    return {}


async def meets_nobody(_: Stage) -> Variables:
    """A program whose stores are away."""
    raise Unavailable


async def breaks(_: Stage) -> Variables:
    """A program with a mistake in it."""
    raise KeyError("mistake")


def only(program: Callable[[Stage], Any], bound_s: float = 60) -> dict[str, Workflow]:
    """One workflow."""
    return {"only": Workflow(program=program, bound_s=bound_s)}


def test_a_run_has_a_bound(rig: Rig) -> None:
    """A program that takes longer than its workflow may fails as too late."""
    assert code(ended(rig, engine(rig, workflows=only(sleeps, 0.1)), "only", works=False)) == "run_timeout"


def test_stores_that_are_away_fail_a_run(rig: Rig) -> None:
    """A program that meets an absent part fails under its name."""
    assert (
        code(ended(rig, engine(rig, workflows=only(meets_nobody)), "only", works=False))
        == "memory_unavailable"
    )


def test_a_mistake_is_never_success(rig: Rig) -> None:
    """A program that breaks leaves a run that is lost once its lease is over."""
    made = engine(rig, lease_s=0.3, workflows=only(breaks))
    assert code(ended(rig, made, "only", works=False)) == "run_lost"


def test_a_lease_is_renewed(rig: Rig) -> None:
    """A run that takes much longer than a lease is not lost while its shim lives."""
    made = engine(rig, lease_s=0.6, workflows=only(sleeps, 2))
    assert code(ended(rig, made, "only", works=False)) == "run_timeout"


def test_a_lost_lease_ends_the_program(rig: Rig) -> None:
    """Who was taken for dead stops, and what another shim said of the run stands."""
    made, other = engine(rig, lease_s=0.6, workflows=only(sleeps)), engine(rig)
    tenant = rig.tenant()

    async def usurp() -> tuple[Run | None, Run | None, int]:
        run = await made.start(tenant, new_run_id(), "only", {})
        async with rig.database.transaction(tenant) as transaction:
            await transaction._conn.execute(
                "UPDATE runs SET lease_until = clock_timestamp() WHERE run_id = %s", (run.id,)
            )
        buried = await other.store.find(tenant, run.id)
        while made._tasks:
            await asyncio.sleep(0.05)
        failures = [e for e in await other.store.events(tenant, run.id) if e.type == "run.failed"]
        return buried, await other.store.find(tenant, run.id), len(failures)

    buried, after, told = rig.run(usurp())
    assert buried is not None
    assert after == buried
    assert (code(buried), told) == ("run_lost", 1)


def test_a_shim_that_stops_says_so(rig: Rig) -> None:
    """Closing fails what still goes on at once, whatever the lease."""
    made, tenant = engine(rig, workflows=only(sleeps)), rig.tenant()

    async def stop() -> Run | None:
        run = await made.start(tenant, new_run_id(), "only", {})
        await asyncio.sleep(0.05)
        await made.close()
        return await made.store.find(tenant, run.id)

    run = rig.run(stop())
    assert run is not None
    assert (run.status, code(run)) == ("failed", "run_lost")


def test_a_tenant_has_so_many_and_then_room_again(rig: Rig) -> None:
    """The bound is a tenant's own, and an ended run makes room."""
    made, tenant, other = engine(rig, most=2, workflows=only(sleeps, 0.4)), rig.tenant(), rig.tenant()

    async def crowd() -> None:
        for _ in range(2):
            await made.start(tenant, new_run_id(), "only", {})
        with pytest.raises(RateLimited):
            await made.start(tenant, new_run_id(), "only", {})
        await made.start(other, new_run_id(), "only", {})
        while made._tasks:
            await asyncio.sleep(0.05)
        await made.start(tenant, new_run_id(), "only", {})
        await made.close()

    rig.run(crowd())
    assert not made._running


def test_a_tenant_that_is_not_there_takes_no_room(rig: Rig) -> None:
    """A run that could not be opened is not counted."""
    made = engine(rig, most=1)

    async def fail() -> None:
        with pytest.raises(Exception, match="runs_tenant_id_fkey"):
            await made.start(2**31 - 1, new_run_id(), NOOP, {})

    rig.run(fail())
    assert not made._running
