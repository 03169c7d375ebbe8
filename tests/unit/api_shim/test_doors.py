"""The doors without a server: strict JSON, errors to statuses, the table of routes."""

import contextlib
import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from api_shim.doors.body import parse_json
from api_shim.doors.errors import MOST_FIELDS, STATUSES, error_response, unforeseen
from api_shim.doors.openapi import document
from api_shim.doors.routes import ROUTES
from api_shim.settings import ShimSettings
from foreword.errors import (
    Field,
    ForewordError,
    NotFound,
    RateLimited,
    Unauthenticated,
    Unavailable,
    ValidationError,
)

JSON_VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
    max_leaves=10,
)


@pytest.fixture
def settings() -> ShimSettings:
    """Settings that lead nowhere."""
    return ShimSettings.model_validate(
        {
            "database_url": "postgresql://x",
            "redis_url": "redis://x",
            "broker_url": "redis://x",
            "digest_key": "k",
            "seal_public_key": "id:key",
        }
    )


@given(JSON_VALUES)
def test_json_is_read_as_json(value: object) -> None:
    """Whatever JSON can say is read as it was said."""
    assert parse_json(json.dumps(value).encode()) == value


@pytest.mark.parametrize(
    "raw",
    [
        *(b"", b"{", b"NaN", b"[Infinity]", b"-Infinity", b'{"a":1,"a":1}', b'[{"b":{"a":1,"a":2}}]'),
        *(
            b"\xff",
            b'"\xed\xa0\x80"',
            b"1" * 5000,
            b"[" * 100_000,
            b'{"a":' * 100_000,
            b"1 2",
            b"\xef\xbb\xbf1",
        ),
    ],
    ids=lambda raw: repr(raw[:20]),
)
def test_what_is_not_strict_json_is_refused(raw: bytes) -> None:
    """Constants JSON has not, repeated names, other encodings, endless numbers and nestings are refused."""
    with pytest.raises(ValidationError) as caught:
        parse_json(raw)
    assert [field.field for field in caught.value.fields] == ["body"]


@given(st.binary())
def test_any_bytes_are_read_or_refused(raw: bytes) -> None:
    """No bytes at all raise anything but a refusal."""
    with contextlib.suppress(ValidationError):
        parse_json(raw)


@pytest.mark.parametrize("kind", STATUSES)
def test_every_error_has_one_shape(kind: type[ForewordError]) -> None:
    """Each error answers its own status with exactly error, message and, where there are any, details."""
    error: ForewordError
    if kind is ValidationError:
        error = ValidationError.of("f", "r")
    elif kind is RateLimited:
        error = RateLimited(7)
    else:
        error = kind()
    response = error_response(error)
    body = json.loads(bytes(response.body))
    assert response.status_code == STATUSES[kind]
    assert {"error", "message"} <= body.keys() <= {"error", "message", "details"}
    assert body["error"] == kind.code
    assert ("retry-after" in response.headers) == (kind in (RateLimited, Unavailable))
    assert ("www-authenticate" in response.headers) == (kind is Unauthenticated)


def test_statuses_are_distinct() -> None:
    """No two errors share a status, so that a status says which error it is."""
    assert len(set(STATUSES.values())) == len(STATUSES)


def test_an_answer_names_so_many_fields() -> None:
    """A refusal of more fields than anybody reads is cut, not the request's size again."""
    error = ValidationError([Field(f"f{n}", "r") for n in range(1000)])
    body = json.loads(bytes(error_response(error).body))
    assert [field["field"] for field in body["details"]["fields"]] == [f"f{n}" for n in range(MOST_FIELDS)]


def test_the_unforeseen_says_nothing(caplog: pytest.LogCaptureFixture) -> None:
    """An error nobody foresaw is a 500 without its words, in the answer and in the log."""
    response = unforeseen(ValueError("canary"))
    assert response.status_code == 500
    assert json.loads(bytes(response.body)) == {
        "error": "internal_error",
        "message": "The server failed to answer.",
    }
    assert "canary" not in caplog.text
    assert "ValueError" in caplog.text


def test_no_error_tells_its_subject() -> None:
    """Standing messages of errors hold no placeholder for a ref, an id or text."""
    for kind in (*STATUSES, NotFound):
        assert kind.__doc__
        assert "{" not in kind.__doc__


def test_the_document_has_every_route(settings: ShimSettings) -> None:
    """The document is plain JSON with each route once, under an id of its own."""
    told = json.loads(json.dumps(document(ROUTES, settings)))
    described = [(m.upper(), path) for path, item in told["paths"].items() for m in item]
    assert sorted(described) == sorted((route.method, route.path) for route in ROUTES)
    ids = [route.operation.id for route in ROUTES]
    assert len(set(ids)) == len(ids)


def test_the_document_follows_the_table(settings: ShimSettings) -> None:
    """A route that is not in the table is not in the document, and the other way round."""
    fewer = [route for route in ROUTES if route.path != "/v1/secrets"]
    assert document(fewer, settings)["paths"].keys() == {route.path for route in fewer}
