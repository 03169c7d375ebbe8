"""The supervisor over small processes of the tests' own."""

import os
import signal
import sys
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from foreword.embedded.child import Spec
from foreword.embedded.signals import StopSignals
from foreword.embedded.supervisor import Supervisor
from foreword.errors import Unavailable
from tests.integration.embedded.quiet import NeverAsked
from tests.services import eventually

_OBEDIENT = """
import pathlib, signal, sys, time
def stop(*_):
    pathlib.Path(sys.argv[1]).open("a").write(sys.argv[2] + "\\n")
    sys.exit()
signal.signal(signal.SIGTERM, stop)
print("up", flush=True)
while True:
    time.sleep(1)
"""
_DEAF = """
import signal, time
signal.signal(signal.SIGTERM, signal.SIG_IGN)
print("up", flush=True)
time.sleep(600)
"""
_DYING = "import sys; sys.exit('cannot find my keys')"

Build = Callable[..., Spec]


@pytest.fixture
def spec(tmp_path: Path) -> Build:
    """Builds a spec that runs a line of Python; it serves once it printed ``up``."""

    def build(name: str, code: str, *, stage: int = 0, grace: float = 30.0) -> Spec:
        log = tmp_path / f"{name}.log"
        return Spec(
            name=name,
            command=(sys.executable, "-S", "-c", code, str(tmp_path / "stopped"), name),
            environment={},
            log=log,
            record=tmp_path / f"{name}.pid.json",
            stage=stage,
            grace=grace,
            prepare=lambda: log.unlink(missing_ok=True),
            probe=lambda: log.exists() and "up" in log.read_text(),
        )

    return build


@pytest.fixture
def said() -> list[str]:
    """What the supervisor told a person."""
    return []


@pytest.fixture
def supervisor(said: list[str]) -> Iterator[Supervisor]:
    """A supervisor whose children are gone after the test."""
    supervisor = Supervisor(NeverAsked(), said.append)
    yield supervisor
    supervisor.stop()


def test_a_killed_child_is_started_again(supervisor: Supervisor, spec: Build, said: list[str]) -> None:
    """After kill -9 a child serves again under a new pid, and this is told and published once."""
    supervisor.start([spec("calm", _OBEDIENT), spec("other", _OBEDIENT)])
    published: list[dict[str, list[int]]] = []
    supervisor.changed = lambda: published.append(supervisor.pids())
    before = supervisor.pids()
    os.kill(before["calm"][0], signal.SIGKILL)
    eventually(lambda: supervisor.look_after() and published, "the child is back")
    assert published == [supervisor.pids()]
    assert supervisor.pids()["calm"] != before["calm"]
    assert supervisor.pids()["other"] == before["other"]
    assert said == ["calm died; it is started again in 0.1 s.", "calm is back."]


def test_a_child_that_keeps_dying_is_given_more_and_more_time(
    supervisor: Supervisor, spec: Build, said: list[str]
) -> None:
    """Starts of a child that dies at once are spaced out, and a start that never works is given up."""
    began = time.monotonic()
    with pytest.raises(Unavailable, match=r"(?s)lost did not start.*cannot find my keys"):
        supervisor.start([spec("lost", _DYING)])
    assert time.monotonic() - began > 0.1 + 0.2 + 0.5 + 1.0
    assert [line.split()[-2] for line in said] == ["0.1", "0.2", "0.5", "1", "2"]


def test_stages_stop_one_after_the_other_from_the_top(
    supervisor: Supervisor, spec: Build, tmp_path: Path
) -> None:
    """No child of a lower stage is asked to stop before every child of a higher stage is gone."""
    supervisor.start(
        [spec("low", _OBEDIENT, stage=0), spec("high", _OBEDIENT, stage=2), spec("mid", _OBEDIENT, stage=1)]
    )
    supervisor.stop()
    assert (tmp_path / "stopped").read_text().split() == ["high", "mid", "low"]
    assert not list(tmp_path.glob("*.pid.json"))


def test_a_child_that_does_not_stop_is_killed_after_its_grace(
    supervisor: Supervisor, spec: Build, said: list[str]
) -> None:
    """A deaf child holds up a stop for its grace and no longer, and this is told."""
    supervisor.start([spec("deaf", _DEAF, grace=0.3)])
    [pid] = supervisor.pids()["deaf"]
    supervisor.stop()
    with pytest.raises(ProcessLookupError):
        os.kill(pid, 0)
    assert said == ["deaf did not stop in 0.3 s and was killed."]


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_a_signal_ends_the_watch_at_once(spec: Build, number: signal.Signals) -> None:
    """Ctrl-C, SIGTERM and a closed terminal end ``watch``; the handlers of before are back afterwards."""
    before = signal.getsignal(number)
    with StopSignals() as signals:
        supervisor = Supervisor(signals, lambda line: None)
        assert supervisor.start([spec("calm", _OBEDIENT)])
        timer = threading.Timer(0.2, os.kill, (os.getpid(), number))
        timer.start()
        supervisor.watch()
        supervisor.stop()
        timer.join()
    assert signal.getsignal(number) is before


def test_a_stop_asked_while_starting_is_obeyed(spec: Build) -> None:
    """A start that waits for a child to serve ends when a stop is asked."""
    with StopSignals() as signals:
        supervisor = Supervisor(signals, lambda line: None)
        timer = threading.Timer(0.3, os.kill, (os.getpid(), signal.SIGTERM))
        timer.start()
        assert not supervisor.start([spec("mute", "import time; time.sleep(600)")])
        supervisor.stop()
        timer.join()
