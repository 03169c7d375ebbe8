"""Entries of every kind, filters of every shape, and a plain reading of one over the other."""

import random
import re
from collections.abc import Mapping, Sequence
from typing import Any

from hypothesis import strategies as st

from foreword import instant
from foreword.draft import KINDS, Draft
from foreword.scope import Scope

NAMES = ("mail", "Mail", "", "it's", "'; DROP TABLE entries; --", "%s %(f0)s", "{filter}", "\\", "é", "null")
NUMBERS = (0, 1, -1, 2, 0.1, 0.9, 0.3, 1 / 3, 1e-50, 2**53 - 1, -(2**53) + 1, 5e15, 0.1 + 0.2)
STORED = (*NUMBERS, 2**70, 10**400, 1e300)
PATHS = ("a", "b", "a.b", "a.b.c", "b.0", "b.-1", "b.x", "a-b", "0", "a.a.a.a.a.a.a.a")
INSTANTS = (
    "2020-01-01T00:00:00Z",
    "2026-11-01T12:00:00.123Z",
    "2099-06-01T02:00:00+02:00",
    "2020-01-01T00:00:00.001Z",
)
TEXTS = ("id", "kind", "source", "speaker", "conversation")
TIMES = {"createdAt": "created_at", "observedAt": "observed_at", "expiresAt": "expires_at"}
ORDERED = {
    "lt": lambda a, b: a < b,
    "lte": lambda a, b: a <= b,
    "gt": lambda a, b: a > b,
    "gte": lambda a, b: a >= b,
}


def value(chance: random.Random, depth: int = 0) -> Any:
    """Some JSON, often of the few values that filters ask for."""
    kind = chance.randrange(8 if depth < 4 else 6)
    if kind < 2:
        return chance.choice(NAMES)
    if kind < 4:
        return chance.choice(STORED)
    if kind == 4:
        return chance.random() < 0.5
    if kind == 5:
        return None
    if kind == 6:
        return [value(chance, depth + 1) for _ in range(chance.randrange(3))]
    return {name: value(chance, depth + 1) for name in chance.sample(("a", "b", "c", "0", "x"), 2)}


def entry(chance: random.Random, ref: str, n: int) -> Draft:
    """One that has some fields and lacks others."""
    maybe = lambda what: what if chance.random() < 0.6 else None  # noqa: E731
    names = [name for name in NAMES if name]
    now = instant.now_ms()
    return Draft(
        memory_ref=ref,
        id=f"e{n}",
        content=f"common word {n * 7919}",
        kind=chance.choice(KINDS),
        confidence=chance.choice((0.0, 0.1, 0.3, 0.9, 1.0, 0.333333)),
        pinned=chance.random() < 0.5,
        tags=tuple(chance.sample(names, chance.randrange(4))),
        source=maybe(chance.choice(names)),
        speaker=maybe(chance.choice(("Ann", "Bo", "%s"))),
        conversation=maybe(chance.choice(names)),
        metadata={name: value(chance) for name in chance.sample(("a", "b", "a-b", "0"), chance.randrange(4))},
        observed_at=instant.from_wire(chance.choice(INSTANTS)),
        expires_at=maybe(instant.from_wire(INSTANTS[2])),
        created_at=instant.from_wire(chance.choice(INSTANTS[:2])) if chance.random() < 0.7 else now,
    )


class Shelf:
    """A memory of many different entries, and what the ledger holds of each."""

    def __init__(self, scope: Scope, rows: Sequence[Mapping[str, Any]]) -> None:
        self.scope = scope
        self.rows = rows


def holds(row: Mapping[str, Any], chosen: Mapping[str, Any]) -> bool:
    """A filter, read plainly."""
    return all(_member(row, name, given) for name, given in chosen.items())


