"""The hand-off: a Python runtime puts a Draft straight on the queue, without HTTP and without worker code.

The Draft and the API key are sealed together to the worker's public key, so that neither a broker nor its
disk, logs and monitors ever hold them in the clear. The worker authenticates the key before the inbox. Until
then the message is as durable as its broker. Install with ``pip install 'foreword[enqueue]'``.
"""

import base64
import json
import os
from collections.abc import Mapping
from functools import cache
from typing import Any
from urllib.parse import urlsplit

from celery import Celery
from kombu.exceptions import OperationalError

from foreword import instant, running
from foreword.draft import parse_draft
from foreword.errors import ConfigurationError, Unavailable, ValidationError
from foreword.ids import uuid7
from foreword.seal import Sealer
from foreword.wake import QUEUE, TaskName, celery_app

_TASK: TaskName = "foreword.accept"
_INSTEAD_OF_ARGUMENTS = "(sealed)"
_RETRIES = {"max_retries": 2, "interval_start": 0.1, "interval_step": 0.3, "interval_max": 1.0}
_REDIS_SCHEMES = ("redis", "rediss", "redis+socket", "sentinel")
_AMQP_SCHEMES = ("amqp", "amqps", "pyamqp")


def enqueue(
    draft: Mapping[str, Any],
    *,
    api_key: str | None = None,
    broker_url: str | None = None,
    seal_key: str | None = None,
) -> str:
    """Queue one Draft, in the contract's names (``memoryRef``, ``content`` ...); returns the entry's id.

    ``api_key``, ``broker_url`` and ``seal_key`` fall back to ``FOREWORD_API_KEY``, ``FOREWORD_BROKER_URL``
    and ``FOREWORD_SEAL_PUBLIC_KEY``, then to a ``foreword up`` that runs on this machine. The id is made here
    when the Draft has none; one Draft under one id is filed once, however often it is queued.

    Raises ValidationError for a Draft no worker would take, ConfigurationError when something is missing, and
    Unavailable when the broker does not answer.
    """
    key, broker, seal = _settings(api_key, broker_url, seal_key)
    identified = {**draft, "id": draft.get("id") or uuid7()}
    payload = _payload(key, identified)
    parse_draft(json.loads(payload)["draft"], now=instant.now_ms())
    _send(broker, base64.b64encode(Sealer(seal).seal(payload)).decode("ascii"))
    return str(identified["id"])


def _settings(api_key: str | None, broker_url: str | None, seal_key: str | None) -> tuple[str, str, str]:
    key = api_key or os.environ.get("FOREWORD_API_KEY")
    broker = broker_url or os.environ.get("FOREWORD_BROKER_URL")
    seal = seal_key or os.environ.get("FOREWORD_SEAL_PUBLIC_KEY")
    if not (key and broker and seal):
        here = running.find()
        if here is not None and (not broker or broker == here.broker_url):
            key, broker, seal = key or here.api_key, here.broker_url, seal or here.seal_key
    missing = [
        name
        for name, value in (
            ("FOREWORD_API_KEY", key),
            ("FOREWORD_BROKER_URL", broker),
            ("FOREWORD_SEAL_PUBLIC_KEY", seal),
        )
        if not value
    ]
    if not (key and broker and seal):
        raise ConfigurationError(f"Set {', '.join(missing)}, or start a server with 'foreword up'.")
    return key, broker, seal


def _payload(api_key: str, draft: Mapping[str, Any]) -> bytes:
    try:
        return json.dumps({"apiKey": api_key, "draft": draft}, allow_nan=False).encode("ascii")
    except (TypeError, ValueError) as error:
        raise ValidationError.of("body", "must be JSON") from error


def _send(broker: str, sealed: str) -> None:
    try:
        _app(broker, os.getpid()).send_task(
            _TASK,
            args=[sealed],
            queue=QUEUE,
            ignore_result=True,
            argsrepr=_INSTEAD_OF_ARGUMENTS,
            kwargsrepr=_INSTEAD_OF_ARGUMENTS,
            retry=True,
            retry_policy=_RETRIES,
        )
    except (OperationalError, OSError) as error:
        raise Unavailable("The broker did not take the Draft.") from error


@cache
def _app(broker: str, _process: int) -> Celery:
    """One app a broker and process: an AMQP connection does not survive a fork."""
    scheme = urlsplit(broker).scheme
    if scheme not in _REDIS_SCHEMES + _AMQP_SCHEMES:
        raise ConfigurationError(f"A broker URL starts with {', '.join(_REDIS_SCHEMES + _AMQP_SCHEMES)}.")
    app = celery_app("foreword-runtime", broker)
    ours = {"socket_timeout": 5.0} if scheme in _REDIS_SCHEMES else {"confirm_publish": True}
    app.conf.update(
        broker_write_url=broker,  # else CELERY_BROKER_URL, which may be the runtime's own, would win
        broker_transport_options=app.conf.broker_transport_options | ours,
        broker_connection_timeout=3.0,
    )
    return app
