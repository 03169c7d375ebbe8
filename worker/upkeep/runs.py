"""What is left of runs that have ended: their registries go at once, the runs themselves after some days."""

import json
from typing import Any

from foreword.instant import to_datetime
from worker.parts import Parts
from worker.steps.redaction import Redactor
from worker.stores.ledger import Filing

RUN_DAYS = 7
"""Days an ended run is kept, with its events."""

_DAY_MS = 86_400_000
_BATCH = 100


def expire_runs(tenant: int, parts: Parts) -> None:
    """Removes registries that nothing needs any more and runs that ended long ago.

    A run of which a Draft waits or failed is spared: that Draft may hold what the run resolved.
    """
    before = to_datetime(parts.clock() - RUN_DAYS * _DAY_MS)
    with parts.ledger.transaction(tenant) as filing:
        filing.run("forget_run_secrets", of="upkeep")
    with parts.ledger.transaction(tenant) as filing:
        filing.run("purge_runs", of="upkeep", before=before)


def hide_in_runs(tenant: int, after: str, parts: Parts) -> str | None:
    """Hides values that were registered since in a batch of runs and their events; the run to go on after,
    None at the end."""
    with parts.ledger.transaction(tenant) as filing:
        version, pii = filing.policy()
        redactor = parts.redactors.get(tenant, version, pii, filing.secrets)
        runs = filing.run("next_runs", of="upkeep", after=after, limit=_BATCH).fetchall()
        ids = [run["run_id"] for run in runs]
        _hide(filing, "hide_in_runs", runs, redactor)
        _hide(filing, "hide_in_run_events", filing.run("told", of="upkeep", runs=ids).fetchall(), redactor)
    return ids[-1] if len(ids) == _BATCH else None


def _hide(filing: Filing, query: str, rows: list[dict[str, Any]], redactor: Redactor) -> None:
    """Rewrites the JSON of rows that hold a registered value. Their runs are locked."""
    changed = [
        {**row, "hidden": hidden} for row in rows if (hidden := redactor.hide(row["told"])) != row["told"]
    ]
    if changed:
        filing.run(query, of="upkeep", rows=json.dumps(changed))
