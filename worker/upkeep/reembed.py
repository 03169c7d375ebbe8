"""Another model: every entry gets its vector while the old ones serve, then the new ones do.

Resumable: what has its vector is not embedded again. And another attempt for what was set aside.
"""

from collections.abc import Iterator

from worker.embed import EmbedParts, embed, waiting


def total(parts: EmbedParts) -> int:
    """Entries that wait for a vector of this model."""
    return sum(int(row["waiting"]) for row in waiting(parts))


def reembed(parts: EmbedParts) -> Iterator[int]:
    """Embeds tenant by tenant, yielding how many vectors each took; then lets the model serve."""
    yield from embed_waiting(parts)
    with parts.ledger.connection() as conn:
        conn.execute(parts.ledger.query("vectors", "serve"), {"model": parts.model})


def once_more(parts: EmbedParts) -> int:
    """Lets every entry that was set aside wait again, for one attempt; how many these are."""
    released = 0
    for row in parts.ledger.across_tenants("all_tenants"):
        with parts.ledger.transaction(row["tenant_id"]) as filing:
            released += len(filing.run("once_more", of="vectors", model=parts.model).fetchall())
    return released


def embed_waiting(parts: EmbedParts) -> Iterator[int]:
    """Embeds tenant by tenant until nothing waits, yielding how many vectors each took."""
    while found := waiting(parts):
        for row in found:
            yield embed(row["tenant_id"], parts)


def set_aside(parts: EmbedParts) -> int:
    """Entries that got no vector of this model in five attempts."""
    aside = 0
    for row in parts.ledger.across_tenants("all_tenants"):
        with parts.ledger.transaction(row["tenant_id"]) as filing:
            told = filing.run("set_aside", of="vectors", model=parts.model).fetchone()
            aside += 0 if told is None else told["n"]
    return aside
