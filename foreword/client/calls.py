"""What to ask: every call as a value, built without I/O, so that the sync and the async client share it."""

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Generic, TypeVar

import httpx

from foreword.client.answers import (
    Acceptance,
    Entry,
    Event,
    Events,
    Job,
    Page,
    Receipt,
    Recollection,
    Removal,
    Stats,
)
from foreword.client.arguments import (
    ListOptions,
    RecallOptions,
    SearchOptions,
    batches,
    draft_body,
    instant_of,
    params_of,
    question_body,
    refuse_unknown,
    segment,
    to_json,
)

T_co = TypeVar("T_co", covariant=True)


@dataclass(frozen=True, kw_only=True)
class Call(Generic[T_co]):
    """One request and how to read its answer.

    ``patience``: seconds the server may take on purpose, on top of the client's own timeout. ``repeatable``:
    whether the request may be sent again after its answer was lost. ``gone``: what a 404 means when an
    earlier attempt may already have done the work. ``offset``: how many Drafts or lines earlier batches took,
    so that a refusal names the caller's own index.
    """

    method: str
    path: str
    parse: Callable[[httpx.Response], T_co]
    params: Mapping[str, str] = field(default_factory=dict)
    content: bytes | None = None
    content_type: str = "application/json"
    headers: Mapping[str, str] = field(default_factory=dict)
    patience: float = 0.0
    repeatable: bool = True
    gone: T_co | None = None
    offset: int = 0


def remember(memory_ref: str, draft: Mapping[str, Any], wait: float | None) -> Call[Receipt]:
    """Write one Draft; with ``wait`` (seconds, 0..30) the answer comes once it can be read."""
    return Call(
        method="POST",
        path="/v1/memory/entries",
        params=_waiting(wait),
        content=to_json(draft_body(memory_ref, draft)),
        patience=wait or 0.0,
        parse=lambda response: Receipt.from_wire(response.json(), memory_ref),
    )


def remember_many(
    memory_ref: str, drafts: Iterable[str | Mapping[str, Any]], wait: float | None
) -> Iterator[Call[tuple[Receipt, ...]]]:
    """Write Drafts in batches, each kept whole or refused whole."""
    bodies = (draft_body(memory_ref, {"content": d} if isinstance(d, str) else d) for d in drafts)
    for offset, batch in batches(map(to_json, bodies)):
        yield Call(
            method="POST",
            path="/v1/memory/entries:batch",
            params=_waiting(wait),
            patience=wait or 0.0,
            offset=offset,
            content=b'{"entries":[' + b",".join(batch) + b"]}",
            parse=lambda response: tuple(
                Receipt.from_wire(item, memory_ref) for item in response.json()["receipts"]
            ),
        )


def receipt(memory_ref: str, entry_id: str) -> Call[Receipt]:
    """Ask how far a write has come."""
    return Call(
        method="GET",
        path=f"/v1/memory/receipts/{segment('id', entry_id)}",
        params={"memoryRef": memory_ref},
        parse=lambda response: Receipt.from_wire(response.json(), memory_ref),
    )


def list_entries(memory_ref: str, options: ListOptions, known: Page | None = None) -> Call[Page]:
    """Read a page; ``known`` is returned again when the server says that nothing changed."""
    refuse_unknown(options, ListOptions)

    def parse(response: httpx.Response) -> Page:
        if response.status_code == httpx.codes.NOT_MODIFIED and known is not None:
            return known
        return Page.from_wire(response.json(), response.headers.get("etag"))

    return Call(
        method="GET",
        path="/v1/memory/entries",
        params=params_of(memory_ref=memory_ref, **options),
        headers={"If-None-Match": known.etag} if known is not None and known.etag else {},
        parse=parse,
    )


def search(memory_ref: str, query: str | None, options: SearchOptions) -> Call[Page]:
    """Find what bears on a question, best first."""
    return Call(
        method="POST",
        path="/v1/memory/search",
        content=to_json(question_body(memory_ref, query, options, SearchOptions)),
        parse=lambda response: Page.from_wire(response.json(), response.headers.get("etag")),
    )


def recall(memory_ref: str | Iterable[str], query: str, options: RecallOptions) -> Call[Recollection]:
    """Ask for a ready block of what bears on a question, of one memory or several."""
    return Call(
        method="POST",
        path="/v1/memory/recall",
        content=to_json(question_body(memory_ref, query, options, RecallOptions)),
        parse=lambda response: Recollection.from_wire(response.json()),
    )


def get(memory_ref: str, entry_id: str, fields: str | None) -> Call[Entry]:
    """Read one entry."""
    return Call(
        method="GET",
        path=_entry_path(entry_id),
        params=params_of(memory_ref=memory_ref, fields=fields),
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
        params=params_of(memory_ref=memory_ref, tag=tag, before=instant_of(before)),
        parse=lambda response: int(response.json()["removed"]),
        repeatable=False,
    )


def events(memory_ref: str, after: str | None, limit: int | None) -> Call[Events]:
    """Read what happened behind an earlier answer's ``after``."""

    def parse(response: httpx.Response) -> Events:
        body = response.json()
        return Events(events=tuple(Event.from_wire(item) for item in body["events"]), after=body["after"])

    return Call(
        method="GET",
        path="/v1/memory/events",
        params=params_of(memory_ref=memory_ref, after=after, limit=limit),
        parse=parse,
    )


def export(memory_ref: str) -> Call[None]:
    """Stream a memory as JSON Lines; its body is read with :class:`Lines`."""
    return Call(
        method="GET", path="/v1/memory/export", params={"memoryRef": memory_ref}, parse=lambda _: None
    )


def import_lines(memory_ref: str | None, lines: Iterable[Mapping[str, Any]]) -> Iterator[Call[Acceptance]]:
    """Take export lines back in, in batches; ``memory_ref`` puts them into another memory."""
    moved = {} if memory_ref is None else {"memoryRef": memory_ref}
    for offset, batch in batches(to_json(dict(line) | moved) for line in lines):
        yield Call(
            offset=offset,
            method="POST",
            path="/v1/memory/import",
            content=b"\n".join(batch) + b"\n",
            content_type="application/x-ndjson",
            parse=lambda response: Acceptance(
                accepted=response.json()["accepted"], position=response.json().get("position")
            ),
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
        path=f"/v1/memory/jobs/{segment('jobId', job_id)}",
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
        path=f"/v1/secrets/{segment('secretId', secret_id)}",
        content=to_json({"value": value}),
        parse=lambda response: response.headers.get("location", "").rpartition("/")[2] or None,
    )


def delete_secret(secret_id: str) -> Call[bool]:
    """Drop a registered secret."""
    return Call(
        method="DELETE",
        path=f"/v1/secrets/{segment('secretId', secret_id)}",
        parse=lambda _: True,
        gone=True,
    )


def seal_key() -> Call[str]:
    """Ask for the public key Drafts are sealed to, ``id:base64``."""
    return Call(method="GET", path="/v1/seal-key", parse=lambda response: str(response.json()["sealKey"]))


def _waiting(seconds: float | None) -> dict[str, str]:
    return params_of(wait=None if seconds is None else round(seconds, 3))


def _entry_path(entry_id: str) -> str:
    return f"/v1/memory/entries/{segment('id', entry_id)}"
