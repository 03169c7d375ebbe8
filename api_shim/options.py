"""Read options: validated once, for every door.

Query values arrive as text; anything that is not exactly what it should be is refused, every bad field at
once (RFC 0113; OpenWOP agent-memory, options). A malformed memoryRef is not refused: it names an empty
memory.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TypeVar

from foreword.budget import FITS, MAX_BUDGET, Fit, page_limit
from foreword.counters import COUNTERS
from foreword.draft import KINDS
from foreword.errors import Field, ValidationError
from foreword.page import Ask
from foreword.position import read_cursor, read_position
from foreword.scope import Scope

Default = TypeVar("Default", str, None)

_INTEGER = re.compile(r"[0-9]{1,16}")
_NUMBER = re.compile(r"-?[0-9]{1,3}(\.[0-9]{1,9})?")
_KNOWN = frozenset(
    (
        "memoryRef",
        "limit",
        "tag",
        "tokenBudget",
        "tokenCounter",
        "rank",
        "query",
        "fit",
        "minSimilarity",
        "kind",
        "cursor",
        "after",
        "fields",
    )
)


@dataclass(frozen=True, kw_only=True, slots=True)
class ReadOptions:
    """A list as asked for. ``after`` is the accept position that must be visible first."""

    memory_ref: str
    counter: str
    budget: int | None = None
    limit: int | None = None
    fit: Fit = "prefix"
    tag: str | None = None
    kind: str | None = None
    cursor: str | None = None
    after: str | None = None
    all_fields: bool = False

    @property
    def filters(self) -> str:
        """What a cursor must agree with to continue this read."""
        return f"{self.tag or ''}\x00{self.kind or ''}"

    def ask(self, scope: Scope) -> Ask:
        """The recency read; ValidationError when the cursor continues another one."""
        cursor = None if self.cursor is None else read_cursor(scope, self.filters, self.cursor)
        return Ask(
            counter=self.counter,
            ordinal=COUNTERS[self.counter].ordinal,
            budget=self.budget,
            limit=page_limit(self.limit, budgeted=self.budget is not None),
            fit=self.fit,
            before=None if cursor is None else cursor.before,
            remaining=None if cursor is None else cursor.remaining,
            tag=self.tag,
            kind=self.kind,
        )

    def awaited(self, scope: Scope) -> int | None:
        """The accept position this read must see; ValidationError for a token of another scope."""
        return None if self.after is None else read_position(scope, self.after)


def read_options(pairs: Sequence[tuple[str, str]], default_counter: str) -> ReadOptions:
    """Options of a list from query pairs; ValidationError names every bad one."""
    given = _Given(pairs, _KNOWN)
    budget = given.integer("tokenBudget", least=1)
    options = ReadOptions(
        memory_ref=given.required("memoryRef"),
        counter=given.choice("tokenCounter", tuple(COUNTERS), default_counter),
        budget=budget,
        limit=given.integer("limit", least=0),
        fit=given.choice("fit", FITS, "prefix"),  # type: ignore[arg-type]
        tag=given.text("tag", 256),
        kind=given.choice("kind", KINDS, None),
        cursor=given.text("cursor", 256),
        after=given.text("after", 256),
        all_fields=given.choice("fields", ("all",), None) is not None,
    )
    given.ranking()
    given.close()
    return options


class _Given:
    """Query values by name, and what is wrong with them."""

    def __init__(self, pairs: Sequence[tuple[str, str]], known: frozenset[str]) -> None:
        self.values: dict[str, str] = {}
        self.bad: list[Field] = []
        for name, value in pairs:
            if name not in known:
                shown = name if re.fullmatch(r"[A-Za-z0-9_.-]{1,64}", name) else "(unnamed)"
                self.refuse(shown, "is not an option of this call")
            elif name in self.values:
                self.refuse(name, "is given more than once")
            else:
                self.values[name] = value

    def refuse(self, name: str, reason: str) -> None:
        self.bad.append(Field(name, reason))

    def close(self) -> None:
        if self.bad:
            raise ValidationError(list(dict.fromkeys(self.bad)))

    def required(self, name: str) -> str:
        if name not in self.values:
            self.refuse(name, "is required")
        return self.values.get(name, "")

    def integer(self, name: str, *, least: int) -> int | None:
        text = self.values.get(name)
        if text is None:
            return None
        if _INTEGER.fullmatch(text) is None or not least <= int(text) <= MAX_BUDGET:
            self.refuse(name, f"must be an integer from {least} to 2^53 - 1")
            return None
        return int(text)

    def text(self, name: str, most: int) -> str | None:
        text = self.values.get(name)
        if text is None:
            return None
        if not 1 <= len(text) <= most or "\x00" in text or (not text.isascii() and not _is_utf8(text)):
            self.refuse(name, f"must be 1 to {most} characters")
            return None
        return text

    def choice(self, name: str, known: Sequence[str], default: Default) -> "str | Default":
        text = self.values.get(name)
        if text is None:
            return default
        if text not in known:
            self.refuse(name, "must be one of " + ", ".join(known))
            return default
        return text

    def ranking(self) -> None:
        """Only recency is served here; what belongs to relevance is still checked."""
        rank = self.choice("rank", ("recency", "relevance"), "recency")
        self.text("query", 4096)
        floor = self.values.get("minSimilarity")
        if floor is not None and (_NUMBER.fullmatch(floor) is None or not -1 <= float(floor) <= 1):
            self.refuse("minSimilarity", "must be a number from -1 to 1")
        if rank == "relevance":
            self.refuse("rank", "relevance is not available on this server")


def _is_utf8(text: str) -> bool:
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


def single_options(pairs: Sequence[tuple[str, str]], known: Mapping[str, int]) -> dict[str, str]:
    """Plain text options of small calls: each known name with the most characters it may have.

    ``memoryRef`` is required where it is known, and may be of any shape.
    """
    given = _Given(pairs, frozenset(known))
    if "memoryRef" in known:
        given.required("memoryRef")
    for name, most in known.items():
        if name != "memoryRef":
            given.text(name, most)
    given.close()
    return given.values
