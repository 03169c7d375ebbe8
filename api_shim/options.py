"""Read options: validated once, for every door.

Query values arrive as text; anything that is not exactly what it should be is refused, every bad field at
once (RFC 0113; OpenWOP agent-memory, options). A malformed memoryRef is not refused: it names an empty
memory.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache, partial

from api_shim.filters import Filter, compile_filter
from api_shim.given import Given, query_pairs
from foreword.budget import FITS, Fit, page_limit
from foreword.counters import COUNTERS
from foreword.draft import KINDS
from foreword.page import Ask
from foreword.position import Cursor, read_cursor, read_position
from foreword.scope import Scope

MAX_TAG = 256
MAX_TOKEN = 256
MAX_QUERY = 4096
RANKS = ("recency", "relevance")
FIELDS = ("all",)

LIST_OPTIONS = (
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
    cursor: Cursor | None = None
    after: int | None = None
    all_fields: bool = False
    rank: str = "recency"
    question: str | None = None
    floor: float | None = None

    def chosen(self) -> Filter:
        """Tag and kind as a filter."""
        wanted = {"tags": self.tag, "kind": self.kind}
        given = {name: value for name, value in wanted.items() if value is not None}
        return compile_filter(given or None)

    @property
    def filters(self) -> str:
        """What a cursor must agree with to continue this read."""
        return _filters(self.tag, self.kind)

    @lru_cache(maxsize=4096)  # noqa: B019 - of values
    def ask(self) -> Ask:
        """The recency read."""
        return Ask(
            counter=self.counter,
            ordinal=COUNTERS[self.counter].ordinal,
            budget=self.budget,
            limit=page_limit(self.limit, budgeted=self.budget is not None),
            fit=self.fit,
            before=None if self.cursor is None else self.cursor.before,
            remaining=None if self.cursor is None else self.cursor.remaining,
            tag=self.tag,
            kind=self.kind,
        )


def options_of(query: bytes, tenant: int, default_counter: str) -> ReadOptions:
    """Options of a tenant's list from a query as it arrived; what is asked often is parsed once."""
    parse = _parse_once if len(query) <= _SHORT else _parse
    return parse(query, tenant, default_counter)


def _parse(query: bytes, tenant: int, default_counter: str) -> ReadOptions:
    return read_options(query_pairs(query), tenant, default_counter)


_parse_once = lru_cache(maxsize=4096)(_parse)
_SHORT = 1024
"""Bytes of a query that is worth its place in memory."""


def read_options(pairs: Sequence[tuple[str, str]], tenant: int, default_counter: str) -> ReadOptions:
    """Options of a tenant's list from query pairs; ValidationError names every bad one.

    Tokens of another memory, or of a read with other filters, are refused.
    """
    given = Given(pairs, LIST_OPTIONS)
    scope = Scope(tenant, given.memory_ref())
    tag, kind = given.text("tag", MAX_TAG), given.choice("kind", KINDS, None)
    cursor, after = given.text("cursor", MAX_TOKEN), given.text("after", MAX_TOKEN)
    filters = _filters(tag, kind)
    rank, question, floor = _ranking(given)
    options = ReadOptions(
        memory_ref=scope.memory_ref,
        counter=given.choice("tokenCounter", tuple(COUNTERS), default_counter),
        budget=given.integer("tokenBudget", least=1),
        limit=given.integer("limit", least=0),
        fit=given.choice("fit", FITS, "prefix"),  # type: ignore[arg-type]
        tag=tag,
        kind=kind,
        cursor=None if cursor is None else given.take(partial(read_cursor, scope, filters, cursor)),
        after=None if after is None else given.take(partial(read_position, scope, after)),
        all_fields=given.choice("fields", FIELDS, None) is not None,
        rank=rank,
        question=question,
        floor=floor,
    )
    given.close()
    return options


def _filters(tag: str | None, kind: str | None) -> str:
    return f"{tag or ''}\x00{kind or ''}"


def _ranking(given: Given) -> tuple[str, str | None, float | None]:
    """What belongs to the order: relevance needs a query and has no cursor; recency ignores both."""
    rank = given.choice("rank", RANKS, "recency")
    question = given.text("query", MAX_QUERY)
    floor = given.number("minSimilarity", least=-1, most=1)
    if rank == "relevance":
        if "query" not in given.values:
            given.refuse("query", "is required for rank=relevance")
        elif question is not None and not question.strip():
            given.refuse("query", "must not be all blank")
        if "cursor" in given.values:
            given.refuse("cursor", "is for recency")
    return rank, question, floor
