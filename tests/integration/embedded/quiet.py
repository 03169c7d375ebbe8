"""Signals for a supervisor that a test drives: no stop is ever asked, waiting is a short sleep."""

import time

from foreword.embedded.signals import StopSignals


class NeverAsked(StopSignals):
    """Not installed: pytest keeps its Ctrl-C."""

    def wait(self, seconds: float) -> None:
        time.sleep(min(seconds, 0.05))
