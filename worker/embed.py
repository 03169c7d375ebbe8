"""THE EMBEDDING. Entries that wait for a vector get one, in a process of their own.

    waiting -> [model, outside any transaction] -> vectors in, queue rows out: one transaction

No lock is held while the model works: an entry that was removed or rewritten meanwhile takes no vector, and
two processes that embed the same entry keep one.
Vectors are made of redacted text, since entries hold no other. A batch that the model refuses is halved until
the texts that are to blame stand alone: these go to the back of the queue, and after five times aside.
"""

import logging
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from foreword.embedding import Embedder, to_literal
from foreword.errors import EmbedderUnavailable
from worker.stores.ledger import Ledger

log = logging.getLogger(__name__)

_BATCH = 64
_GRAPH_BATCH = 500
_HARMLESS = "A text that any model can read."


@dataclass(frozen=True, kw_only=True)
class EmbedParts:
    """What embedding stands on. ``model`` is the ledger's number of the embedder's model."""

    ledger: Ledger
    embedder: Embedder
    model: int
    exact_rows: int


def register(ledger: Ledger, embedder: Embedder, exact_rows: int) -> EmbedParts:
    """Parts for this embedder; its model is made known to the ledger and, being the first, serves."""
    spec = embedder.spec
    with ledger.connection() as conn:
        query = ledger.query("vectors", "register")
        row = conn.execute(query, {"name": spec.model, "dimension": spec.dimension}).fetchone()
    if row is None:
        raise EmbedderUnavailable("The ledger did not register the model.")
    return EmbedParts(ledger=ledger, embedder=embedder, model=row["model_id"], exact_rows=exact_rows)


def embed(tenant: int, parts: EmbedParts) -> int:
    """Embeds what waits for a tenant; how many vectors were made. Raises EmbedderUnavailable."""
    total = 0
    while made := _batch(tenant, parts):
        total += made
    if total:
        log.info("embedded %d entries of tenant %d", total, tenant)
    _grow(tenant, parts)
    return total


def embed_all(parts: EmbedParts) -> int:
    """Every tenant with waiting entries in turn; if there is none, what a dead process left of the graph."""
    found = waiting(parts)
    if not found:
        with parts.ledger.connection() as conn:
            query = parts.ledger.query("vectors", "tenants_outgrown")
            left = conn.execute(query, {"most": parts.exact_rows, "model": parts.model}).fetchall()
        for row in left:
            _grow(row["tenant_id"], parts)
    return sum(embed(row["tenant_id"], parts) for row in found)


def waiting(parts: EmbedParts) -> list[dict[str, Any]]:
    """Tenants with waiting entries, and how many."""
    with parts.ledger.connection() as conn:
        return conn.execute(parts.ledger.query("vectors", "tenants"), {"model": parts.model}).fetchall()


def _batch(tenant: int, parts: EmbedParts) -> int:
    with parts.ledger.transaction(tenant) as filing:
        rows = filing.run("waiting", of="vectors", model=parts.model, limit=_BATCH).fetchall()
    return _keep(tenant, parts, rows) if rows else 0


def _keep(tenant: int, parts: EmbedParts, rows: Sequence[dict[str, Any]]) -> int:
    """Vectors made of these rows; a row that is to blame for a refusal is marked and makes none."""
    try:
        vectors = parts.embedder.embed([spoken(row["content"], row["speaker"]) for row in rows])
    except EmbedderUnavailable:
        parts.embedder.embed([_HARMLESS])  # raises when it is the embedder, not the texts
        if len(rows) == 1:
            _mark_failed(tenant, parts, rows[0])
            return 0
        half = len(rows) // 2
        return _keep(tenant, parts, rows[:half]) + _keep(tenant, parts, rows[half:])
    with parts.ledger.at_once(tenant) as filing:
        filing.run("share_graphs", of="vectors")
        kept = filing.run(
            "keep",
            of="vectors",
            model=parts.model,
            scopes=[row["scope_id"] for row in rows],
            ids=[row["id"] for row in rows],
            marks=[row["mark"] for row in rows],
            vectors=[to_literal(vector) for vector in vectors],
        )
    return len(kept.fetchall())


def spoken(content: str, speaker: str | None) -> str:
    """What is embedded: the content with its speaker in front, whether or not the text says so itself."""
    return content if speaker is None or content.startswith(f"{speaker}: ") else f"{speaker}: {content}"


def _mark_failed(tenant: int, parts: EmbedParts, row: dict[str, Any]) -> None:
    log.warning("an entry of tenant %d cannot be embedded", tenant)
    with parts.ledger.transaction(tenant) as filing:
        filing.run("failed", of="vectors", model=parts.model, scope=row["scope_id"], id=row["id"])


def _grow(tenant: int, parts: EmbedParts) -> None:
    """Moves the vectors of scopes that became too large for exact scans into the graph, in small steps."""
    with parts.ledger.transaction(tenant) as filing:
        outgrown = filing.run("outgrown", of="vectors", most=parts.exact_rows, model=parts.model).fetchall()
    for scope in outgrown:
        moved = 1
        while moved:
            with parts.ledger.transaction(tenant) as filing:
                row = filing.run(
                    "enter_graph", of="vectors", scope=scope["scope_id"], limit=_GRAPH_BATCH
                ).fetchone()
            moved = 0 if row is None else row["n"]
        with parts.ledger.transaction(tenant) as filing:
            filing.run("hold_graphs", of="vectors")
            filing.run("in_graph", of="vectors", scope=scope["scope_id"])
