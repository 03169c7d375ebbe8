"""The checks themselves: each wrong reader fails the very assertions that the tests use."""

from collections.abc import Callable, Sequence
from typing import Any

import pytest

from tests.conformance import checks
from tests.conformance.checks import Entry, cost

BUDGET, COUNTER = 10, "chars"


def entry(name: str, size: int) -> dict[str, Any]:
    """An entry that costs ``size`` characters."""
    return {
        "id": name,
        "content": (name * size)[:size],
        "tags": [],
        "createdAt": "2026-01-01T00:00:00.000Z",
    }


LISTED = [entry(*pair) for pair in (("a", 4), ("b", 5), ("o", 11), ("c", 6), ("d", 1), ("e", 1))]
"""Newest first: the third is oversize, the fourth ends the read, and the fifth would still have fitted."""

Reader = Callable[[Sequence[Entry]], list[Entry]]


def right(listed: Sequence[Entry]) -> list[Entry]:
    """The law, word by word."""
    kept: list[Entry] = []
    for one in (one for one in listed if cost(one["content"], COUNTER) <= BUDGET):
        if checks.total([*kept, one], COUNTER) > BUDGET:
            break
        kept.append(one)
    return kept


def skip_and_continue(listed: Sequence[Entry]) -> list[Entry]:
    """Fills the rest with whatever comes later and fits."""
    kept: list[Entry] = []
    for one in listed:
        if checks.total([*kept, one], COUNTER) <= BUDGET:
            kept.append(one)
    return kept


def keep_one(listed: Sequence[Entry]) -> list[Entry]:
    """Never answers nothing."""
    return right(listed) or list(listed[:1])


def constants(_: Sequence[Entry]) -> list[Entry]:
    """Says what a self-report would have to say."""
    return []


def one_constant(_: Sequence[Entry]) -> list[Entry]:
    """Says something small that nobody wrote."""
    return [entry("z", 1)]


def truncating(listed: Sequence[Entry]) -> list[Entry]:
    """Cuts the entry that does not fit."""
    kept = right(listed)
    after = listed[len(kept)]
    rest = BUDGET - checks.total(kept, COUNTER)
    return [*kept, {**after, "content": after["content"][:rest]}]


def oversize_too(listed: Sequence[Entry]) -> list[Entry]:
    """Stops after the entry that went over."""
    return list(listed[: len(right(listed)) + 1])


def reordering(listed: Sequence[Entry]) -> list[Entry]:
    """Sends the right entries the wrong way round."""
    return right(listed)[::-1]


def timid(listed: Sequence[Entry]) -> list[Entry]:
    """Stops one entry early."""
    return right(listed)[:-1]


def twice(listed: Sequence[Entry]) -> list[Entry]:
    """Repeats what is small."""
    return [listed[4], listed[4]]


def test_the_law_passes() -> None:
    """The right answer passes: two entries, the oversize one and what comes after the stop left out."""
    assert checks.ids(right(LISTED)) == ["a", "b"]
    checks.check_budgeted(right(LISTED), LISTED, BUDGET, COUNTER)
    checks.check_strict_prefix(right(LISTED), LISTED, BUDGET, COUNTER)
    checks.check_budgeted([], [LISTED[2]], BUDGET, COUNTER)


@pytest.mark.parametrize(
    "reader",
    [
        *(skip_and_continue, constants, one_constant, truncating, oversize_too, reordering, timid, twice),
    ],
    ids=lambda reader: str(reader.__name__),
)
def test_a_wrong_reader_fails(reader: Reader) -> None:
    """A reader that breaks one rule of RFC 0113 fails the check of a budgeted read."""
    with pytest.raises(AssertionError):
        checks.check_budgeted(reader(LISTED), LISTED, BUDGET, COUNTER)


def test_keeping_one_fails() -> None:
    """A reader that answers the only entry although it exceeds the budget fails three checks."""
    alone = [LISTED[2]]
    for failing in (
        lambda: checks.check_within(keep_one(alone), BUDGET, COUNTER),
        lambda: checks.check_oversize_left_out(keep_one(alone), BUDGET, COUNTER),
        lambda: checks.check_budgeted(keep_one(alone), alone, BUDGET, COUNTER),
    ):
        with pytest.raises(AssertionError):
            failing()


