"""THE WRITE. A tenant's waiting Drafts become entries that can be read.

    claim -> open -> redact -> count -> lock scopes -> file -> [scopes go cold] -> commit -> show

Everything between claim and commit is one transaction of one tenant: when a worker dies, the Drafts are
still in the inbox and the scopes are cold, which is slower and never wrong. Scopes go cold before the commit
and not after it, so that no read can meet a head that lacks an entry whose receipt already says ``filed``;
and they go cold while they are locked, which ``foreword.hot_view`` builds on.
"""

import logging
from dataclasses import dataclass

from worker.parts import Parts
from worker.steps.prepare import Prepared, prepare
from worker.steps.redactors import RunRedactors
from worker.stores.hot_view import Opening
from worker.stores.ledger import Failure, Filing, View
from worker.stores.rebuild import rebuild
from worker.stores.runs import resolved, tell

log = logging.getLogger(__name__)


@dataclass(frozen=True)
class _Filed:
    """What one transaction committed."""

    opening: Opening
    views: list[View]
    claimed: int


def drain(tenant: int, parts: Parts) -> int:
    """Files what waits for a tenant, batch by batch; how many Drafts left the inbox.

    Raises Unavailable when the ledger or the hot view is away; nothing is lost, the next wake-up goes on.
    """
    total = 0
    while (filed := _file_batch(tenant, parts)) is not None:
        for scope in parts.hot_view.show(filed.opening, filed.views):
            rebuild(scope, parts.ledger, parts.hot_view, parts.clock())
        total += filed.claimed
        if filed.claimed < parts.batch:
            break
    if total:
        log.info("filed %d drafts of tenant %d", total, tenant)
    return total


def _file_batch(tenant: int, parts: Parts) -> _Filed | None:
    with parts.ledger.transaction(tenant) as filing:
        version, pii = filing.policy()
        claimed = filing.claim(parts.batch)
        if not claimed:
            return None
        redactor = parts.redactors.get(tenant, version, pii, filing.secrets)
        redactors = RunRedactors(redactor, parts.opener, lambda run: resolved(filing, run))
        prepared = prepare(claimed, parts.opener, redactors.of)
        filing.lock([row.scope_id for row in prepared.claimed])
        failures = [*prepared.failures, *_file(filing, prepared)]
        _attribute(filing, prepared, failures)
        if failures:
            filing.fail(failures)
            log.warning("%d drafts of tenant %d cannot be filed", len(failures), tenant)
        views = filing.views(parts.clock())
        opening = parts.hot_view.open(view.scope for view in views)
    return _Filed(opening, views, len(claimed))


def _file(filing: Filing, prepared: Prepared) -> list[Failure]:
    """Files a batch whole; where the ledger refuses it, one by one, so that a poisonous Draft fails alone."""
    rows, entries = prepared.claimed, prepared.entries
    if not entries or filing.file(entries, [row.scope_id for row in rows]) is None:
        return []
    return [
        Failure(claimed=row, reason=f"The ledger refused it ({refusal}).")
        for row, entry in zip(rows, entries, strict=True)
        if (refusal := filing.file([entry], [row.scope_id])) is not None
    ]


def _attribute(filing: Filing, prepared: Prepared, failures: list[Failure]) -> None:
    """Tells runs what they wrote and is filed now (RFC 0057); most batches name no run."""
    if prepared.written:
        failed = {failure.claimed.seq for failure in failures}
        filed = [one for one in prepared.written if one.claimed.seq not in failed]
        if filed:
            tell(filing, filed)
