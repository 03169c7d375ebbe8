"""The scan: every place where the product keeps bytes, searched for a text in every form it may hide in."""

import base64
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import quote, quote_plus

import psycopg
import redis
from psycopg import sql

from tests.services import Product

Place = tuple[str, bytes]
"""Where something was found kept, and the bytes themselves."""


def forms(secret: str) -> dict[str, bytes]:
    """A text plain, base64 in its three alignments (both alphabets), URL-encoded, JSON-escaped and in hex."""
    raw = secret.encode()
    found = {
        "plain": raw,
        "url": quote(secret, safe="").encode(),
        "form": quote_plus(secret).encode(),
        "json": json.dumps(secret)[1:-1].encode(),
        "json twice": json.dumps(json.dumps(secret)[1:-1])[1:-1].encode(),
        "hex": raw.hex().encode(),
        "HEX": raw.hex().upper().encode(),
        "utf-16": secret.encode("utf-16-le"),
    }
    for shift in range(3):
        whole = base64.b64encode(bytes(shift) + raw)
        kept = whole[(0, 2, 3)[shift] : len(whole) - (0, 3, 2)[(shift + len(raw)) % 3]].rstrip(b"=")
        found[f"base64+{shift}"] = kept
        found[f"base64url+{shift}"] = kept.translate(bytes.maketrans(b"+/", b"-_"))
    return found


def found(places: Iterator[Place], secrets: dict[str, str]) -> list[str]:
    """Which secret is where and how; secrets are named, never shown."""
    needles = [(name, how, form) for name, secret in secrets.items() for how, form in forms(secret).items()]
    return [
        f"{name} ({how}) in {place}" for place, kept in places for name, how, form in needles if form in kept
    ]


def files(product: Product, *, without: tuple[str, ...] = ()) -> Iterator[Place]:
    """Every file under the data folder, logs, append-only file and write-ahead log included."""
    for path in sorted(product.data_dir.rglob("*")):
        name = str(path.relative_to(product.data_dir))
        if name not in without and not name.startswith("postgres/bin") and path.is_file():
            try:
                yield name, path.read_bytes()
            except FileNotFoundError:
                continue


def printed(product: Product) -> Iterator[Place]:
    """What ``foreword up`` said, and so did every process that inherited its terminal."""
    yield "printed", product.printed.read_bytes()


def columns(product: Product) -> Iterator[Place]:
    """Every column of every table, read as text: compressed values hide from a scan of files."""
    with psycopg.connect(product.wait_ready()["databaseUrl"]) as conn:
        tables = conn.execute(
            "SELECT table_schema, table_name FROM information_schema.tables"
            " WHERE table_type = 'BASE TABLE' AND table_schema NOT IN ('pg_catalog', 'information_schema')"
        ).fetchall()
        for schema, table in tables:
            query = sql.SQL("SELECT whole::text FROM {} AS whole").format(sql.Identifier(schema, table))
            for (text,) in conn.execute(query):
                yield f"table {table}", text.encode()


def redis_values(product: Product) -> Iterator[Place]:
    """Every key and value of both databases, of every type: the hot view, and the broker's queues."""
    ready = product.wait_ready()
    for url in {ready["redisUrl"], ready["brokerUrl"]}:
        with redis.Redis.from_url(url) as client:
            keys: Iterator[bytes] = client.scan_iter()
            for key in keys:
                yield f"redis key of database {url[-1]}", key
                yield f"redis value {key.decode(errors='replace')}", _value(client, key)


def _value(client: Any, key: bytes) -> bytes:
    kind = client.type(key)
    if kind == b"string":
        return bytes(client.get(key) or b"")
    if kind == b"list":
        return b"\n".join(client.lrange(key, 0, -1))
    if kind == b"hash":
        return b"\n".join(part for pair in client.hgetall(key).items() for part in pair)
    if kind == b"set":
        return b"\n".join(client.smembers(key))
    if kind == b"zset":
        return b"\n".join(client.zrange(key, 0, -1))
    if kind == b"stream":
        return b"\n".join(
            part for _, fields in client.xrange(key) for pair in fields.items() for part in pair
        )
    assert kind == b"none", f"a Redis type this scan does not know: {kind.decode()}"
    return b""


def everywhere(product: Product) -> Iterator[Place]:
    """All of the above."""
    yield from files(product)
    yield from printed(product)
    yield from columns(product)
    yield from redis_values(product)


def size(folder: Path) -> int:
    """Bytes of all files under a folder."""
    return sum(path.stat().st_size for path in folder.rglob("*") if path.is_file())