def _member(row: Mapping[str, Any], name: str, given: Any) -> bool:
    if name == "and":
        return all(holds(row, one) for one in given)
    if name == "or":
        return any(holds(row, one) for one in given)
    if name == "not":
        return not holds(row, given)
    conditions = given if isinstance(given, dict) else {"eq": given}
    return all(_condition(row, name, operator, wanted) for operator, wanted in conditions.items())


def _condition(row: Mapping[str, Any], name: str, operator: str, wanted: Any) -> bool:
    if name == "tags":
        if operator == "exists":
            return bool(row["tags"]) == wanted
        return any(one in row["tags"] for one in (wanted if operator == "in" else [wanted]))
    there, found = _found(row, name)
    if operator == "exists":
        return there == wanted
    if not there:
        return False
    if operator in ORDERED:
        is_number = isinstance(found, int | float) and not isinstance(found, bool)
        if name in TIMES:
            return bool(ORDERED[operator](found, instant.to_datetime(instant.from_wire(wanted))))
        return is_number and bool(ORDERED[operator](found, wanted))
    return any(_same(name, found, one) for one in (wanted if operator == "in" else [wanted]))


def _found(row: Mapping[str, Any], name: str) -> tuple[bool, Any]:
    if name.startswith("metadata."):
        at = row["metadata"]
        for step in name.split(".")[1:]:
            if isinstance(at, dict) and step in at:
                at = at[step]
            elif isinstance(at, list) and re.fullmatch(r"-?\d+", step) and -len(at) <= int(step) < len(at):
                at = at[int(step)]
            else:
                return False, None
        return True, at
    found = row[TIMES.get(name, name)]
    return found is not None, found


def _same(name: str, found: Any, wanted: Any) -> bool:
    if name in TIMES:
        return bool(found == instant.to_datetime(instant.from_wire(wanted)))
    return isinstance(found, bool) == isinstance(wanted, bool) and found == wanted


def conditions(values: Any, *, ordered: bool = False, exists: bool = True) -> Any:
    """A value, or an object of operators, over these values."""
    operators = {"eq": values, "in": st.lists(values, min_size=1, max_size=4)}
    if ordered:
        operators |= dict.fromkeys(ORDERED, values)
    if exists:
        operators["exists"] = st.booleans()
    several = st.fixed_dictionaries({}, optional=operators).filter(bool)
    return values | several


_names, _numbers, _times = st.sampled_from(NAMES), st.sampled_from(NUMBERS), st.sampled_from(INSTANTS)
_texts = st.sampled_from(TEXTS).flatmap(
    lambda name: st.tuples(
        st.just(name),
        conditions(
            {"kind": st.sampled_from(KINDS), "id": st.sampled_from([f"e{n}" for n in range(160)])}.get(
                name, _names
            )
            | st.sampled_from(("Ann", "Bo", "%s"))
        ),
    )
)
_metadata = st.sampled_from(PATHS).flatmap(
    lambda path: st.tuples(
        st.just(f"metadata.{path}"),
        conditions(_names | _numbers | st.booleans())
        | st.dictionaries(st.sampled_from(tuple(ORDERED)), _numbers, min_size=1, max_size=2),
    )
)
_fields = (
    _texts
    | _metadata
    | st.tuples(st.just("pinned"), conditions(st.booleans()))
    | st.tuples(st.just("tags"), conditions(_names))
    | st.tuples(st.just("confidence"), conditions(_numbers, ordered=True))
    | st.tuples(st.sampled_from(tuple(TIMES)), conditions(_times, ordered=True))
)
_leaves = st.lists(_fields, min_size=1, max_size=2).map(dict)
FILTERS = st.recursive(
    _leaves,
    lambda inner: (
        st.fixed_dictionaries({"and": st.lists(inner, min_size=1, max_size=3)})
        | st.fixed_dictionaries({"or": st.lists(inner, min_size=1, max_size=3)})
        | st.fixed_dictionaries({"not": inner})
        | st.tuples(inner, _leaves).map(lambda two: {**two[1], **two[0]})
    ),
    max_leaves=8,
)
