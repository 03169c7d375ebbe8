"""When a call ends, and when it is sent again."""

from collections.abc import Iterable
from dataclasses import replace
from typing import Any

import httpx
import pytest

from foreword.client import calls
from foreword.client.answers import Removal
from foreword.client.calls import Call
from foreword.client.exchange import ATTEMPTS, Outcome, exchange
from foreword.errors import (
    Conflict,
    CounterUnavailable,
    Forbidden,
    ForewordError,
    NotFound,
    PayloadTooLarge,
    RateLimited,
    SealError,
    ServerError,
    TokenBudgetExceeded,
    Unauthenticated,
    Unavailable,
    UnsupportedMediaType,
    ValidationError,
)

_CALL: Call[str] = Call(method="GET", path="/", parse=lambda response: str(response.json()["answer"]))
_GOOD = httpx.Response(200, json={"answer": "yes"})
_LOST = httpx.ReadTimeout("slow")
_NO_SERVER = httpx.ConnectError("refused")


def _error(status: int, code: str, retry_after: str | None = None, **body: Any) -> httpx.Response:
    headers = {} if retry_after is None else {"Retry-After": retry_after}
    return httpx.Response(
        status, headers=headers, json={"error": code, "message": "as the server says", **body}
    )


def _busy(seconds: int = 1) -> httpx.Response:
    return _error(503, "unavailable", str(seconds))


def _play(call: Call[Any], outcomes: Iterable[Outcome]) -> tuple[Any, list[float]]:
    """The answer of a call whose attempts end like this, and the pauses before its repeats."""
    steps = exchange(call)
    assert next(steps) == 0
    pauses: list[float] = []
    for outcome in outcomes:
        try:
            pauses.append(steps.send(outcome))
        except StopIteration as end:
            return end.value, pauses
    pytest.fail("the call asks for one more attempt")


@pytest.mark.parametrize(
    ("status", "kind"),
    [
        (400, ValidationError),
        (401, Unauthenticated),
        (403, Forbidden),
        (404, NotFound),
        (409, Conflict),
        (413, PayloadTooLarge),
        (415, UnsupportedMediaType),
        (422, TokenBudgetExceeded),
        (400, CounterUnavailable),
        (500, SealError),
        (500, ServerError),
    ],
)
def test_an_error_is_the_one_of_its_code(status: int, kind: type[ForewordError]) -> None:
    """Each public code raises its own error at once, with the server's words."""
    with pytest.raises(ForewordError) as raised:
        _play(_CALL, [_error(status, kind.code)])
    assert type(raised.value) is kind
    if kind is not ValidationError:
        assert raised.value.message == "as the server says"


def test_a_refusal_names_its_fields() -> None:
    """The bad fields of a refused request are there to read."""
    bad = {"fields": [{"field": "tags[0]", "reason": "must be a string"}]}
    with pytest.raises(ValidationError) as raised:
        _play(_CALL, [_error(400, "validation_error", details=bad)])
    assert raised.value.details == bad


def test_a_refusal_names_the_callers_index() -> None:
    """A later batch's refusal names the Draft or the line by its index in all that was given."""
    later = replace(_CALL, offset=2000)
    bad = [{"field": "entries[3].content", "reason": "r"}, {"field": "line[1].id", "reason": "r"}]
    with pytest.raises(ValidationError) as refused:
        _play(later, [_error(400, "validation_error", details={"fields": bad})])
    assert [field.field for field in refused.value.fields] == ["entries[2003].content", "line[2001].id"]
    with pytest.raises(Conflict) as taken:
        _play(later, [_error(409, "conflict", details={"index": 3, "field": "id"})])
    assert taken.value.details == {"index": 2003, "field": "id"}


@pytest.mark.parametrize(
    "answer",
    [
        httpx.Response(418, text="<html>"),
        httpx.Response(302, headers={"Location": "https://elsewhere.example"}),
        httpx.Response(400, json={"error": "brand_new", "message": "m"}),
        httpx.Response(200, text="not json"),
        httpx.Response(200, json={"other": 1}),
        httpx.Response(200, json=[]),
    ],
)
def test_what_is_not_an_answer_of_ours_is_a_server_error(answer: httpx.Response) -> None:
    """An unknown code, HTML, a redirect or a strange body is a ServerError, never another exception."""
    with pytest.raises(ServerError) as raised:
        _play(_CALL, [answer])
    assert raised.value.details is not None
    assert raised.value.details["status"] == answer.status_code


@pytest.mark.parametrize("first", [_busy(), _error(429, "rate_limited", "1"), _NO_SERVER, _LOST])
def test_what_may_pass_is_asked_again(first: Outcome) -> None:
    """A busy server, no server and a lost answer are asked again, and the answer is the later one."""
    assert _play(_CALL, [first, _GOOD])[0] == "yes"


def test_retry_after_is_respected() -> None:
    """The pause is never shorter than the server asks, and longer ones than 10 s are left to the caller."""
    _, pauses = _play(_CALL, [_busy(3), _busy(4), _GOOD])
    assert pauses[0] >= 3
    assert pauses[1] >= 4
    with pytest.raises(RateLimited) as raised:
        _play(_CALL, [_error(429, "rate_limited", "60")])
    assert raised.value.retry_after == 60


@pytest.mark.parametrize("header", [None, "", "soon", "-1", "Wed, 21 Oct 2026 07:28:00 GMT", "²"])
def test_a_strange_retry_after_is_one_second(header: str | None) -> None:
    """A Retry-After that is no number of seconds counts as one."""
    answer = httpx.Response(503, headers=[] if header is None else [(b"retry-after", header.encode())])
    _, pauses = _play(_CALL, [answer, _GOOD])
    assert 1 <= pauses[0] <= 2


def test_attempts_end() -> None:
    """After the last attempt its error is raised; a gateway's 502 and 504 count as unavailable."""
    with pytest.raises(Unavailable):
        _play(_CALL, [httpx.Response(502), httpx.Response(504), _LOST][:ATTEMPTS])


def test_a_lost_answer_is_not_asked_again_where_that_would_do_more() -> None:
    """What is not repeatable is repeated only when it was refused or never sent."""
    once = replace(_CALL, repeatable=False)
    with pytest.raises(Unavailable):
        _play(once, [_LOST])
    assert _play(once, [_NO_SERVER, _busy(), _GOOD])[0] == "yes"


def test_a_repeated_delete_that_finds_nothing_has_done_its_work() -> None:
    """404 after an attempt that may have removed the entry is success; 404 at once is NotFound."""
    call, absent = calls.delete("a", "1"), _error(404, "not_found")
    assert _play(call, [_busy(), absent])[0] == Removal(memory_ref="a", id="1")
    assert _play(call, [_LOST, absent])[0].removed
    with pytest.raises(NotFound):
        _play(call, [absent])
