"""Writers that stop where a test wants them to, so that any interleaving and any crash can be played.

The code that runs is the product's own; only its parts wait at a gate.
"""

import asyncio
import queue
import threading
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any

from foreword.scope import Scope
from tests.integration.rig import Rig
from worker.parts import Parts
from worker.stores.hot_view import HotView, Opening
from worker.stores.ledger import View
from worker.write import drain

_PATIENCE = 60


class Crash(BaseException):
    """The process died here."""


class _Gate:
    """Where a writer waits for its turn."""

    def __init__(self) -> None:
        self.reached: queue.Queue[str] = queue.Queue()
        self.turns: queue.Queue[bool] = queue.Queue()

    def stop(self, stage: str) -> None:
        self.reached.put(stage)
        if not self.turns.get(timeout=_PATIENCE):
            raise Crash


class _GatedView:
    """A hot view behind a gate, of a worker that rebuilds nothing: a test does that when it wants to.

    ``run_id`` replaces what an opening remembers: the server restarted.
    """

    def __init__(self, view: HotView, gate: _Gate) -> None:
        self._view = view
        self._gate = gate
        self.run_id: str | None = None

    def open(self, scopes: Iterable[Scope]) -> Opening:
        opening = self._view.open(scopes)
        self._gate.stop("opened")
        return opening

    def show(self, opening: Opening, views: Sequence[View]) -> list[Scope]:
        self._gate.stop("committed")
        self._view.show(replace(opening, run_id=self.run_id or opening.run_id), views)
        return []


class _GatedRedactors:
    """Redactors behind a gate: the Drafts are claimed, nothing else has happened."""

    def __init__(self, get: Callable[..., Any], gate: _Gate) -> None:
        self._get = get
        self._gate = gate

    def get(self, *arguments: Any) -> Any:
        self._gate.stop("claimed")
        return self._get(*arguments)


class Drain:
    """One drain of a tenant: ``claimed`` -> ``opened`` -> ``committed`` -> ``done``."""

    def __init__(self, tenant: int, parts: Parts) -> None:
        self._gate = _Gate()
        self._view = _GatedView(parts.hot_view, self._gate)
        self._parts = replace(
            parts,
            hot_view=self._view,  # type: ignore[arg-type]
            redactors=_GatedRedactors(parts.redactors.get, self._gate),  # type: ignore[arg-type]
        )
        self._error: BaseException | None = None
        self._thread = threading.Thread(target=self._run, args=(tenant,), daemon=True)
        self._thread.start()
        self.stage = self._wait()

    def step(self) -> str:
        """Goes on to the next stage."""
        return self._turn(True)

    def crash(self) -> None:
        """Dies where it stands."""
        self._turn(False)
        assert self.stage == "done"

    def meet_restart(self) -> None:
        """The server it opened its scopes on is not the one that runs now."""
        self._view.run_id = "e" * 40

    def _turn(self, go: bool) -> str:
        self._gate.turns.put(go)
        self.stage = self._wait()
        return self.stage

    def _wait(self) -> str:
        stage = self._gate.reached.get(timeout=_PATIENCE)
        if stage == "done":
            self._thread.join(_PATIENCE)
            if self._error is not None:
                raise self._error
        return stage

    def _run(self, tenant: int) -> None:
        try:
            drain(tenant, self._parts)
        except Crash:
            pass
        except BaseException as error:  # noqa: BLE001 - told in the thread of the test
            self._error = error
        finally:
            self._gate.reached.put("done")


@dataclass
class _GatedReadingView:
    """The shim's hot view behind a gate."""

    view: Any
    removal: "Removal"

    async def open(self, scope: Scope, token: str) -> None:
        await self.view.open(scope, token)
        await self.removal.stop("opened")

    async def void(self, scope: Scope) -> None:
        await self.removal.stop("committed")
        await self.view.void(scope)


class Removal:
    """One removal of an entry: ``opened`` -> ``committed`` -> ``done``."""

    def __init__(self, rig: Rig, scope: Scope, entry_id: str) -> None:
        self._rig = rig
        self._reached: asyncio.Queue[str] = asyncio.Queue()
        self._turns: asyncio.Queue[bool] = asyncio.Queue()
        remover = replace(rig.remover, hot_view=_GatedReadingView(rig.reading, self))  # type: ignore[arg-type]

        async def begin() -> str:
            self._task = asyncio.create_task(remover.remove(scope, entry_id))
            return await self._next()

        self.stage = rig.run(begin())

    async def stop(self, stage: str) -> None:
        """Called where it waits."""
        await self._reached.put(stage)
        if not await self._turns.get():
            raise asyncio.CancelledError

    def step(self) -> str:
        """Goes on to the next stage."""

        async def go() -> str:
            await self._turns.put(True)
            return await self._next()

        self.stage = self._rig.run(go())
        return self.stage

    def crash(self) -> None:
        """Dies where it stands."""

        async def die() -> None:
            await self._turns.put(False)
            await asyncio.wait([self._task])

        self._rig.run(die())
        self.stage = "done"

    async def _next(self) -> str:
        reached = asyncio.create_task(self._reached.get())
        await asyncio.wait([reached, self._task], return_when=asyncio.FIRST_COMPLETED)
        if reached.done():
            return reached.result()
        reached.cancel()
        await self._task
        return "done"
