"""What the clients give back."""

from dataclasses import FrozenInstanceError
from datetime import UTC, datetime
from typing import Any

import pytest

from foreword.client.answers import Entry, Omitted, Page, Receipt, Recollection, Report, to_wire

_PAGE: dict[str, Any] = {
    "memoryRef": "a",
    "entries": [
        {
            "id": "1",
            "content": "x",
            "tags": ["t"],
            "createdAt": "2026-01-01T00:00:00.250Z",
            "expiresAt": "2027-01-01T00:00:00.000Z",
            "metadata": {"snake_case": [1]},
            "links": [{"to": "2", "type": "related_to"}],
            "costs": {"o200k_base": 1, "host-defined": 1},
        }
    ],
    "budget": {
        "counter": "o200k_base",
        "tokenBudget": 10,
        "used": 1,
        "returned": 1,
        "omitted": {"oversize": 1, "budget": 2, "limit": 0, "similarity": 0},
        "smallestOmitted": 12,
    },
    "nextCursor": "c",
}


def test_a_page_is_typed() -> None:
    """Times are aware datetimes, lists tuples, the report has names; the page iterates over its entries."""
    page = Page.from_wire(_PAGE, '"e"')
    (entry,) = page
    assert entry.created_at == datetime(2026, 1, 1, 0, 0, 0, 250_000, tzinfo=UTC)
    assert entry.tags == ("t",)
    assert entry.costs == {"o200k_base": 1, "host-defined": 1}
    assert page.budget == Report(
        counter="o200k_base",
        token_budget=10,
        used=1,
        returned=1,
        omitted=Omitted(oversize=1, budget=2),
        smallest_omitted=12,
    )
    assert (len(page), page.next_cursor, page.etag) == (1, "c", '"e"')


def test_a_page_can_be_written_again() -> None:
    """The JSON of a page is what was read, and its ETag."""
    assert to_wire(Page.from_wire(_PAGE, "e")) == _PAGE | {"etag": "e"}


def test_a_recollection_is_typed() -> None:
    """A recall's answer has its block, its cost, its legs and what to carry on, and reads as the block."""
    body = {
        "text": "block\n",
        "entries": ["1", "2"],
        "budget": _PAGE["budget"] | {"legs": ["semantic", "lexical"]},
        "etag": "e",
        "session": "s",
        "queryTruncated": True,
    }
    found = Recollection.from_wire(body)
    assert (str(found), found.entries, found.session, found.query_truncated) == (
        "block\n",
        ("1", "2"),
        "s",
        True,
    )
    assert found.budget.legs == ("semantic", "lexical")
    assert to_wire(found) == body
    with pytest.raises(FrozenInstanceError):
        found.text = ""  # type: ignore[misc]


def test_answers_are_frozen() -> None:
    """An answer cannot be changed."""
    receipt = Receipt.from_wire({"id": "1", "status": "filed"}, "a")
    with pytest.raises(FrozenInstanceError):
        receipt.status = "failed"  # type: ignore[misc]


def test_what_a_newer_server_adds_is_left_out() -> None:
    """Fields this client does not know do no harm."""
    body = _PAGE["entries"][0] | {"mood": "new"}
    assert Entry.from_wire(body) == Page.from_wire(_PAGE, None).entries[0]
