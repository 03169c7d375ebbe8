"""The texts that demo and benches write, and scopes of any size filled straight into the ledger."""

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import psycopg

from foreword.counters import COUNTERS, counter
from foreword.resources import queries

DATA = Path(__file__).parent / "data"


def rows(name: str) -> list[dict[str, Any]]:
    """The rows of a file in ``bench/data``."""
    return [json.loads(line) for line in (DATA / name).read_text(encoding="utf-8").splitlines()]


def texts() -> list[str]:
    """Every text of the corpus: memories, beliefs with their reasons, phrases of many languages, code."""
    beliefs = [f"{row['content']} {row['why_it_matters']}" for row in rows("beliefs.jsonl")]
    return (
        [row["content"] for row in rows("memories.jsonl")]
        + beliefs
        + [row["text"] for row in rows("phrases.jsonl")]
    )


def turns(number: int, *, sentences: int = 4) -> list[str]:
    """Texts of about 57 tokens, the size of a conversation's turn: neighbouring sentences joined."""
    pool = texts()
    return [
        " ".join(pool[(i * sentences + k * (i // len(pool) + 1)) % len(pool)] for k in range(sentences))
        for i in range(number)
    ]


@dataclass(frozen=True, kw_only=True)
class Filling:
    """Entries to put into one scope, oldest first: ``number`` of them, taken in turn from ``pool``."""

    pool: Sequence[str]
    number: int


def fill(owner_url: str, tenant: int, memory_ref: str, fillings: Sequence[Filling]) -> None:
    """Puts entries with exact costs into the ledger by one statement a filling, as no client could.

    Constraints between tables are not checked: a million rows would otherwise take minutes. The commit waits
    for the disk, else VACUUM could not mark these rows as visible to all.
    """
    named = queries("bench", "filling.sql")
    with psycopg.connect(owner_url, autocommit=True) as conn:
        conn.execute("SET session_replication_role = replica")
        for filling in fillings:
            pool = json.dumps(list(_counted(filling.pool)))
            given = {"tenant": tenant, "ref": memory_ref, "pool": pool, "number": filling.number}
            conn.execute(named["scope"].encode(), given)
            conn.execute(named["fill"].encode(), given)
        conn.execute("VACUUM (ANALYZE) entries")


def _counted(pool: Sequence[str]) -> Iterator[dict[str, Any]]:
    columns = [counter(name).count_batch(pool) for name in COUNTERS]
    for content, costs in zip(pool, zip(*columns, strict=True), strict=True):
        yield {"content": content, "costs": costs}
