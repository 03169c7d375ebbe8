"""Entry point: ``celery -A worker.celery worker``. The only module here with an import effect."""

import logging
from functools import cache
from typing import Any

from celery import Celery, signals

from foreword.settings import load
from foreword.wake import EMBED_QUEUE, TaskName, celery_app
from worker.bootstrap import build, build_embedding
from worker.embed import EmbedParts
from worker.intake.tasks import register
from worker.parts import Parts
from worker.settings import WorkerSettings


def make_app(settings: WorkerSettings) -> Celery:
    """The worker's app and what beat sends it."""
    made = celery_app(
        "foreword",
        settings.broker_url.get_secret_value(),
        visibility_timeout=settings.broker_visibility_timeout,
    )
    made.conf.update(
        task_acks_late=True,
        worker_prefetch_multiplier=1,
        worker_hijack_root_logger=False,
        worker_redirect_stdouts=False,
        beat_schedule={
            "sweep": _beat("foreword.sweep", settings.sweep_seconds),
            "expire": _beat("foreword.expire", settings.expire_seconds),
            "embed": _beat("foreword.embed", settings.embed_seconds),
        },
    )
    return made


def _beat(task: TaskName, seconds: float) -> dict[str, object]:
    """Beat's messages lapse when the next is due, so that they do not pile up while workers are away."""
    return {
        "task": task,
        "schedule": seconds,
        "options": {"expires": max(seconds, 1.0), "argsrepr": "()", "kwargsrepr": "{}"},
    }


settings = load(WorkerSettings)
logging.basicConfig(level=settings.log_level, format="%(asctime)s %(levelname)s %(name)s %(message)s")
app = make_app(settings)


@cache
def parts() -> Parts:
    """This process's parts, opened when they are first needed."""
    return build(settings)


@cache
def embed_parts() -> EmbedParts | None:
    """The embedding process's parts; only that process loads a model."""
    return build_embedding(settings)


register(app, parts, embed_parts)


@signals.celeryd_after_setup.connect  # type: ignore[untyped-decorator]
def _open_parts(instance: Any, **_: object) -> None:
    if EMBED_QUEUE in instance.app.amqp.queues.consume_from:
        embed_parts()
    else:
        parts()
