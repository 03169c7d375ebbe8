"""One child process: how it is started, asked whether it is ready, and stopped."""

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

from foreword.embedded import launch
from foreword.embedded.account import Account
from foreword.embedded.folder import rotate

_LAUNCHER = (sys.executable, "-I", "-S", launch.__file__)


@dataclass(frozen=True, kw_only=True)
class Spec:
    """What a child is.

    ``stage``: children of a higher stage are stopped first. ``stop_signal``: what asks it to stop, and what
    Linux sends it when its supervisor dies. ``grace``: seconds it is given before SIGKILL. ``hold``: a folder
    the command finds at ``launch.HELD``. ``prepare`` runs before every start; ``probe`` tells whether it
    serves.
    """

    name: str
    command: tuple[str, ...]
    environment: Mapping[str, str]
    log: Path
    record: Path | None
    stage: int
    stop_signal: signal.Signals = signal.SIGTERM
    grace: float = 10.0
    account: Account | None = None
    hold: Path | None = None
    prepare: Callable[[], None] = lambda: None
    probe: Callable[[], bool] = lambda: True

    @property
    def role(self) -> str:
        """The name without its number: ``worker`` of ``worker-2``."""
        return self.name.partition("-")[0]

    def launcher(self) -> list[str]:
        """The command line that becomes the command."""
        plan = {
            "name": self.name,
            "record": str(self.record) if self.record else None,
            "hold": str(self.hold) if self.hold else None,
            "account": (self.account.uid, self.account.gid) if self.account else None,
            "parent": os.getpid(),
            "signal": int(self.stop_signal),
        }
        return [*_LAUNCHER, json.dumps(plan), *self.command]


class Child:
    """The process of a spec, or the last one it had."""

    def __init__(self, spec: Spec) -> None:
        self.spec = spec
        self.ready = False
        self.started_at = 0.0
        self._process: subprocess.Popen[bytes] | None = None

    @property
    def pid(self) -> int | None:
        return self._process.pid if self._process else None

    def start(self) -> None:
        """Starts it; output goes to its log, and a terminal's Ctrl-C does not reach it."""
        self.ready = False
        self.started_at = time.monotonic()
        self.spec.prepare()
        rotate(self.spec.log)
        descriptor = os.open(self.spec.log, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
        with os.fdopen(descriptor, "wb") as log:
            self._process = subprocess.Popen(
                self.spec.launcher(),
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=subprocess.STDOUT,
                env=dict(self.spec.environment),
                start_new_session=True,
            )

    def alive(self) -> bool:
        return self._process is not None and self._process.poll() is None

    def check_ready(self) -> bool:
        """Whether it serves; once yes, it stays so until it dies."""
        self.ready = self.alive() and (self.ready or self.spec.probe())
        return self.ready

    def ask_to_stop(self) -> None:
        if self._process is not None and self.alive():
            self._process.send_signal(self.spec.stop_signal)

    def wait_stopped(self, deadline: float) -> bool:
        """Returns once it is gone; False if it had to be killed, with what it started, at ``deadline``.

        The deadline is in monotonic seconds.
        """
        if self._process is None:
            return True
        try:
            self._process.wait(max(0.0, deadline - time.monotonic()))
            obeyed = True
        except subprocess.TimeoutExpired:
            obeyed = False
            os.killpg(self._process.pid, signal.SIGKILL)
            self._process.wait()
        if self.spec.record:
            self.spec.record.unlink(missing_ok=True)
        return obeyed

    def stop(self) -> None:
        self.ask_to_stop()
        self.wait_stopped(time.monotonic() + self.spec.grace)

    def last_words(self, lines: int = 5) -> str:
        """The end of its log, for a person."""
        if not self.spec.log.exists():
            return ""
        return "\n".join(self.spec.log.read_text(encoding="utf-8", errors="replace").splitlines()[-lines:])
