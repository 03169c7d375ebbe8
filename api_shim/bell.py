"""The bell: tells workers that there is work, from a thread of its own.

Celery is loaded when the bell is first rung, so that a shim that only reads never loads it. Rings for the
same work within a moment become one message; a ring that cannot be sent is forgotten, since beat sweeps.
"""

import logging
import threading
import time
from typing import Any

from foreword.scope import Scope

log = logging.getLogger(__name__)

Work = tuple[str, tuple[object, ...]]


class Bell:
    """Sends each ring at once when it is quiet, and at most every ``pause`` seconds when it is not."""

    def __init__(self, broker_url: str, *, pause: float = 0.01, forget: float = 1.0) -> None:
        self._broker_url = broker_url
        self._pause = pause
        self._forget = forget
        self._waiting: dict[Work, None] = {}
        self._asked: dict[Scope, float] = {}
        self._changed = threading.Condition()
        self._thread: threading.Thread | None = None
        self._stopped = False

    def drafts(self, tenant: int) -> None:
        """There are Drafts of this tenant in the inbox."""
        self._ring(("foreword.drain", (tenant,)))

    def jobs(self, tenant: int) -> None:
        """There is a job of this tenant."""
        self._ring(("foreword.jobs", (tenant,)))

    def cold(self, scope: Scope) -> None:
        """A read met a cold scope; asked at most once a second a scope."""
        now = time.monotonic()
        if now - self._asked.get(scope, -self._forget) < self._forget:
            return
        if len(self._asked) > 10_000:
            self._asked = {s: at for s, at in self._asked.items() if now - at < self._forget}
        self._asked[scope] = now
        self._ring(("foreword.rebuild", (scope.tenant, scope.memory_ref)))

    def close(self) -> None:
        """Sends what waits and stops."""
        with self._changed:
            self._stopped = True
            self._changed.notify()
        if self._thread is not None:
            self._thread.join(timeout=5)

    def _ring(self, work: Work) -> None:
        with self._changed:
            if self._thread is None:
                self._thread = threading.Thread(target=self._run, name="bell", daemon=True)
                self._thread.start()
            self._waiting[work] = None
            self._changed.notify()

    def _run(self) -> None:
        from foreword.wake import celery_app, send  # noqa: PLC0415 - a shim that only reads loads no Celery

        app: Any = celery_app("foreword shim", self._broker_url)
        while True:
            with self._changed:
                while not self._waiting and not self._stopped:
                    self._changed.wait()
                if not self._waiting:
                    return
                waiting, self._waiting = self._waiting, {}
            for task, args in waiting:
                try:
                    send(app, task, args)  # type: ignore[arg-type]
                except Exception as error:  # noqa: BLE001 - a bell that breaks must not stop ringing
                    log.warning("a wake-up was not sent: %s", type(error).__name__)
            time.sleep(self._pause)
