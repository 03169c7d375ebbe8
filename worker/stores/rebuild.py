"""Makes a cold scope warm: one snapshot of the ledger becomes its head and window."""

import logging

from foreword.instant import now_ms
from foreword.scope import Scope
from worker.stores.hot_view import HotView
from worker.stores.ledger import Ledger, View

log = logging.getLogger(__name__)


def rebuild(scope: Scope, ledger: Ledger, hot_view: HotView) -> bool:
    """Shows a scope as the ledger has it; False when something else changed it meanwhile (it stays cold)."""
    opening = hot_view.open([scope])
    now = now_ms()
    with ledger.transaction(scope.tenant, snapshot=True) as snapshot:
        found = snapshot.run("scope", ref=scope.memory_ref).fetchone()
        if found is None:
            hot_view.show(opening, [])
            return False
        scope_id = found["scope_id"]
        summary = snapshot.summaries([scope_id], now)[scope_id]
        rows = snapshot.newest([scope_id], now, hot_view.max_rows)[scope_id]
    view = View(scope=scope, summary=summary, newest=rows, whole=True)
    return not hot_view.show(opening, [view])
