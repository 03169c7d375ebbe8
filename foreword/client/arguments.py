"""Arguments as they go over the wire: Drafts and options in the contract's names, batches, paths."""

import json
from collections.abc import Iterable, Iterator, Mapping
from datetime import datetime
from typing import Any, TypedDict
from urllib.parse import quote

from foreword import instant
from foreword.client.answers import camel
from foreword.errors import ValidationError
from foreword.ids import uuid7

BATCH_ENTRIES = 1000
"""How many Drafts one request carries at most."""

BATCH_BYTES = 4 * 1024 * 1024
"""How many bytes of Drafts or export lines one request carries at most; one larger Draft goes alone."""


class DraftFields(TypedDict, total=False):
    """The optional fields of a Draft. ``id`` is the idempotency key; one is made when it is absent."""

    id: str
    tags: Iterable[str]
    kind: str
    confidence: float
    pinned: bool
    metadata: Mapping[str, Any]
    source: str
    speaker: str
    conversation: str
    observed_at: datetime | str
    links: Iterable[Mapping[str, str] | str]
    supersedes: Iterable[str] | str
    expires_at: datetime | str


class DraftBody(DraftFields, total=False):
    """A Draft for ``remember_many``: the optional fields and its ``content``."""

    content: str


class ListOptions(TypedDict, total=False):
    """How to read a list. ``token_budget`` is in ``token_counter``; ``fit`` is prefix, strict or pack.

    ``after`` is a receipt's position to wait for; ``fields="all"`` also asks for kind, costs and the rest.
    ``rank="relevance"`` orders by similarity to ``query``, from ``min_similarity`` (-1..1) upwards.
    """

    rank: str
    query: str
    min_similarity: float
    limit: int
    tag: str
    kind: str
    token_budget: int
    token_counter: str
    fit: str
    cursor: str
    after: str
    fields: str


class SearchOptions(TypedDict, total=False):
    """How to search. ``mode`` is semantic, lexical, hybrid (the default) or filter, which needs no query.

    ``filter`` is in the language of docs/api.md; ``top_k`` and ``token_budget`` bound what comes back;
    ``min_similarity`` (-1..1) is a floor for what is found by meaning.
    """

    mode: str
    filter: Mapping[str, Any]
    top_k: int
    min_similarity: float
    token_budget: int
    token_counter: str
    fit: str
    fields: str


class RecallOptions(TypedDict, total=False):
    """How to recall. ``token_budget`` (1,024) includes the block's frame.

    ``format`` is markdown-prompt, xml or json. ``exclude`` are ids not to send; ``session`` is that of the
    conversation's last recall. ``shares`` gives memories fractions of the budget, where several are asked.
    """

    token_budget: int
    top_k: int
    min_similarity: float
    token_counter: str
    format: str
    exclude: Iterable[str]
    session: str
    shares: Mapping[str, float]


def question_body(
    memory_ref: str | Iterable[str], query: str | None, options: Mapping[str, Any], known: type
) -> dict[str, Any]:
    """The body of a search or a recall in the contract's names, without what is None."""
    refuse_unknown(options, known)
    given = {"memory_ref": memory_ref, "query": query, **options}
    return {camel(name): _plain(value) for name, value in given.items() if value is not None}


def _plain(value: object) -> object:
    if isinstance(value, datetime):
        return instant_of(value)
    if isinstance(value, Mapping):
        return {name: _plain(item) for name, item in value.items()}
    if isinstance(value, Iterable) and not isinstance(value, str | bytes):
        return [_plain(item) for item in value]
    return value


def draft_body(memory_ref: str, draft: Mapping[str, Any]) -> dict[str, Any]:
    """A Draft in the contract's names, under its own id or a fresh one."""
    refuse_unknown(draft, DraftBody)
    body: dict[str, Any] = {"memoryRef": memory_ref, "id": draft.get("id") or uuid7()}
    for name, value in draft.items():
        if value is None or name == "id":
            continue
        if isinstance(value, datetime):
            body[camel(name)] = instant_of(value)
        elif name in ("tags", "links", "supersedes") and not isinstance(value, str):
            body[camel(name)] = list(value)
        else:
            body[camel(name)] = value
    return body


def batches(items: Iterable[bytes]) -> Iterator[tuple[int, list[bytes]]]:
    """As many as one request may carry, at a time, each with the number of items before it."""
    batch: list[bytes] = []
    offset, size = 0, 0
    for item in items:
        if batch and (len(batch) == BATCH_ENTRIES or size + len(item) > BATCH_BYTES):
            yield offset, batch
            offset, batch, size = offset + len(batch), [], 0
        batch.append(item)
        size += len(item)
    if batch:
        yield offset, batch


def refuse_unknown(given: Mapping[str, Any], known: type) -> None:
    """TypeError for a name that ``known`` does not have, as for any wrong keyword."""
    for name in given:
        if name not in known.__annotations__:
            raise TypeError(
                f"unexpected argument {name!r}; known are {', '.join(sorted(known.__annotations__))}"
            )


def to_json(value: object) -> bytes:
    """Compact UTF-8; ValidationError for what JSON cannot hold."""
    try:
        return json.dumps(value, ensure_ascii=False, separators=(",", ":"), allow_nan=False).encode()
    except UnicodeEncodeError as error:
        raise ValidationError.of("body", "must not hold a lone surrogate") from error
    except (TypeError, ValueError) as error:
        raise ValidationError.of("body", "must be JSON") from error


def params_of(**values: Any) -> dict[str, str]:
    """A query in the contract's names, without what is None."""
    return {camel(name): _param(value) for name, value in values.items() if value is not None}


def _param(value: object) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)


def segment(name: str, text: str) -> str:
    """One segment of a path. A dot segment is refused: it would be resolved to another, wider resource."""
    if text in ("", ".", "..") or not text.isascii():
        raise ValidationError.of(name, "is not an id")
    return quote(text, safe="")


def instant_of(value: datetime | str | None) -> str | None:
    """An aware datetime as an instant; text is left to the server to judge."""
    if not isinstance(value, datetime):
        return value
    if value.tzinfo is None:
        raise ValidationError.of("datetime", "must have a time zone")
    return instant.to_wire(instant.from_datetime(value))
