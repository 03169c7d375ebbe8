"""Makes a cold scope warm: what the ledger holds becomes its head and window."""

from foreword.scope import Scope
from worker.stores.hot_view import HotView
from worker.stores.ledger import Ledger, View


def rebuild(scope: Scope, ledger: Ledger, hot_view: HotView, now: int) -> bool:
    """Shows a scope as the ledger has it at ``now`` (ms); False when it stays cold.

    The scope is locked until it is shown, so that no commit can come between reading and showing.
    """
    with ledger.transaction(scope.tenant) as filing:
        found = filing.run("lock_scope", ref=scope.memory_ref).fetchone()
        if found is None:
            return False
        opening = hot_view.open([scope])
        scope_id = found["scope_id"]
        summary = filing.summaries([scope_id], now)[scope_id]
        most, tokens = hot_view.max_rows, hot_view.max_tokens
        rows = filing.newest([scope_id], now, most, whole=[scope_id], tokens=tokens)[scope_id]
        sifted = filing.sifted(scope_id, summary, rows, now)
        view = View(scope=scope, summary=summary, newest=rows, whole=True, sifted=sifted)
        return not hot_view.show(opening, [view])
