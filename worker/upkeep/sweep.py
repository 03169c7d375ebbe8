"""Does what no message woke: Drafts in the inbox, jobs left open."""

from worker.parts import Parts
from worker.upkeep.jobs import run_jobs
from worker.write import drain


def sweep(parts: Parts) -> int:
    """Every tenant with work in turn; how many Drafts were filed."""
    filed = 0
    for row in parts.ledger.across_tenants("tenants_with_work"):
        if row["drafts"]:
            filed += drain(row["tenant_id"], parts)
        if row["jobs"]:
            run_jobs(row["tenant_id"], parts)
    return filed
