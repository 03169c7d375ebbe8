"""Celery shells: a name, a queue, one call each. Messages carry ids and sealed bytes, never text."""

import logging
from collections.abc import Callable

from celery import Celery, Task

from foreword.errors import ForewordError, Unavailable
from foreword.scope import Scope
from foreword.wake import EMBED_QUEUE, QUEUE, TaskName, send
from worker.embed import EmbedParts, embed, embed_all
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

_STALE = 30.0
"""Seconds after which an embedding's wake-up is dropped: beat will have sent another."""

Body = Callable[..., object]


def register(app: Celery, parts: Callable[[], Parts], embed_parts: Callable[[], EmbedParts | None]) -> None:
    """Gives the app its tasks. ``parts`` are called when a task runs, in the process that runs it."""
    bodies: dict[TaskName, Body] = {
        "foreword.accept": lambda sealed: _accept(app, sealed, parts()),
        "foreword.drain": lambda tenant: _drain(app, tenant, parts()),
        "foreword.embed": lambda *tenants: _embed(tenants, embed_parts()),
        "foreword.expire": lambda: expire(parts()),
        "foreword.jobs": lambda tenant: _jobs(app, tenant, parts()),
        "foreword.rebuild": lambda tenant, memory_ref: _rebuild(Scope(tenant, memory_ref), parts()),
        "foreword.sweep": lambda: sweep(parts()),
    }
    for name, body in bodies.items():
        app.task(
            _shell(name, body),
            name=name,
            bind=True,
            queue=EMBED_QUEUE if name == "foreword.embed" else QUEUE,
            max_retries=None,
            acks_late=True,
            ignore_result=True,
        )


def _shell(name: TaskName, body: Body) -> Callable[..., None]:
    """The rim: whatever goes wrong, no word of a message reaches a log."""

    def run(task: Task, *args: object) -> None:
        try:
            body(*args)
        except Unavailable as error:
            log.warning("%s waits: %s", name, error.message)
            if name == "foreword.accept":  # the one message that is not only a hint
                raise task.retry(countdown=_PATIENCE) from None
        except Exception as error:  # noqa: BLE001
            told = error.message if isinstance(error, ForewordError) else type(error).__name__
            log.error("%s failed: %s", name, told)

    return run


def _accept(app: Celery, sealed: str, parts: Parts) -> None:
    tenant = accept(sealed, parts)
    if tenant is not None:
        _drain(app, tenant, parts)


def _drain(app: Celery, tenant: int, parts: Parts) -> None:
    if drain(tenant, parts):
        send(app, "foreword.embed", (tenant,), expires=_STALE)


def _jobs(app: Celery, tenant: int, parts: Parts) -> None:
    if run_jobs(tenant, parts):
        send(app, "foreword.embed", (tenant,), expires=_STALE)  # what was rewritten wants its vectors anew


def _embed(tenants: tuple[int, ...], parts: EmbedParts | None) -> None:
    if parts is None:
        return
    if not tenants:
        embed_all(parts)
    for tenant in tenants:
        embed(tenant, parts)


def _rebuild(scope: Scope, parts: Parts) -> None:
    now = parts.clock()
    if not parts.hot_view.is_warm(scope, now):
        rebuild(scope, parts.ledger, parts.hot_view, now)
