"""The filter language: what a search may ask of fields, compiled to parameters and never to text.

    {"kind": "fact"}                                  equality
    {"confidence": {"gte": 0.5, "lt": 0.9}}           ranges; also over createdAt, observedAt, expiresAt
    {"tags": {"in": ["a", "b"]}}                      any of these
    {"metadata.project": "apollo"}                    a path into metadata
    {"source": {"exists": false}}
    {"and": [...]}, {"or": [...]}, {"not": {...}}     fields side by side are joined by "and"

Bounded by depth and size. There is no field for the tenant or the memoryRef: a filter narrows one Scope.
"""

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from decimal import Decimal
from typing import Any, Final

from foreword import instant
from foreword.budget import MAX_BUDGET
from foreword.errors import Field, ValidationError

MOST_DEPTH: Final = 8
MOST_CONDITIONS: Final = 64
MOST_VALUES: Final = 256
_MOST_CHARS: Final = 1024

_COMPARE: Final = {"gt": ">", "gte": ">=", "lt": "<", "lte": "<="}
_OPERATORS: Final = ("eq", "in", *_COMPARE, "exists")
_PATH: Final = re.compile(r"metadata((?:\.[A-Za-z0-9_-]{1,64}){1,8})")


@dataclass(frozen=True)
class _Kind:
    """A field: its column, how a value is checked, whether it has an order."""

    column: str
    cast: str
    check: Callable[[object], object]
    ordered: bool = False


class _Wrong(ValueError):
    """A value that a field cannot have."""


def _text(value: object) -> object:
    if not isinstance(value, str) or len(value) > _MOST_CHARS or re.search(r"[\x00\ud800-\udfff]", value):
        raise _Wrong(f"must be a string of at most {_MOST_CHARS} characters")
    return value


def _number(value: object) -> object:
    """In decimal, as it was written: what is compared in binary is not what a caller reads."""
    if isinstance(value, bool) or not isinstance(value, int | float) or not abs(value) <= MAX_BUDGET:
        raise _Wrong("must be a number within 2^53 - 1 of 0")
    return Decimal(repr(value))


def _flag(value: object) -> object:
    if not isinstance(value, bool):
        raise _Wrong("must be true or false")
    return value


def _moment(value: object) -> object:
    try:
        return instant.to_datetime(instant.from_wire(value))  # type: ignore[arg-type]
    except (TypeError, ValueError) as error:
        raise _Wrong("must be an RFC 3339 instant with a zone") from error


_FIELDS: Final = {
    "id": _Kind("e.id", "text", _text),
    "kind": _Kind("e.kind", "text", _text),
    "source": _Kind("e.source", "text", _text),
    "speaker": _Kind("e.speaker", "text", _text),
    "conversation": _Kind("e.conversation", "text", _text),
    "pinned": _Kind("e.pinned", "boolean", _flag),
    "confidence": _Kind("e.confidence::numeric", "numeric", _number, ordered=True),
    "createdAt": _Kind("e.created_at", "timestamptz", _moment, ordered=True),
    "observedAt": _Kind("e.observed_at", "timestamptz", _moment, ordered=True),
    "expiresAt": _Kind("e.expires_at", "timestamptz", _moment, ordered=True),
}
FIELDS: Final = (*_FIELDS, "tags", "metadata.<path>")


@dataclass(frozen=True)
class Filter:
    """A condition over ``entries e`` and its parameters; ``true`` when nothing is asked."""

    sql: str = "true"
    params: Mapping[str, object] = field(default_factory=dict)

    @property
    def is_open(self) -> bool:
        """Whether every row passes."""
        return self.sql == "true"


def compile_filter(given: object, name: str = "filter") -> Filter:
    """The condition of a filter; ValidationError names the place of what is wrong with it."""
    if given is None:
        return Filter()
    compiler = _Compiler(name)
    sql = compiler.node(given, name, 0)
    if compiler.bad:
        raise ValidationError(compiler.bad)
    return Filter(sql, compiler.params)


