"""What an OpenWOP memory host must, as assertions on answers and on numbers the caller has itself.

Costs are counted here, with tiktoken or by length, never taken from a report. ``test_checks.py`` shows each
check wrong answers and expects it to fail.
"""

import base64
import gzip
import hashlib
import re
from collections.abc import Collection, Mapping, Sequence
from functools import cache
from importlib.resources import files
from typing import Any, Final
from unittest.mock import patch

import tiktoken
from tiktoken_ext import openai_public

Entry = Mapping[str, Any]

REQUIRED: Final = {"id", "content", "tags", "createdAt"}
INSTANT: Final = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z")
MARKER: Final = re.compile(r"\[REDACTED:[^\]\s]+\]")


def cost(text: str, counter: str) -> int:
    """What a text costs, counted here and now."""
    if counter == "chars":
        return len(text)
    if counter == "host-defined":
        return (len(text) + 3) // 4
    return len(_encoding(counter).encode_ordinary(text))


def total(entries: Sequence[Entry], counter: str) -> int:
    """What entries cost together: the sum over their contents."""
    return sum(cost(entry["content"], counter) for entry in entries)


@cache
def _encoding(name: str) -> tiktoken.Encoding:
    """tiktoken's own encoding; its ranks come from the package, so that nothing is fetched."""

    def ranks(_: str, expected_hash: str) -> dict[bytes, int]:
        raw = gzip.decompress((files("foreword.ranks") / f"{name}.tiktoken.gz").read_bytes())
        assert hashlib.sha256(raw).hexdigest() == expected_hash
        return {base64.b64decode(token): int(rank) for token, rank in map(bytes.split, raw.splitlines())}

    with patch.object(openai_public, "load_tiktoken_bpe", ranks):
        return tiktoken.Encoding(**getattr(openai_public, name)())


def ids(entries: Sequence[Entry]) -> list[str]:
    """Ids in the order of the entries."""
    return [entry["id"] for entry in entries]


def check_wire(entry: Entry) -> None:
    """An entry on the wire has its four fields, perhaps an expiry, and nothing else."""
    assert isinstance(entry, dict)
    assert entry.keys() | {"expiresAt"} == REQUIRED | {"expiresAt"}, sorted(entry)
    assert isinstance(entry["id"], str)
    assert entry["id"]
    assert isinstance(entry["content"], str)
    assert isinstance(entry["tags"], list)
    assert all(isinstance(tag, str) and tag for tag in entry["tags"])
    for name in {"createdAt", "expiresAt"} & entry.keys():
        assert isinstance(entry[name], str)
        assert INSTANT.fullmatch(entry[name]), entry[name]


def check_newest_first(entries: Sequence[Entry], written: Sequence[str]) -> None:
    """``written`` are the ids in the order they were accepted; the list is its reverse, by instant too."""
    assert ids(entries) == list(reversed(written))
    moments = [entry["createdAt"] for entry in entries]
    assert moments == sorted(moments, reverse=True)


def check_within(answered: Sequence[Entry], budget: int, counter: str) -> None:
    """What is answered costs at most the budget."""
    assert total(answered, counter) <= budget


def check_whole(answered: Sequence[Entry], listed: Sequence[Entry]) -> None:
    """Each answered entry is one of those listed without a budget, byte for byte, and comes once."""
    known = {entry["id"]: entry for entry in listed}
    assert len(set(ids(answered))) == len(answered)
    for entry in answered:
        assert known.get(entry["id"]) == entry


def check_oversize_left_out(answered: Sequence[Entry], budget: int, counter: str) -> None:
    """No entry that alone exceeds the budget is answered, not even when nothing else is there."""
    assert all(cost(entry["content"], counter) <= budget for entry in answered)


def check_prefix(answered: Sequence[Entry], listed: Sequence[Entry], budget: int, counter: str) -> None:
    """The answer is the longest run, from the head of what fits alone, whose sum is within the budget.

    So nothing is skipped to let a later entry in, and nothing that fits is withheld.
    """
    fitting = [entry for entry in listed if cost(entry["content"], counter) <= budget]
    assert ids(answered) == ids(fitting[: len(answered)]), "not a prefix of what fits alone"
    if len(answered) < len(fitting):
        after = total(fitting[: len(answered) + 1], counter)
        assert after > budget, "the next entry would have fitted"


def check_strict_prefix(
    answered: Sequence[Entry], listed: Sequence[Entry], budget: int, counter: str
) -> None:
    """The answer is the longest run from the very head of the list; the first that does not fit ends it."""
    assert ids(answered) == ids(listed[: len(answered)]), "not a prefix of the list"
    if len(answered) < len(listed):
        assert total(listed[: len(answered) + 1], counter) > budget, "the next entry would have fitted"


def check_budgeted(answered: Sequence[Entry], listed: Sequence[Entry], budget: int, counter: str) -> None:
    """All rules of a budgeted read at once (RFC 0113); ``listed`` is the same read without a budget."""
    check_within(answered, budget, counter)
    check_whole(answered, listed)
    check_oversize_left_out(answered, budget, counter)
    check_prefix(answered, listed, budget, counter)


def check_expiry(answered: Sequence[Entry], fresh: Collection[str], expired: Collection[str]) -> None:
    """What lives is there and what has expired is not."""
    seen = set(ids(answered))
    assert seen >= set(fresh)
    assert not seen & set(expired)


def check_isolated(owned: Sequence[Entry], written: Collection[str], foreign: object) -> None:
    """The owner sees what was written, and who does not own it sees an empty memory (CTI-1)."""
    assert set(ids(owned)) == set(written)
    assert len(written) > 0
    assert foreign == [] or foreign is None, "a foreign memory is not empty"


def check_redacted(text: str, *plain: str) -> None:
    """The text holds a marker and none of the plain values (SR-1)."""
    assert MARKER.search(text)
    assert not [value for value in plain if value in text]


def check_error(body: object, code: str) -> Mapping[str, Any]:
    """An error is ``error``, ``message`` and perhaps ``details``, and nothing else; its details."""
    assert isinstance(body, dict)
    assert {"error", "message"} <= body.keys() <= {"error", "message", "details"}
    assert body["error"] == code
    assert isinstance(body["message"], str)
    details = body.get("details", {})
    assert isinstance(details, dict)
    return details


def check_refused(body: object, *fields: str) -> None:
    """A ``validation_error`` that names exactly these fields, each with a reason."""
    told = check_error(body, "validation_error")
    assert told.keys() == {"fields"}
    assert all(field.keys() == {"field", "reason"} and field["reason"] for field in told["fields"])
    assert {field["field"] for field in told["fields"]} == set(fields)
