"""Stop signals: Ctrl-C, SIGTERM and a closed terminal become a flag, and they wake whoever waits."""

import os
import select
import signal
from types import FrameType, TracebackType
from typing import Any, Self

_STOPPING = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


class StopSignals:
    """Installed while the block runs; what was installed before comes back. Main thread only."""

    def __init__(self) -> None:
        self.asked = False
        self._before: dict[int, Any] = {}
        self._wakeup_before = -1
        self._read, self._write = -1, -1

    def __enter__(self) -> Self:
        self._read, self._write = os.pipe()
        os.set_blocking(self._read, False)
        os.set_blocking(self._write, False)
        self._wakeup_before = signal.set_wakeup_fd(self._write, warn_on_full_buffer=False)
        for number in _STOPPING:
            if signal.getsignal(number) != signal.SIG_IGN or number == signal.SIGTERM:
                self._before[number] = signal.signal(number, self._ask)
        self._before[signal.SIGCHLD] = signal.signal(signal.SIGCHLD, self._wake)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None
    ) -> None:
        for number, handler in self._before.items():
            signal.signal(number, handler)
        signal.set_wakeup_fd(self._wakeup_before)
        os.close(self._read)
        os.close(self._write)

    def wait(self, seconds: float) -> None:
        """Returns after that long, or at once when a stop is asked or a child changes."""
        if select.select([self._read], [], [], seconds)[0]:
            os.read(self._read, 4096)

    def _ask(self, _number: int, _frame: FrameType | None) -> None:
        self.asked = True

    def _wake(self, _number: int, _frame: FrameType | None) -> None:
        """The byte in the pipe is all that is needed."""
