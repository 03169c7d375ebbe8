"""One call to its end: which answers end it, and when it is safe and useful to ask again."""

import random
from collections.abc import Generator
from typing import TypeVar

import httpx

from foreword.client import replies
from foreword.client.calls import Call
from foreword.errors import NotFound, RateLimited, Unavailable

ATTEMPTS = 3
"""How often a call is sent at most."""

LONGEST_PAUSE = 10.0
"""Seconds; a server that asks for a longer pause gets no further attempt from us."""

T = TypeVar("T")
Outcome = httpx.Response | httpx.RequestError

_NEVER_SENT = (httpx.ConnectError, httpx.ConnectTimeout, httpx.PoolTimeout)


def exchange(call: Call[T]) -> Generator[float, Outcome, T]:
    """Yields the seconds to wait before sending, takes what came of it, and returns the answer.

    Raises the error of the last attempt. What was refused for now (429, 503) or never sent is always asked
    again; what was sent and got no answer only if the call is repeatable.
    """
    pause, attempt, maybe_done = 0.0, 0, False
    while True:
        outcome = yield pause
        attempt += 1
        try:
            return conclude(call, outcome)
        except NotFound:
            if maybe_done and call.gone is not None:
                return call.gone
            raise
        except (RateLimited, Unavailable) as error:
            lost = isinstance(outcome, httpx.RequestError) and not isinstance(outcome, _NEVER_SENT)
            pause = _pause(error, attempt)
            if attempt == ATTEMPTS or pause > LONGEST_PAUSE or (lost and not call.repeatable):
                raise
            maybe_done = True


def conclude(call: Call[T], outcome: Outcome) -> T:
    """The answer that one attempt brought, or its error raised."""
    if isinstance(outcome, httpx.RequestError):
        raise Unavailable(f"The server did not answer ({type(outcome).__name__}).") from outcome
    if not (outcome.is_success or outcome.status_code == httpx.codes.NOT_MODIFIED):
        raise replies.error_of(outcome, call.offset)
    return replies.read(outcome, call.parse)


def _pause(error: RateLimited | Unavailable, attempt: int) -> float:
    backoff: float = 0.1 * 2**attempt
    asked = 0.0 if isinstance(error.__cause__, httpx.RequestError) else float(error.retry_after)
    return max(asked, backoff) * random.uniform(1.0, 1.25)
