"""What to ask: every call as a value, built without I/O, so that the sync and the async client share it."""

import json
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Generic, TypedDict, TypeVar
from urllib.parse import quote

import httpx

from foreword import instant
from foreword.client.answers import Entry, Event, Job, Page, Receipt, Removal, Stats, camel
from foreword.errors import ValidationError
from foreword.ids import uuid7

T = TypeVar("T")

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
    """

    limit: int
    tag: str
    kind: str
    token_budget: int
    token_counter: str
    fit: str
    cursor: str
    after: str
    fields: str


@dataclass(frozen=True, kw_only=True)
class Call(Generic[T]):
    """One request and how to read its answer.

    ``patience``: seconds the server may take on purpose, on top of the client's own timeout. ``repeatable``:
    whether the request may be sent again after its answer was lost. ``gone``: what a 404 means when an
    earlier attempt may already have done the work.
    """

    method: str
    path: str
    parse: Callable[[httpx.Response], T]
    params: Mapping[str, str] = field(default_factory=dict)
    content: bytes | None = None
    content_type: str = "application/json"
    headers: Mapping[str, str] = field(default_factory=dict)
    patience: float = 0.0
    repeatable: bool = True
    gone: T | None = None


def remember(memory_ref: str, draft: Mapping[str, Any], wait: float | None) -> Call[Receipt]:
    """Write one Draft; with ``wait`` (seconds, 0..30) the answer comes once it can be read."""
    return Call(
        method="POST",
        path="/v1/memory/entries",
        params=_params(wait=wait),
        content=_json(draft_body(memory_ref, draft)),
        patience=wait or 0.0,
        parse=lambda response: Receipt.from_wire(response.json(), memory_ref),
    )


def remember_many(
    memory_ref: str, drafts: Iterable[str | Mapping[str, Any]]
) -> Iterator[Call[tuple[Receipt, ...]]]:
    """Write Drafts in batches, each kept whole or refused whole."""
    bodies = (draft_body(memory_ref, {"content": d} if isinstance(d, str) else d) for d in drafts)
    for batch in _batches(map(_json, bodies)):
        yield Call(
            method="POST",
            path="/v1/memory/entries:batch",
            content=b'{"entries":[' + b",".join(batch) + b"]}",
            parse=lambda response: tuple(
                Receipt.from_wire(item, memory_ref) for item in response.json()["receipts"]
            ),
        )


def receipt(memory_ref: str, entry_id: str) -> Call[Receipt]:
    """Ask how far a write has come."""
    return Call(
        method="GET",
        path=f"/v1/memory/receipts/{_segment(entry_id)}",
        params={"memoryRef": memory_ref},
        parse=lambda response: Receipt.from_wire(response.json(), memory_ref),
    )


def list_entries(memory_ref: str, options: ListOptions, known: Page | None = None) -> Call[Page]:
    """Read a page; ``known`` is returned again when the server says that nothing changed."""
    _refuse_unknown(options, ListOptions)

    def parse(response: httpx.Response) -> Page:
        if response.status_code == httpx.codes.NOT_MODIFIED and known is not None:
            return known
        return Page.from_wire(response.json(), response.headers.get("etag"))

    return Call(
        method="GET",
        path="/v1/memory/entries",
        params=_params(memory_ref=memory_ref, **options),
        headers={"If-None-Match": known.etag} if known is not None and known.etag else {},
        parse=parse,
    )


def get(memory_ref: str, entry_id: str, fields: str | None) -> Call[Entry]:
    """Read one entry."""
    return Call(
        method="GET",
        path=_entry_path(entry_id),
        params=_params(memory_ref=memory_ref, fields=fields),
        parse=lambda response: Entry.from_wire(response.json()["entry"]),
    )


def delete(memory_ref: str, entry_id: str) -> Call[Removal]:
    """Remove one entry, filed or not."""
    gone = Removal(memory_ref=memory_ref, id=entry_id)
    return Call(
        method="DELETE",
        path=_entry_path(entry_id),
        params={"memoryRef": memory_ref},
        parse=lambda _: gone,
        gone=gone,
    )


def forget(memory_ref: str, tag: str | None, before: datetime | str | None) -> Call[int]:
    """Remove a memory, or what of it has a tag or is older; the answer is how many went."""
    return Call(
        method="DELETE",
        path="/v1/memory",
        params=_params(memory_ref=memory_ref, tag=tag, before=_instant(before)),
        parse=lambda response: int(response.json()["removed"]),
        repeatable=False,
    )


def events(memory_ref: str, after: str | None) -> Call[tuple[Event, ...]]:
    """Read what happened after an event's cursor."""
    return Call(
        method="GET",
        path="/v1/memory/events",
        params=_params(memory_ref=memory_ref, after=after),
        parse=lambda response: tuple(Event.from_wire(item) for item in response.json()["events"]),
    )


