"""THE ENGINE. A run's whole life, from the request that starts it to the row that says how it ended.

    start -> slot -> row under a lease -> task [program | lease renewed] -> outcome, events

Whoever started it need not stay. A task that dies without a word stops renewing, and the next look at
the run, from any shim, fails it as ``run_lost``.
"""

import asyncio
import logging
from collections import Counter
from collections.abc import Awaitable, Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from functools import partial
from typing import Any, Final

from api_shim.capabilities import Capabilities
from api_shim.runs.failure import failed
from api_shim.runs.live import NODE, LiveMemory, MemoryDoors
from api_shim.runs.memory import Memory
from api_shim.runs.registry import Registry
from api_shim.runs.run import Run, error_of, own_ref
from api_shim.runs.stage import Stage, Variables
from api_shim.runs.store import OUTSIDER, RunStore, Told
from api_shim.runs.vault import CanaryVault
from api_shim.runs.workflows import WORKFLOWS, Workflow
from foreword.errors import Conflict, ForewordError, RateLimited, RunFailed, Unavailable
from foreword.ids import uuid7
from foreword.instant import now_ms

log = logging.getLogger(__name__)

MOST_RUNS: Final = 8
"""Runs of one tenant that go on at a time in one shim."""

_CLOSING_S: Final = 3.0


@dataclass
class Engine:
    """Starts runs and sees them through. ``host`` says what can be done here now.

    ``seen_as`` may stand between programs and their memory: so a test makes it break its word.
    """

    store: RunStore
    registry: Registry
    doors: MemoryDoors
    host: Callable[[], Awaitable[Capabilities]]
    most: int = MOST_RUNS
    workflows: Mapping[str, Workflow] = field(default_factory=lambda: WORKFLOWS)
    seen_as: Callable[[Memory], Memory] = lambda memory: memory
    _has_outsider: bool = False
    _running: "Counter[int]" = field(default_factory=Counter)
    _tasks: "set[asyncio.Task[None]]" = field(default_factory=set)

    async def start(
        self, tenant: int, run_id: str, workflow_id: str, inputs: Mapping[str, Any], source: str | None = None
    ) -> Run:
        """A run that goes on by itself; RateLimited when the tenant has as many as it may."""
        if self._running[tenant] >= self.most:
            raise RateLimited(1, "This tenant has as many runs going on as it may.")
        self._running[tenant] += 1
        try:
            run = await self.store.open(tenant, run_id, workflow_id, source)
        except BaseException:
            self._leave(tenant)
            raise
        task = asyncio.create_task(self._see_through(tenant, run, inputs))
        self._tasks.add(task)
        task.add_done_callback(partial(self._ended, tenant))
        return run

    def _ended(self, tenant: int, task: "asyncio.Task[None]") -> None:
        self._tasks.discard(task)
        self._leave(tenant)
        if not task.cancelled() and (error := task.exception()) is not None:
            log.error("a run ended by %s", type(error).__name__)

    def _leave(self, tenant: int) -> None:
        self._running[tenant] -= 1
        if not self._running[tenant]:
            del self._running[tenant]

    async def close(self) -> None:
        """Fails what still goes on, so that nobody waits for it."""
        for task in self._tasks:
            task.cancel()
        if self._tasks:
            await asyncio.wait(self._tasks, timeout=_CLOSING_S)

    async def _see_through(self, tenant: int, run: Run, inputs: Mapping[str, Any]) -> None:
        try:
            variables = await self._perform(tenant, run, inputs)
        except RunFailed as failure:
            await self._fail(tenant, run, failure)
        except Conflict:  # the ledger takes nothing more from a run that is not held
            await self._fail(tenant, run, failed("run_lost"))
        except ForewordError:
            await self._fail(tenant, run, failed("memory_unavailable"))
        except asyncio.CancelledError:
            with suppress(ForewordError):
                await self._fail(tenant, run, failed("run_lost"))
            raise
        else:
            told: list[Told] = [("node.completed", {"nodeId": NODE}), ("run.completed", {})]
            await self.store.finish(tenant, run.id, variables=variables, error=None, told=told)

    async def _fail(self, tenant: int, run: Run, failure: RunFailed) -> None:
        error = error_of(failure)
        told: list[Told] = [
            ("node.failed", {"nodeId": NODE, "error": error}),
            ("run.failed", {"error": error}),
        ]
        await self.store.finish(tenant, run.id, variables={}, error=error, told=told)

    async def _perform(self, tenant: int, run: Run, inputs: Mapping[str, Any]) -> Variables:
        """The program under its bound and the lease, whichever is over first."""
        workflow = self.workflows[run.workflow_id]
        program = asyncio.ensure_future(self._play(workflow, tenant, run, inputs))
        held = asyncio.ensure_future(self._hold(tenant, run.id))
        try:
            await asyncio.wait({program, held}, timeout=workflow.bound_s, return_when=asyncio.FIRST_COMPLETED)
            if program.done():
                return program.result()
            raise failed("run_lost" if held.done() else "run_timeout")
        finally:
            for task in (program, held):
                task.cancel()
            await asyncio.gather(program, held, return_exceptions=True)

    async def _hold(self, tenant: int, run_id: str) -> None:
        """Renews the lease until it is lost; a ledger that is away for a moment loses nothing yet."""
        while True:
            await asyncio.sleep(self.store.lease_s / 3)
            with suppress(Unavailable):
                if not await self.store.renew(tenant, run_id):
                    return

    async def _play(self, workflow: Workflow, tenant: int, run: Run, inputs: Mapping[str, Any]) -> Variables:
        if not self._has_outsider:
            await self.store.admit_outsider()
            self._has_outsider = True
        await self.store.tell(tenant, run.id, [("node.started", {"nodeId": NODE})])
        semantic = (await self.host()).semantic
        memory = LiveMemory(doors=self.doors, tenant=tenant, run=run.id, semantic=semantic)
        stage = Stage(
            memory_ref=own_ref(run.workflow_id, run.id),
            memory=self.seen_as(memory),
            foreign=LiveMemory(doors=self.doors, tenant=OUTSIDER),
            vault=CanaryVault(register=partial(self.registry.register, tenant, run.id)),
            inputs=inputs,
            now=now_ms,
            sleep=asyncio.sleep,
        )
        variables = await workflow.program(stage)
        told = await self.store.events(tenant, run.id)
        attributed = [event.payload["memoryId"] for event in told if event.type == "memory.written"]
        if sorted(attributed) != sorted(memory.written):
            raise failed("memory_attribution_missing")
        return variables


def new_run_id() -> str:
    """An id for a run."""
    return uuid7()
