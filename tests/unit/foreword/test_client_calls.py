"""What the clients ask for."""

import json
import uuid
from datetime import UTC, datetime, timedelta, timezone
from typing import Any

import httpx
import pytest

from foreword.client import calls
from foreword.client.answers import Page, Receipt
from foreword.errors import ValidationError


def _body(call: calls.Call[Any]) -> dict[str, Any]:
    assert call.content is not None
    body: dict[str, Any] = json.loads(call.content)
    return body


def test_a_write_has_an_id_of_its_own() -> None:
    """A Draft without an id gets a UUIDv7, so that the write can be repeated."""
    first, second = (_body(calls.remember("a", {"content": "x"}, None))["id"] for _ in range(2))
    assert uuid.UUID(first).version == 7
    assert first != second


def test_a_draft_is_written_in_the_contracts_names() -> None:
    """Names become camelCase, datetimes instants in UTC, None is left out, metadata stays as it is."""
    draft = {
        "content": "x",
        "id": "mine",
        "tags": ("a", "b"),
        "observed_at": datetime(2026, 1, 2, 3, 4, 5, 6_000, timezone(timedelta(hours=2))),
        "expires_at": "2027-01-01T00:00:00Z",
        "metadata": {"snake_case": 1},
        "source": None,
        "supersedes": "old",
    }
    assert _body(calls.remember("team/a", draft, None)) == {
        "memoryRef": "team/a",
        "content": "x",
        "id": "mine",
        "tags": ["a", "b"],
        "observedAt": "2026-01-02T01:04:05.006Z",
        "expiresAt": "2027-01-01T00:00:00Z",
        "metadata": {"snake_case": 1},
        "supersedes": "old",
    }


def test_waiting_is_given_time() -> None:
    """A write that waits is allowed that many more seconds before it times out."""
    call = calls.remember("a", {"content": "x"}, 12.5)
    assert call.params == {"wait": "12.5"}
    assert call.patience == 12.5


@pytest.mark.parametrize(
    ("draft", "error"),
    [
        ({"content": "x", "tag": "a"}, TypeError),
        ({"content": "x", "observed_at": datetime(2026, 1, 1)}, ValidationError),
        ({"content": "x", "metadata": {"n": float("nan")}}, ValidationError),
        ({"content": "\ud800"}, ValidationError),
        ({"content": b"x"}, ValidationError),
    ],
)
def test_what_json_or_the_contract_cannot_say_is_refused(
    draft: dict[str, Any], error: type[Exception]
) -> None:
    """An unknown name, a time without a zone, NaN, a lone surrogate or bytes never leave the client."""
    with pytest.raises(error):
        calls.remember("a", draft, None)


def test_many_drafts_go_in_batches() -> None:
    """2,500 Drafts go as batches of at most 1,000, in order, and every receipt is read."""
    batches = list(calls.remember_many("a", (str(n) for n in range(2500)), None))
    assert [len(_body(batch)["entries"]) for batch in batches] == [1000, 1000, 500]
    assert [entry["content"] for batch in batches for entry in _body(batch)["entries"]] == [
        str(n) for n in range(2500)
    ]
    answer = httpx.Response(202, json={"receipts": [{"id": "1", "status": "accepted"}]})
    assert [batch.offset for batch in batches] == [0, 1000, 2000]
    assert batches[0].parse(answer) == (Receipt(id="1", memory_ref="a", status="accepted"),)


def test_large_drafts_make_small_batches() -> None:
    """No batch is larger than 4 MiB unless it is one Draft."""
    batches = list(calls.remember_many("a", ["x" * 3_000_000, "y" * 3_000_000, "z", "u" * 5_000_000], None))
    assert [len(_body(batch)["entries"]) for batch in batches] == [1, 2, 1]


@pytest.mark.parametrize("entry_id", ["", ".", "..", "é", "\ud800"])
def test_an_id_never_widens_its_path(entry_id: str) -> None:
    """A dot segment is refused: deleting ``..`` would otherwise reach the whole memory."""
    for build in (calls.delete, calls.receipt, lambda ref, name: calls.get(ref, name, None)):
        with pytest.raises(ValidationError):
            build("a", entry_id)
    with pytest.raises(ValidationError):
        calls.delete_secret(entry_id)


def test_an_id_is_one_segment() -> None:
    """Slashes and question marks of an id are escaped."""
    assert calls.delete("a", "x/../y?z#").path == "/v1/memory/entries/x%2F..%2Fy%3Fz%23"


def test_options_are_written_in_the_contracts_names() -> None:
    """List options become query parameters; an unknown one is a TypeError before anything is sent."""
    call = calls.list_entries("a b", {"token_budget": 800, "fields": "all"})
    assert call.params == {"memoryRef": "a b", "tokenBudget": "800", "fields": "all"}
    with pytest.raises(TypeError, match="budget"):
        calls.list_entries("a", {"budget": 1})  # type: ignore[typeddict-unknown-key]


def test_a_question_is_written_in_the_contracts_names() -> None:
    """Options of a search and a recall become fields; names of metadata and memories stay as they are."""
    asked = calls.search(
        "a",
        "why?",
        {
            "top_k": 3,
            "filter": {
                "metadata.snake_case": {"in": ("x",)},
                "createdAt": {"lt": datetime(2026, 1, 1, tzinfo=UTC)},
            },
        },
    )
    assert (asked.method, asked.path, asked.repeatable) == ("POST", "/v1/memory/search", True)
    assert _body(asked) == {
        "memoryRef": "a",
        "query": "why?",
        "topK": 3,
        "filter": {"metadata.snake_case": {"in": ["x"]}, "createdAt": {"lt": "2026-01-01T00:00:00.000Z"}},
    }
    recalled = calls.recall(
        ("a_b", "c"), "why?", {"shares": {"a_b": 0.5}, "exclude": iter("12"), "min_similarity": -1}
    )
    assert _body(recalled) == {
        "memoryRef": ["a_b", "c"],
        "query": "why?",
        "shares": {"a_b": 0.5},
        "exclude": ["1", "2"],
        "minSimilarity": -1,
    }
    assert _body(calls.search("a", None, {"mode": "filter"})) == {"memoryRef": "a", "mode": "filter"}
    for wrong in ({"topK": 1}, {"cursor": "x"}):
        with pytest.raises(TypeError):
            calls.search("a", "x", wrong)  # type: ignore[arg-type]


def test_an_unchanged_page_is_the_known_one() -> None:
    """With a known page its ETag is asked for, and 304 gives that page back."""
    known = Page(memory_ref="a", entries=(), etag='"x"')
    call = calls.list_entries("a", {}, known)
    assert call.headers == {"If-None-Match": '"x"'}
    assert call.parse(httpx.Response(304)) is known


def test_an_import_can_go_to_another_memory() -> None:
    """Export lines go as JSON Lines in their order, under the memory that is asked for."""
    lines = [{"memoryRef": "a", "id": "1", "content": "x"}, {"memoryRef": "a", "id": "2", "content": "y"}]
    (call,) = calls.import_lines("b", lines)
    assert call.content_type == "application/x-ndjson"
    assert call.content is not None
    sent = [json.loads(line) for line in call.content.splitlines()]
    assert [(line["memoryRef"], line["id"]) for line in sent] == [("b", "1"), ("b", "2")]
    assert lines[0]["memoryRef"] == "a"


def test_forgetting_takes_a_datetime() -> None:
    """``before`` is sent as an instant."""
    moment = datetime(2026, 1, 1, tzinfo=UTC)
    assert calls.forget("a", None, moment).params == {"memoryRef": "a", "before": "2026-01-01T00:00:00.000Z"}