def test_a_strict_prefix_is_told_from_a_loose_one() -> None:
    """Going on past an oversize entry is no strict prefix, and stopping at it is no prefix of the rest."""
    listed = [LISTED[2], LISTED[0]]
    checks.check_budgeted([LISTED[0]], listed, BUDGET, COUNTER)
    checks.check_strict_prefix([], listed, BUDGET, COUNTER)
    with pytest.raises(AssertionError):
        checks.check_strict_prefix([LISTED[0]], listed, BUDGET, COUNTER)
    with pytest.raises(AssertionError):
        checks.check_budgeted([], listed, BUDGET, COUNTER)


@pytest.mark.parametrize(
    "change",
    [
        {"score": 0.5},
        {"tenant": 1},
        {"tags": [""]},
        {"tags": None},
        {"createdAt": "2026-01-01T00:00:00Z"},
        {"createdAt": 1767225600000},
        {"expiresAt": None},
        {"id": ""},
    ],
    ids=str,
)
def test_a_wrong_entry_fails(change: dict[str, Any]) -> None:
    """A field too many, or one of another form, is no entry on the wire."""
    checks.check_wire(entry("a", 1))
    with pytest.raises(AssertionError):
        checks.check_wire(entry("a", 1) | change)


@pytest.mark.parametrize("missing", sorted(checks.REQUIRED))
def test_a_field_too_few_fails(missing: str) -> None:
    """No field of an entry may be missing."""
    with pytest.raises(AssertionError):
        checks.check_wire({name: value for name, value in entry("a", 1).items() if name != missing})


def test_a_wrong_order_fails() -> None:
    """Oldest first, and an order by instants alone that turns equal ones round, fail."""
    older, newer = entry("a", 1), entry("b", 1)
    checks.check_newest_first([newer, older], ["a", "b"])
    with pytest.raises(AssertionError):
        checks.check_newest_first([older, newer], ["a", "b"])
    with pytest.raises(AssertionError):
        checks.check_newest_first([newer, older | {"createdAt": "2027-01-01T00:00:00.000Z"}], ["a", "b"])


def test_a_wrong_expiry_fails() -> None:
    """A reader that serves what has expired, or hides all, fails."""
    listed = [entry("fresh", 1), entry("old", 1)]
    checks.check_expiry(listed[:1], ["fresh"], ["old"])
    for wrong in (listed, [], listed[1:]):
        with pytest.raises(AssertionError):
            checks.check_expiry(wrong, ["fresh"], ["old"])


@pytest.mark.parametrize(
    ("owned", "foreign"),
    [
        (["x"], [{"id": "x"}]),
        ([], []),
        (["x"], {}),
        (["y"], []),
        (["x"], False),
    ],
    ids=str,
)
def test_a_leak_fails(owned: list[str], foreign: object) -> None:
    """A foreign entry, an owner who sees nothing, and an answer that is neither list nor null fail."""
    checks.check_isolated([{"id": "x"}], ["x"], [])
    with pytest.raises(AssertionError):
        checks.check_isolated([{"id": one} for one in owned], ["x"], foreign)


def test_a_wrong_redaction_fails() -> None:
    """A plain value beside the marker, and no marker at all, fail."""
    checks.check_redacted("key [REDACTED:portal] end", "plain-value")
    for wrong in ("key [REDACTED:portal] plain-value", "key end", "key <REDACTED:portal>"):
        with pytest.raises(AssertionError):
            checks.check_redacted(wrong, "plain-value")


@pytest.mark.parametrize(
    "wrong",
    [
        {"error": "validation_error"},
        {"error": "validation_error", "message": "m", "details": {}},
        {"error": "validation_error", "message": "m", "details": {"fields": []}},
        {"error": "invalid_request", "message": "m", "details": {"fields": [{"field": "f", "reason": "r"}]}},
        {"error": "validation_error", "message": "m", "details": {"fields": [{"field": "f"}]}},
        {
            "error": "validation_error",
            "message": "m",
            "details": {"fields": [{"field": "f", "reason": "r"}]},
            "status": 400,
        },
    ],
    ids=",".join,
)
def test_a_wrong_refusal_fails(wrong: dict[str, Any]) -> None:
    """Another code, a key too many, no fields or no reason is no refusal of this field."""
    good = {
        "error": "validation_error",
        "message": "m",
        "details": {"fields": [{"field": "f", "reason": "r"}]},
    }
    checks.check_refused(good, "f")
    with pytest.raises(AssertionError):
        checks.check_refused(wrong, "f")


def test_costs_are_counted_here() -> None:
    """The four units as their names say, on text whose tokens are known."""
    text = "tiktoken is great!"
    assert [cost(text, name) for name in ("o200k_base", "cl100k_base", "chars", "host-defined")] == [
        *(6, 6, 18, 5),
    ]
    assert cost("é" * 3 + "\U0001f600", "chars") == 4
