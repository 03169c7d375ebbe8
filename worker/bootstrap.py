"""Builds the real parts from settings, once per process."""

import redis

from foreword.counters import COUNTERS, counter
from foreword.errors import ConfigurationError
from foreword.seal import Opener, Sealer, public_key
from worker.embed import EmbedParts, register
from worker.parts import Parts
from worker.settings import WorkerSettings
from worker.steps.redaction import Redactor
from worker.steps.redactors import Redactors
from worker.stores.hot_view import HotView
from worker.stores.ledger import Ledger, open_pool


def build_embedding(settings: WorkerSettings) -> EmbedParts | None:
    """What the embedding process stands on; None when there is no embedder."""
    embedder = settings.make_embedder()
    if embedder is None:
        return None
    ledger = Ledger(open_pool(settings.database_url.get_secret_value(), size=2))
    return register(ledger, embedder, settings.exact_rows)


def build(settings: WorkerSettings) -> Parts:
    """Opens what a worker stands on; refuses to start without opening keys or exact counters."""
    keys = [key for key in settings.seal_keys.get_secret_value().split(",") if key.strip()]
    if not keys:
        raise ConfigurationError("FOREWORD_SEAL_KEYS is empty: without an opening key no Draft can be filed.")
    for name in COUNTERS:
        counter(name)
    Redactor()
    opener = Opener.of(keys)
    client = redis.Redis.from_url(
        settings.redis_url.get_secret_value(), socket_timeout=5, socket_connect_timeout=5
    )
    return Parts(
        ledger=Ledger(open_pool(settings.database_url.get_secret_value(), size=4)),
        hot_view=HotView(client, max_rows=settings.window_entries, max_tokens=settings.window_tokens),
        opener=opener,
        sealer=Sealer(public_key(keys[0])),
        redactors=Redactors(opener),
        digest_key=settings.digest_key.get_secret_value().encode(),
        limits=settings.limits(),
        batch=settings.batch,
        receipt_days=settings.receipt_days,
        event_days=settings.event_days,
    )
