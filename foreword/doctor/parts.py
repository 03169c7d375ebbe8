"""The running parts: the HTTP server, the ledger, Redis, the broker, and the seal between them."""

import time
from collections.abc import Iterator
from urllib.parse import urlsplit

import httpx

from foreword import seal
from foreword.doctor.finding import Check, Finding, Place
from foreword.embedded.credentials import Credentials
from foreword.embedded.folder import Folder
from foreword.errors import ConfigurationError

TIMEOUT_S = 3
WORST_SKEW_S = 2.0


def product(place: Place) -> Iterator[Finding]:
    """Something serves here and says it is ready."""
    url = place.environment.get("FOREWORD_URL") or (place.here and place.here.url)
    if not url:
        yield Finding(
            check="product", state="problem", message="Nothing runs on this data folder.", mend="foreword up"
        )
        return
    try:
        status = httpx.get(f"{url.rstrip('/')}/readyz", timeout=TIMEOUT_S).status_code
    except (httpx.HTTPError, httpx.InvalidURL):
        status = None
    if status == httpx.codes.OK:
        yield Finding(check="product", state="ok", message=f"{url} is ready")
    elif status is None:
        yield Finding(
            check="product",
            state="problem",
            message=f"{url} does not answer.",
            mend="start it again: foreword up",
        )
    else:
        yield Finding(
            check="product",
            state="problem",
            message=f"{url} answers, but is not ready (status {status}).",
            mend=f"see which part is away below, and the logs in {place.data_dir / 'log'}",
        )


def ledger(place: Place) -> Iterator[Finding]:
    """The ledger answers, has this version's schema and a clock like ours."""
    if place.database_url is None:
        return
    import psycopg  # noqa: PLC0415

    from foreword.ledger.migrate import migrations  # noqa: PLC0415

    try:
        with psycopg.connect(place.database_url, connect_timeout=TIMEOUT_S) as conn:
            before = time.time()
            row = conn.execute("SELECT extract(epoch FROM clock_timestamp())::float8").fetchone()
            skew = abs(row[0] - (before + time.time()) / 2) if row else 0.0
            yield Finding(check="ledger", state="ok", message="PostgreSQL answers")
            yield _clock(skew)
            applied = {name for (name,) in conn.execute("SELECT name FROM migrations")}
            missing = [name for name in migrations() if name not in applied]
    except psycopg.errors.UndefinedTable:
        missing = ["all of it"]
    except psycopg.Error:
        yield Finding(
            check="ledger",
            state="problem",
            message="PostgreSQL does not answer, or not to this role.",
            mend=_start_or("FOREWORD_DATABASE_URL"),
        )
        return
    if missing:
        yield Finding(
            check="ledger",
            state="problem",
            message=f"The schema is behind: {', '.join(missing)}.",
            mend="foreword migrate",
        )


def redis(place: Place) -> Iterator[Finding]:
    """The hot view's server answers."""
    if place.redis_url is not None:
        yield _ping("redis", place.redis_url, "FOREWORD_REDIS_URL")


def broker(place: Place) -> Iterator[Finding]:
    """The broker takes a connection."""
    if place.broker_url is None:
        return
    if urlsplit(place.broker_url).scheme in ("redis", "rediss"):
        yield _ping("broker", place.broker_url, "FOREWORD_BROKER_URL")
        return
    from celery import Celery  # noqa: PLC0415
    from kombu.exceptions import OperationalError  # noqa: PLC0415

    try:
        app = Celery("foreword-doctor", broker=place.broker_url, set_as_current=False)
        with app.connection_for_write(place.broker_url, connect_timeout=TIMEOUT_S) as connection:
            connection.ensure_connection(max_retries=1, timeout=TIMEOUT_S)
    except (OperationalError, OSError, KeyError):
        yield _away("broker", "FOREWORD_BROKER_URL")
        return
    yield Finding(check="broker", state="ok", message="the broker answers")


def seal_keys(place: Place) -> Iterator[Finding]:
    """What runtimes seal to, a worker here can open."""
    public = place.environment.get("FOREWORD_SEAL_PUBLIC_KEY") or (place.here and place.here.seal_key)
    try:
        kept = Credentials.load(Folder(place.data_dir).credentials)
        given = place.environment.get("FOREWORD_SEAL_KEYS", "").split(",")
        opening = [key for key in (*given, *(kept.seal_keys if kept else ())) if key.strip()]
        opens = [seal.public_key(key) for key in opening]
    except (ConfigurationError, OSError) as error:
        message = (
            error.message if isinstance(error, ConfigurationError) else "credentials.json cannot be read."
        )
        yield Finding(
            check="seal", state="problem", message=message, mend="restore credentials.json from a backup"
        )
        return
    if not public or not opens:
        return
    if public in opens:
        yield Finding(
            check="seal", state="ok", message=f"key {public.partition(':')[0]} opens what is sealed"
        )
    else:
        yield Finding(
            check="seal",
            state="problem",
            message="Drafts are sealed to a key that no worker here can open.",
            mend="put the opening key into FOREWORD_SEAL_KEYS, or unset FOREWORD_SEAL_PUBLIC_KEY",
        )


def _clock(skew_s: float) -> Finding:
    if skew_s <= WORST_SKEW_S:
        return Finding(check="clock", state="ok", message=f"{skew_s * 1000:.0f} ms from the ledger's")
    return Finding(
        check="clock",
        state="problem",
        message=f"This clock and the ledger's are {skew_s:.1f} s apart; entries expire early or late.",
        mend="synchronise both clocks: timedatectl set-ntp true",
    )


def _ping(check: str, url: str, setting: str) -> Finding:
    from redis import Redis  # noqa: PLC0415
    from redis.exceptions import RedisError  # noqa: PLC0415

    try:
        with Redis.from_url(url, socket_connect_timeout=TIMEOUT_S, socket_timeout=TIMEOUT_S) as server:
            server.ping()
    except (RedisError, OSError, ValueError):
        return _away(check, setting)
    return Finding(check=check, state="ok", message="answers PING")


def _away(check: str, setting: str) -> Finding:
    return Finding(
        check=check, state="problem", message=f"The {check} does not answer.", mend=_start_or(setting)
    )


def _start_or(setting: str) -> str:
    return f"foreword up, or point {setting} at a living server"


CHECKS: tuple[Check, ...] = (product, ledger, redis, broker, seal_keys)
