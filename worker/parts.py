"""The parts a write flows through, built once per process by bootstrap."""

from collections.abc import Callable
from dataclasses import dataclass

from foreword.draft import Limits
from foreword.instant import now_ms
from foreword.seal import Opener, Sealer
from worker.steps.redactors import Redactors
from worker.stores.hot_view import HotView
from worker.stores.ledger import Ledger


@dataclass(frozen=True, kw_only=True)
class Parts:
    """Everything the flows need; ``clock`` tells milliseconds."""

    ledger: Ledger
    hot_view: HotView
    opener: Opener
    sealer: Sealer
    redactors: Redactors
    digest_key: bytes
    limits: Limits
    batch: int
    receipt_days: int
    event_days: int
    clock: Callable[[], int] = now_ms