def export(memory_ref: str) -> Call[None]:
    """Stream a memory as JSON Lines; its body is read with :class:`Lines`."""
    return Call(
        method="GET", path="/v1/memory/export", params={"memoryRef": memory_ref}, parse=lambda _: None
    )


def import_lines(memory_ref: str | None, lines: Iterable[Mapping[str, Any]]) -> Iterator[Call[int]]:
    """Take export lines back in, in batches; ``memory_ref`` puts them into another memory."""
    moved = {} if memory_ref is None else {"memoryRef": memory_ref}
    for batch in _batches(_json(dict(line) | moved) for line in lines):
        yield Call(
            method="POST",
            path="/v1/memory/import",
            content=b"\n".join(batch) + b"\n",
            content_type="application/x-ndjson",
            parse=lambda response: int(response.json()["imported"]),
        )


def stats(memory_ref: str) -> Call[Stats]:
    """Ask what a memory holds."""
    return Call(
        method="GET",
        path="/v1/memory/stats",
        params={"memoryRef": memory_ref},
        parse=lambda response: Stats.from_wire(response.json()),
    )


def job(job_id: str) -> Call[Job]:
    """Ask how far a job has come."""
    return Call(
        method="GET",
        path=f"/v1/memory/jobs/{_segment(job_id)}",
        parse=lambda response: Job.from_wire(response.json()),
    )


def secret_ids() -> Call[tuple[str, ...]]:
    """List the ids of registered secrets; values never come back."""
    return Call(
        method="GET", path="/v1/secrets", parse=lambda response: tuple(map(str, response.json()["secrets"]))
    )


def set_secret(secret_id: str, value: str) -> Call[str | None]:
    """Register a secret's value; the answer is the id of the job that sweeps what is already filed."""
    return Call(
        method="PUT",
        path=f"/v1/secrets/{_segment(secret_id)}",
        content=_json({"value": value}),
        parse=lambda response: response.headers.get("location", "").rpartition("/")[2] or None,
    )


def delete_secret(secret_id: str) -> Call[None]:
    """Drop a registered secret."""
    return Call(method="DELETE", path=f"/v1/secrets/{_segment(secret_id)}", parse=lambda _: None)


def seal_key() -> Call[str]:
    """Ask for the public key Drafts are sealed to, ``id:base64``."""
    return Call(method="GET", path="/v1/seal-key", parse=lambda response: str(response.json()["sealKey"]))


def draft_body(memory_ref: str, draft: Mapping[str, Any]) -> dict[str, Any]:
    """A Draft in the contract's names, under its own id or a fresh one."""
    _refuse_unknown(draft, DraftBody)
    body: dict[str, Any] = {"memoryRef": memory_ref, "id": draft.get("id") or uuid7()}
    for name, value in draft.items():
        if value is None or name == "id":
            continue
        if isinstance(value, datetime):
            body[camel(name)] = _instant(value)
        elif name in ("tags", "links", "supersedes") and not isinstance(value, str):
            body[camel(name)] = list(value)
        else:
            body[camel(name)] = value
    return body


def _batches(items: Iterable[bytes]) -> Iterator[list[bytes]]:
    batch: list[bytes] = []
    size = 0
    for item in items:
        if batch and (len(batch) == BATCH_ENTRIES or size + len(item) > BATCH_BYTES):
            yield batch
            batch, size = [], 0
        batch.append(item)
        size += len(item)
    if batch:
        yield batch


def _refuse_unknown(given: Mapping[str, Any], known: type) -> None:
    for name in given:
        if name not in known.__annotations__:
            raise TypeError(
                f"unexpected argument {name!r}; known are {', '.join(sorted(known.__annotations__))}"
            )


def _json(value: object) -> bytes:
    try:
        return json.dumps(value, ensure_ascii=False, separators=(",", ":"), allow_nan=False).encode()
    except UnicodeEncodeError as error:
        raise ValidationError.of("body", "must not hold a lone surrogate") from error
    except (TypeError, ValueError) as error:
        raise ValidationError.of("body", "must be JSON") from error


def _params(**values: Any) -> dict[str, str]:
    return {camel(name): _param(value) for name, value in values.items() if value is not None}


def _param(value: object) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)


def _segment(text: str) -> str:
    return quote(text, safe="")


def _entry_path(entry_id: str) -> str:
    return f"/v1/memory/entries/{_segment(entry_id)}"


def _instant(value: datetime | str | None) -> str | None:
    if not isinstance(value, datetime):
        return value
    if value.tzinfo is None:
        raise ValidationError.of("datetime", "must have a time zone")
    return instant.to_wire(instant.from_datetime(value))
