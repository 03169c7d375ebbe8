"""Wake-ups: the names of the tasks a worker knows, and how a message is sent to it.

A wake-up is a hint. Whatever it announces is already committed in the ledger, so a lost, repeated or
reordered one loses nothing; beat finds what none announced.
"""

from typing import Any, Final, Literal

from celery import Celery

from foreword.keys import BROKER_PREFIX

QUEUE: Final = "foreword.drain"
EMBED_QUEUE: Final = "foreword.embed"
"""Its own queue and process, so that an embedder that hangs stops no write."""

TaskName = Literal[
    "foreword.accept",
    "foreword.drain",
    "foreword.embed",
    "foreword.expire",
    "foreword.jobs",
    "foreword.rebuild",
    "foreword.sweep",
]


def celery_app(name: str, broker_url: str, *, visibility_timeout: int | None = None) -> Celery:
    """A Celery app on this broker that keeps no results and writes no arguments down."""
    app = Celery(name, broker=broker_url, set_as_current=False)
    options: dict[str, Any] = {}
    if broker_url.startswith(("redis", "rediss", "sentinel")):
        options = {
            "global_keyprefix": BROKER_PREFIX,
            "socket_timeout": 30,
            "socket_connect_timeout": 3,
            "unacked_restore_throttle": 1,  # what a dead worker held is looked for every 10 s, not 100
            "unacked_mutex_expire": 30,
        }
        if visibility_timeout is not None:
            options["visibility_timeout"] = visibility_timeout
    app.conf.update(
        broker_read_url=broker_url,  # else a CELERY_BROKER_URL in the environment would win
        broker_write_url=broker_url,
        broker_transport_options=options,
        broker_connection_retry_on_startup=True,
        task_ignore_result=True,
        task_default_queue=QUEUE,
        task_serializer="json",
        accept_content=["json"],
        task_send_sent_event=False,
        worker_send_task_events=False,
    )
    return app


def send(app: Celery, task: TaskName, args: tuple[object, ...], *, expires: float | None = None) -> None:
    """Sends one wake-up; kombu's errors when the broker is away."""
    app.send_task(
        task,
        args=args,
        queue=EMBED_QUEUE if task == "foreword.embed" else QUEUE,
        ignore_result=True,
        expires=expires,
        argsrepr="(...)",
        kwargsrepr="{}",
        retry=False,
    )