class _Compiler:
    def __init__(self, name: str) -> None:
        self.name = name
        self.params: dict[str, object] = {}
        self.bad: list[Field] = []
        self._conditions = 0

    def node(self, given: object, place: str, depth: int) -> str:
        if depth > MOST_DEPTH:
            return self._refuse(place, f"is nested more than {MOST_DEPTH} deep")
        if not isinstance(given, dict) or not given:
            return self._refuse(place, "must be an object with at least one condition")
        parts = [self._member(key, value, place, depth) for key, value in given.items()]
        return parts[0] if len(parts) == 1 else "(" + " AND ".join(parts) + ")"

    def _member(self, key: str, value: object, place: str, depth: int) -> str:
        if key in ("and", "or"):
            if not isinstance(value, list) or not 1 <= len(value) <= MOST_CONDITIONS:
                return self._refuse(f"{place}.{key}", f"must be a list of 1 to {MOST_CONDITIONS} filters")
            inner = [self.node(item, f"{place}.{key}[{i}]", depth + 1) for i, item in enumerate(value)]
            return "(" + f" {key.upper()} ".join(inner) + ")"
        if key == "not":
            return f"(NOT coalesce({self.node(value, f'{place}.not', depth + 1)}, false))"
        return self._field(key, value, place)

    def _field(self, key: str, value: object, place: str) -> str:
        conditions = value if isinstance(value, dict) else {"eq": value}
        path = _PATH.fullmatch(key)
        if key not in _FIELDS and key != "tags" and path is None:
            return self._refuse(place, "names a field that cannot be filtered")
        place = f"{place}.{key}"
        if not conditions or not set(conditions) <= set(_OPERATORS):
            return self._refuse(place, "must be a value or an object of " + ", ".join(_OPERATORS))
        parts = []
        for operator, operand in conditions.items():
            self._conditions += 1
            if self._conditions > MOST_CONDITIONS:
                return self._refuse(self.name, f"has more than {MOST_CONDITIONS} conditions")
            try:
                if key == "tags":
                    parts.append(self._tags(operator, operand))
                elif path is not None:
                    parts.append(self._metadata(path[1][1:].split("."), operator, operand))
                else:
                    parts.append(self._column(_FIELDS[key], operator, operand))
            except _Wrong as error:
                self._refuse(f"{place}.{operator}", str(error))
        return "(" + " AND ".join(parts or ["false"]) + ")"

    def _column(self, kind: _Kind, operator: str, operand: object) -> str:
        if operator == "exists":
            return f"({kind.column} IS {'NOT ' if _flag(operand) else ''}NULL)"
        if operator == "in":
            return f"({kind.column} = ANY ({self._bind(_list(operand, kind.check))}::{kind.cast}[]))"
        if operator != "eq" and not kind.ordered:
            raise _Wrong("cannot be compared by order")
        return f"({kind.column} {_COMPARE.get(operator, '=')} {self._bind(kind.check(operand))}::{kind.cast})"

    def _tags(self, operator: str, operand: object) -> str:
        if operator == "exists":
            return f"(cardinality(e.tags) {'>' if _flag(operand) else '='} 0)"
        if operator not in ("eq", "in"):
            raise _Wrong("cannot be compared by order")
        wanted = _list(operand, _text) if operator == "in" else [_text(operand)]
        return f"(e.tags && {self._bind(wanted)}::text[])"

    def _metadata(self, path: list[str], operator: str, operand: object) -> str:
        found = f"(e.metadata #> {self._bind(path)}::text[])"
        if operator == "exists":
            return f"({found} IS {'NOT ' if _flag(operand) else ''}NULL)"
        if operator in _COMPARE:
            number = self._bind(_number(operand))
            return (
                f"(CASE WHEN jsonb_typeof({found}) = 'number' THEN ({found} #>> '{{}}')::numeric "
                f"{_COMPARE[operator]} {number}::numeric ELSE false END)"
            )
        wanted = _list(operand, _scalar) if operator == "in" else [_scalar(operand)]
        return "(" + " OR ".join(f"{found} = to_jsonb({self._scalar(value)})" for value in wanted) + ")"

    def _scalar(self, value: object) -> str:
        kind = "boolean" if isinstance(value, bool) else "text" if isinstance(value, str) else "numeric"
        return f"{self._bind(value)}::{kind}"

    def _bind(self, value: object) -> str:
        name = f"f{len(self.params)}"
        self.params[name] = value
        return f"%({name})s"

    def _refuse(self, place: str, reason: str) -> str:
        self.bad.append(
            Field(place[:200] if re.fullmatch(r"[\w.\[\]-]{1,400}", place) else self.name, reason)
        )
        return "false"


def _list(value: object, check: Callable[[object], object]) -> list[object]:
    if not isinstance(value, list) or not 1 <= len(value) <= MOST_VALUES:
        raise _Wrong(f"must be a list of 1 to {MOST_VALUES} values")
    return [check(item) for item in value]


def _scalar(value: Any) -> object:
    if isinstance(value, bool):
        return value
    return _text(value) if isinstance(value, str) else _number(value)
