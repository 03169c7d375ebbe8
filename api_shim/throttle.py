"""The throttle: at most so many requests a minute for one key, in bursts of up to a minute's worth."""

import time
from math import ceil

from foreword.errors import RateLimited

_MOST = 10_000


class Throttle:
    """A token bucket a key, in this process."""

    def __init__(self, per_minute: int) -> None:
        self._per_minute = per_minute
        self._buckets: dict[str, tuple[float, float]] = {}

    def admit(self, key_id: str) -> None:
        """Takes one token; RateLimited, with the seconds until there is one, when none is left."""
        if not self._per_minute:
            return
        now = time.monotonic()
        tokens, filled = self._buckets.pop(key_id, (float(self._per_minute), now))
        tokens = min(self._per_minute, tokens + (now - filled) * self._per_minute / 60)
        if len(self._buckets) >= _MOST:
            self._buckets.pop(next(iter(self._buckets)))
        if tokens < 1:
            self._buckets[key_id] = (tokens, now)
            raise RateLimited(ceil((1 - tokens) * 60 / self._per_minute))
        self._buckets[key_id] = (tokens - 1, now)
