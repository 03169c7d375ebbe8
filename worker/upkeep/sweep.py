"""Does what no message woke: Drafts in the inbox, jobs left open."""

import logging
from typing import Any

from foreword.errors import ForewordError, Unavailable
from worker.parts import Parts
from worker.upkeep.jobs import run_jobs
from worker.write import drain

log = logging.getLogger(__name__)


def sweep(parts: Parts) -> int:
    """Every tenant with work in turn, whatever befalls another; how many Drafts were filed."""
    filed = 0
    for row in parts.ledger.across_tenants("tenants_with_work"):
        try:
            filed += _sweep_tenant(row, parts)
        except Unavailable:
            raise
        except ForewordError as error:
            log.error("tenant %d could not be swept: %s", row["tenant_id"], error.message)
    return filed


def _sweep_tenant(row: dict[str, Any], parts: Parts) -> int:
    filed = drain(row["tenant_id"], parts) if row["drafts"] else 0
    if row["jobs"]:
        run_jobs(row["tenant_id"], parts)
    return filed
