"""Gives Drafts that failed another try, under their old receipts and in their old places."""

from worker.parts import Parts
from worker.write import drain


def retry(parts: Parts) -> tuple[int, int]:
    """Every tenant's failed Drafts: how many were tried, how many of these failed again."""
    tried = failed = 0
    for row in parts.ledger.across_tenants("all_tenants"):
        with parts.ledger.transaction(row["tenant_id"]) as filing:
            again = len(filing.run("retry", of="upkeep").fetchall())
        if again:
            drain(row["tenant_id"], parts)
            with parts.ledger.transaction(row["tenant_id"]) as filing:
                left = filing.run("failed", of="upkeep").fetchone()
            tried += again
            failed += 0 if left is None else left["n"]
    return tried, failed
