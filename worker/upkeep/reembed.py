"""Another model: every entry gets its vector while the old ones serve, then the new ones do.

Resumable: what has its vector is not embedded again.
"""

from collections.abc import Iterator

from worker.embed import EmbedParts, embed, waiting


def total(parts: EmbedParts) -> int:
    """Entries that wait for a vector of this model."""
    return sum(int(row["waiting"]) for row in waiting(parts))


def reembed(parts: EmbedParts) -> Iterator[int]:
    """Embeds tenant by tenant, yielding how many vectors each took; then lets the model serve."""
    while found := waiting(parts):
        for row in found:
            yield embed(row["tenant_id"], parts)
    with parts.ledger.connection() as conn:
        conn.execute(parts.ledger.query("vectors", "serve"), {"model": parts.model})
