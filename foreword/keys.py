"""Every Redis key, each a function of a Scope.

| key                  | type   | holds                                                                  |
|----------------------|--------|------------------------------------------------------------------------|
| ``fw1:{T:H}:head``   | string | the packed head: the newest slice of the scope as one value            |
| ``fw1:{T:H}:order``  | zset   | accept position of each entry in the window, as member and score       |
| ``fw1:{T:H}:rows``   | hash   | position -> costs, expiry and ready JSON; ``#`` -> version and run id  |
| ``fw1:{T:H}:lease``  | hash   | token -> deadline (ms) of each writer between its opening and its end  |
| ``fw1:broker:*``     | any    | Celery's own: queues of wake-ups, ids and sealed payloads              |

``T`` is the tenant's number and ``H`` 128 bits of BLAKE2b over the memoryRef; the braces keep a scope in
one cluster slot.
"""

import hashlib
from dataclasses import dataclass
from functools import lru_cache

from foreword.scope import Scope

BROKER_PREFIX = "fw1:broker:"


@dataclass(frozen=True, slots=True)
class ViewKeys:
    """The keys of one scope's hot view."""

    head: str
    order: str
    rows: str
    lease: str


@lru_cache(maxsize=4096)
def head_key(scope: Scope) -> str:
    """The key of a scope's packed head."""
    return _stem(scope) + "head"


def view_keys(scope: Scope) -> ViewKeys:
    """All keys of a scope's hot view."""
    stem = _stem(scope)
    return ViewKeys(head=stem + "head", order=stem + "order", rows=stem + "rows", lease=stem + "lease")


def _stem(scope: Scope) -> str:
    digest = hashlib.blake2b(scope.memory_ref.encode(), digest_size=16).hexdigest()
    return f"fw1:{{{scope.tenant}:{digest}}}:"
