"""The names under which a run fails, and what each says: never content, a secret or a memoryRef."""

from collections.abc import Mapping
from typing import Final

from foreword.errors import RunFailed

FAILURES: Final[Mapping[str, str]] = {
    "run_lost": "The server that ran this is gone; nobody knows how far it came.",
    "run_timeout": "The run took longer than its workflow may.",
    "memory_unavailable": "A part that memory stands on is not available.",
    "memory_write_timeout": "What was written could not be read in time.",
    "memory_write_failed": "What was written could not be filed.",
    "memory_readback_failed": "What was written is not what is read.",
    "memory_attribution_missing": "A write of the run is not told on its stream.",
    "credential_unavailable": "No secret of this id can be resolved here.",
    "sr1_redaction_failed": "A secret that the run resolved is not replaced by its marker.",
    "cti1_cross_tenant_leak": "Another tenant's memory answered.",
    "cti1_probe_unproved": "The other tenant's memory is empty, so that a leak could not have been seen.",
    "ttl_expired_visible": "An entry is shown after its expiry.",
    "ttl_fresh_missing": "An entry is not shown before its expiry.",
    "ttl_unproved": "The entry was never seen before its expiry, so that its absence proves nothing.",
    "injection_budget_exceeded": "A budgeted read costs more than its budget.",
    "injection_budget_total_mismatch": "A budgeted read reports another total than its stored costs.",
    "injection_budget_not_a_prefix": "A budgeted read is not the prefix of its ranking.",
    "injection_budget_entry_cut": "A budgeted read gives an entry in another form than an unbudgeted one.",
    "injection_budget_oversize_kept": "A budgeted read gives an entry that alone exceeds the budget.",
    "injection_budget_lone_entry_kept": "The only entry of a memory is given though it exceeds the budget.",
    "injection_budget_unproved": "What was written does not put the budget to the test.",
    "embedding_timeout": "What was written was not embedded in time.",
    "relevance_order_unproved": "The order by relevance is the order by recency.",
}
"""Every code a run's ``error`` may have, and its message."""


def failed(code: str) -> RunFailed:
    """The failure of this name."""
    return RunFailed(code, FAILURES[code])
