"""Purges what nobody can see any more: expired entries, old tombstones, old events, old runs."""

import logging

from foreword.instant import to_datetime
from foreword.scope import Scope
from worker.parts import Parts
from worker.upkeep.runs import expire_runs

log = logging.getLogger(__name__)

_DAY_MS = 86_400_000


def expire(parts: Parts) -> int:
    """Every tenant in turn; how many expired entries are gone. Their ids stay taken like removed ones."""
    tenants = parts.ledger.across_tenants("all_tenants")
    return sum(_expire_tenant(row["tenant_id"], parts) for row in tenants)


def _expire_tenant(tenant: int, parts: Parts) -> int:
    now = parts.clock()
    expire_runs(tenant, parts)
    with parts.ledger.transaction(tenant) as filing:
        filing.run("purge_receipts", of="upkeep", before=to_datetime(now - parts.receipt_days * _DAY_MS))
        filing.run("purge_events", of="upkeep", before=to_datetime(now - parts.event_days * _DAY_MS))
        found = filing.run("expired_scopes", of="upkeep", now=to_datetime(now)).fetchall()
        if not found:
            return 0
        scopes = [Scope(tenant, row["memory_ref"]) for row in found]
        scope_ids = [row["scope_id"] for row in found]
        filing.lock(scope_ids)
        parts.hot_view.open(scopes)
        gone = filing.run("purge_expired", of="upkeep", scopes=scope_ids, now=to_datetime(now)).fetchone()
    parts.hot_view.void(scopes)
    purged = 0 if gone is None else int(gone["n"])
    log.info("purged %d expired entries of tenant %d", purged, tenant)
    return purged
