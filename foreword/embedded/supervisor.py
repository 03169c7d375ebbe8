"""The supervisor: starts children and waits for them, restarts those that die, stops all in order."""

import contextlib
import itertools
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from foreword.embedded.child import Child, Spec
from foreword.embedded.signals import StopSignals
from foreword.errors import Unavailable

_BACKOFF_S = (0.1, 0.2, 0.5, 1.0, 2.0, 5.0, 10.0)
_STEADY_S = 5.0
_DEATHS_BEFORE_GIVING_UP = 5
_START_LIMIT_S = 180.0
_TICK_S = 0.05
_IDLE_S = 0.5


@dataclass
class _Watched:
    """A child, how often it died in a row, when it is started again (monotonic seconds; None: it runs)."""

    child: Child
    deaths: int = 0
    due: float | None = None
    was_ready: bool = False

    def bury(self, now: float) -> float:
        """Counts a death; returns the seconds until the next start."""
        if now - self.child.started_at > _STEADY_S:
            self.deaths = 0
        delay = _BACKOFF_S[min(self.deaths, len(_BACKOFF_S) - 1)]
        self.deaths += 1
        self.due = now + delay
        self.was_ready = False
        return delay


@dataclass
class Supervisor:
    """Watches children until a stop is asked.

    ``output`` is told of deaths and returns; ``changed`` is called whenever a restarted child serves again,
    and once more in the next round when it fails with OSError: a full disk stops no supervision.
    """

    signals: StopSignals
    output: Callable[[str], None]
    changed: Callable[[], None] = lambda: None
    _watched: list[_Watched] = field(default_factory=list)
    _untold: bool = False

    def pids(self) -> dict[str, list[int]]:
        """Pids by role, in the order of the names."""
        found: dict[str, list[int]] = {}
        for watched in self._watched:
            if watched.child.pid is not None:
                found.setdefault(watched.child.spec.role, []).append(watched.child.pid)
        return found

    def start(self, specs: Sequence[Spec]) -> bool:
        """Starts them at the same time and waits until all serve; False when a stop was asked meanwhile.

        Raises Unavailable, with the end of its log, for a child that dies five times in a row or does not
        serve within three minutes.
        """
        fresh = [_Watched(Child(spec), due=0.0) for spec in specs]
        self._watched += fresh
        deadline = time.monotonic() + _START_LIMIT_S
        while not self.signals.asked:
            self.look_after()
            waiting = [watched for watched in fresh if not watched.was_ready]
            if not waiting:
                return True
            for watched in waiting:
                if watched.deaths >= _DEATHS_BEFORE_GIVING_UP or time.monotonic() > deadline:
                    raise Unavailable(_obituary(watched.child))
            self.signals.wait(_TICK_S)
        return False

    def watch(self) -> None:
        """Looks after the children until a stop is asked."""
        while not self.signals.asked:
            settled = self.look_after()
            self.signals.wait(_IDLE_S if settled else _TICK_S)

    def stop(self) -> None:
        """Stops the highest stage first and each stage at once; a child past its grace is killed."""
        living = sorted(self._watched, key=lambda watched: -watched.child.spec.stage)
        for _, stage in itertools.groupby(living, key=lambda watched: watched.child.spec.stage):
            children = [watched.child for watched in stage]
            for child in children:
                child.ask_to_stop()
            now = time.monotonic()
            for child in children:
                if not child.wait_stopped(now + child.spec.grace):
                    self._say(f"{child.spec.name} did not stop in {child.spec.grace:g} s and was killed.")
        self._watched.clear()

    def look_after(self) -> bool:
        """One round; True when every child serves."""
        before = [watched.child.pid for watched in self._watched if watched.was_ready]
        for watched in self._watched:
            self._look_after_one(watched)
        ready = [watched.child.pid for watched in self._watched if watched.was_ready]
        self._untold = self._untold or bool(set(ready) - set(before))
        if self._untold:
            with contextlib.suppress(OSError):
                self.changed()
                self._untold = False
        return len(ready) == len(self._watched) and not self._untold

    def _start(self, watched: _Watched) -> None:
        try:
            watched.child.start()
        except OSError as error:
            delay = watched.bury(time.monotonic())
            name = watched.child.spec.name
            self._say(f"{name} cannot be started ({error.strerror}); it is tried again in {delay:g} s.")

    def _say(self, line: str) -> None:
        """What nobody can be told, because the terminal is a file on a full disk, is not said."""
        with contextlib.suppress(OSError):
            self.output(line)

    def _look_after_one(self, watched: _Watched) -> None:
        now = time.monotonic()
        child = watched.child
        if watched.due is not None:
            if now >= watched.due:
                watched.due = None
                self._start(watched)
        elif not child.alive():
            delay = watched.bury(now)
            self._say(f"{child.spec.name} died; it is started again in {delay:g} s.")
        elif not watched.was_ready and child.check_ready():
            watched.was_ready = True
            if watched.deaths:
                self._say(f"{child.spec.name} is back.")


def _obituary(child: Child) -> str:
    return f"{child.spec.name} did not start; its log is {child.spec.log} and ends:\n{child.last_words()}"
