"""The throttle: so many requests a minute, for each key by itself."""

import pytest

from api_shim.throttle import Throttle
from foreword.errors import RateLimited


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """The time, to be set by the test."""
    now = [1000.0]
    monkeypatch.setattr("api_shim.throttle.time.monotonic", lambda: now[0])
    return now


def test_a_burst_is_a_minute_s_worth(clock: list[float]) -> None:
    """A key may spend a whole minute's requests at once, and then one each time one is due."""
    throttle = Throttle(6)
    for _ in range(6):
        throttle.admit("k")
    with pytest.raises(RateLimited) as caught:
        throttle.admit("k")
    assert caught.value.retry_after == 10
    clock[0] += 9.9
    with pytest.raises(RateLimited) as caught:
        throttle.admit("k")
    assert caught.value.retry_after == 1
    clock[0] += 0.2
    throttle.admit("k")
    with pytest.raises(RateLimited):
        throttle.admit("k")


def test_keys_do_not_share(clock: list[float]) -> None:
    """What one key spends is not missing to another."""
    throttle = Throttle(1)
    throttle.admit("a")
    throttle.admit("b")
    with pytest.raises(RateLimited):
        throttle.admit("a")


def test_no_limit_is_no_limit(clock: list[float]) -> None:
    """Zero requests a minute means that nobody counts."""
    throttle = Throttle(0)
    for _ in range(1000):
        throttle.admit("k")
