"""Celery shells: a name, a queue, one call each. Messages carry ids and sealed bytes, never text."""

import logging
from collections.abc import Callable

from celery import Celery, Task

from foreword.errors import ForewordError, Unavailable
from foreword.scope import Scope
from foreword.wake import QUEUE, TaskName
from worker.intake.accept import accept
from worker.parts import Parts
from worker.stores.rebuild import rebuild
from worker.upkeep.expire import expire
from worker.upkeep.jobs import run_jobs
from worker.upkeep.sweep import sweep
from worker.write import drain

log = logging.getLogger(__name__)

_PATIENCE = 5
"""Seconds before a message whose work needs a part that is away is tried again."""


def register(app: Celery, parts: Callable[[], Parts]) -> None:
    """Gives the app its tasks. ``parts`` is called when a task runs, in the process that runs it."""

    def shell(name: TaskName, *, retry: bool = False) -> Callable[[Callable[..., object]], None]:
        def wrap(body: Callable[..., object]) -> None:
            @app.task(name=name, bind=True, queue=QUEUE, max_retries=None, acks_late=True, ignore_result=True)
            def run(task: Task, *args: object) -> None:
                try:
                    body(*args)
                except Unavailable as error:
                    log.warning("%s waits: %s", name, error.message)
                    if retry:
                        raise task.retry(countdown=_PATIENCE, exc=None) from None
                except Exception as error:  # noqa: BLE001 - the rim: nothing of a message reaches a log
                    told = error.message if isinstance(error, ForewordError) else type(error).__name__
                    log.error("%s failed: %s", name, told)

        return wrap

    @shell("foreword.drain")
    def _drain(tenant: int) -> None:
        drain(tenant, parts())

    @shell("foreword.accept", retry=True)
    def _accept(sealed: str) -> None:
        tenant = accept(sealed, parts())
        if tenant is not None:
            parts().wake("foreword.drain", (tenant,))

    @shell("foreword.sweep")
    def _sweep() -> None:
        sweep(parts())

    @shell("foreword.expire")
    def _expire() -> None:
        expire(parts())

    @shell("foreword.jobs")
    def _jobs(tenant: int) -> None:
        run_jobs(tenant, parts())

    @shell("foreword.rebuild")
    def _rebuild(tenant: int, memory_ref: str) -> None:
        scope = Scope(tenant, memory_ref)
        if not parts().hot_view.is_warm(scope):
            rebuild(scope, parts().ledger, parts().hot_view)
