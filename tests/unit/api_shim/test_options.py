"""Read options: one valid reading of a query, or every bad field by name."""

import pytest

from api_shim.options import LIST_OPTIONS, read_options
from foreword.budget import DEFAULT_LIMIT, HOST_CAP
from foreword.errors import ValidationError
from foreword.position import Cursor, write_cursor, write_position
from foreword.scope import Scope

SCOPE = Scope(7, "a")


def test_a_bare_list_is_unbudgeted() -> None:
    """Without options the newest hundred are asked for, in the advertised counter."""
    options = read_options([("memoryRef", "a")], 7, "chars")
    ask = options.ask()
    assert (ask.counter, ask.budget, ask.limit, ask.fit) == ("chars", None, DEFAULT_LIMIT, "prefix")
    assert (ask.before, ask.remaining, ask.tag, ask.kind, options.all_fields) == (
        None,
        None,
        None,
        None,
        False,
    )


def test_everything_can_be_asked() -> None:
    """Every option lands in its place; a budget lifts the default limit to the host's cap."""
    cursor = write_cursor(SCOPE, "t\x00core", Cursor(before=9, remaining=4))
    pairs = {
        "memoryRef": "a",
        "tokenBudget": "12",
        "tokenCounter": "host-defined",
        "fit": "pack",
        "tag": "t",
        "kind": "core",
        "rank": "recency",
        "query": "ignored",
        "minSimilarity": "0.5",
        "cursor": cursor,
        "after": write_position(SCOPE, 3),
        "fields": "all",
    }
    options = read_options([*pairs.items()], 7, "chars")
    ask = options.ask()
    assert (ask.counter, ask.ordinal, ask.budget, ask.limit) == ("host-defined", 3, 12, HOST_CAP)
    assert (ask.fit, ask.tag, ask.kind, ask.before, ask.remaining) == ("pack", "t", "core", 9, 4)
    assert (options.after, options.all_fields) == (3, True)
    assert {*pairs, "limit"} == {*LIST_OPTIONS}


def test_every_bad_option_is_named_once() -> None:
    """Wrong values of all options are one refusal."""
    wrong = dict.fromkeys(LIST_OPTIONS, "\x00") | {"memoryRef": "a"}
    with pytest.raises(ValidationError) as caught:
        read_options([*wrong.items()], 7, "chars")
    assert sorted(f.field for f in caught.value.fields) == sorted(set(LIST_OPTIONS) - {"memoryRef"})


@pytest.mark.parametrize("scope", [Scope(8, "a"), Scope(7, "b"), Scope(7, "\udcff")])
def test_tokens_belong_to_their_memory(scope: Scope) -> None:
    """Tokens of another tenant's or memory's are refused, also for a ref that is no text."""
    tokens = {"cursor": write_cursor(SCOPE, "\x00", Cursor(9, 4)), "after": write_position(SCOPE, 3)}
    pairs = {"memoryRef": scope.memory_ref, **tokens}
    with pytest.raises(ValidationError) as caught:
        read_options([*pairs.items()], scope.tenant, "chars")
    assert sorted(f.field for f in caught.value.fields) == ["after", "cursor"]
