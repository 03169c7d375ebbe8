"""What comes back: frozen values. Times are aware datetimes in UTC, costs are per counter."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, fields, is_dataclass
from datetime import datetime
from typing import Any

from foreword import instant


@dataclass(frozen=True, kw_only=True)
class Receipt:
    """An accepted write. ``status`` is accepted, filed or failed; ``reason`` says why it failed.

    ``position`` is for a later read's ``after``.
    """

    id: str
    memory_ref: str
    status: str
    created_at: datetime | None = None
    position: str | None = None
    reason: str | None = None

    @classmethod
    def from_wire(cls, body: Mapping[str, Any], memory_ref: str) -> "Receipt":
        """From the JSON of a receipt in this memory."""
        return cls(
            id=body["id"],
            memory_ref=body.get("memoryRef", memory_ref),
            status=body["status"],
            created_at=moment(body.get("createdAt")),
            position=body.get("position"),
            reason=body.get("reason"),
        )


@dataclass(frozen=True, kw_only=True)
class Entry:
    """One memory. What follows ``expires_at`` is there only when asked for with ``fields="all"``."""

    id: str
    content: str
    tags: tuple[str, ...]
    created_at: datetime
    expires_at: datetime | None = None
    kind: str | None = None
    confidence: float | None = None
    pinned: bool | None = None
    metadata: Mapping[str, Any] | None = None
    source: str | None = None
    speaker: str | None = None
    conversation: str | None = None
    observed_at: datetime | None = None
    links: tuple[Mapping[str, str], ...] | None = None
    supersedes: tuple[str, ...] | None = None
    status: str | None = None
    costs: Mapping[str, int] | None = None
    row_costs: Mapping[str, int] | None = None
    score: float | None = None
    similarity: float | None = None

    @classmethod
    def from_wire(cls, body: Mapping[str, Any]) -> "Entry":
        """From the JSON of an entry; fields this client does not know are left out."""
        known = {name: body[wire] for name, wire in _ENTRY_NAMES.items() if body.get(wire) is not None}
        for name in ("created_at", "expires_at", "observed_at"):
            known[name] = moment(known.get(name))
        for name in ("tags", "links", "supersedes"):
            if name in known:
                known[name] = tuple(known[name])
        return cls(**known)


@dataclass(frozen=True, kw_only=True)
class Omitted:
    """How many entries a read left out, by reason."""

    oversize: int = 0
    budget: int = 0
    limit: int = 0
    similarity: int = 0


@dataclass(frozen=True, kw_only=True)
class Report:
    """What a read spent, in ``counter``. ``token_budget`` is None when it had none.

    ``legs``: which ways of searching answered; None where nothing was searched.
    """

    counter: str
    token_budget: int | None
    used: int
    returned: int
    omitted: Omitted
    smallest_omitted: int | None = None
    legs: tuple[str, ...] | None = None

    @classmethod
    def from_wire(cls, body: Mapping[str, Any]) -> "Report":
        """From the JSON of a budget report."""
        omitted = body.get("omitted") or {}
        legs = body.get("legs")
        return cls(
            counter=body["counter"],
            token_budget=body.get("tokenBudget"),
            used=body["used"],
            returned=body["returned"],
            omitted=Omitted(**{f.name: omitted.get(f.name, 0) for f in fields(Omitted)}),
            smallest_omitted=body.get("smallestOmitted"),
            legs=None if legs is None else tuple(legs),
        )


@dataclass(frozen=True, kw_only=True)
class Page:
    """The entries of one read, newest or best first, and the cursor that continues it.

    ``query_truncated``: the question was longer than what the model sees.
    """

    memory_ref: str
    entries: tuple[Entry, ...]
    budget: Report | None = None
    next_cursor: str | None = None
    etag: str | None = None
    query_truncated: bool | None = None

    @classmethod
    def from_wire(cls, body: Mapping[str, Any], etag: str | None) -> "Page":
        """From the JSON of a list and the ETag beside it."""
        report = body.get("budget")
        return cls(
            memory_ref=body["memoryRef"],
            entries=tuple(Entry.from_wire(item) for item in body["entries"]),
            budget=Report.from_wire(report) if report is not None else None,
            next_cursor=body.get("nextCursor"),
            etag=etag,
            query_truncated=body.get("queryTruncated"),
        )

    def __iter__(self) -> Iterator[Entry]:
        return iter(self.entries)

    def __len__(self) -> int:
        return len(self.entries)


@dataclass(frozen=True, kw_only=True)
class Recollection:
    """A block for a prompt, ``""`` when there is nothing to say; ``str()`` of it is the block.

    ``budget.used`` is what ``text`` costs, frame included. ``entries`` are the ids in it; ``session`` goes
    into the next recall of the same conversation, so that nothing is sent twice.
    """

    text: str
    entries: tuple[str, ...]
    budget: Report
    session: str
    etag: str
    query_truncated: bool | None = None

    @classmethod
    def from_wire(cls, body: Mapping[str, Any]) -> "Recollection":
        """From the JSON of a recall."""
        return cls(
            text=body["text"],
            entries=tuple(body["entries"]),
            budget=Report.from_wire(body["budget"]),
            session=body["session"],
            etag=body["etag"],
            query_truncated=body.get("queryTruncated"),
        )

    def __str__(self) -> str:
        return self.text


@dataclass(frozen=True, kw_only=True)
class Removal:
    """An entry that is gone."""

    memory_ref: str
    id: str
    removed: bool = True


@dataclass(frozen=True, kw_only=True)
class Job:
    """Work the server does on its own. ``status`` is queued, running, succeeded, failed or cancelled."""

    job_id: str
    status: str
    progress: float | None = None
    error: Mapping[str, Any] | str | None = None

    @classmethod
    def from_wire(cls, body: Mapping[str, Any]) -> "Job":
        """From the JSON of a job."""
        return cls(
            job_id=body["jobId"],
            status=body["status"],
            progress=body.get("progress"),
            error=body.get("error"),
        )


@dataclass(frozen=True, kw_only=True)
class Acceptance:
    """Import lines that are kept: how many, and the position of the last one for a later ``after``."""

    accepted: int
    position: str | None = None


@dataclass(frozen=True, kw_only=True)
class Event:
    """Something that happened to one entry: its id, never its text."""

    type: str
    memory_ref: str
    memory_id: str
    at: datetime

    @classmethod
    def from_wire(cls, body: Mapping[str, Any]) -> "Event":
        """From the JSON of an event."""
        return cls(
            type=body["type"],
            memory_ref=body["memoryRef"],
            memory_id=body["memoryId"],
            at=instant.to_datetime(instant.from_wire(body["at"])),
        )


@dataclass(frozen=True, kw_only=True)
class Events:
    """Events, oldest first, and the ``after`` that continues behind them."""

    events: tuple[Event, ...]
    after: str

    def __iter__(self) -> Iterator[Event]:
        return iter(self.events)

    def __len__(self) -> int:
        return len(self.events)


@dataclass(frozen=True, kw_only=True)
class Stats:
    """What a memory holds. ``costs``: the sum over its entries, per counter; ``kinds``: entries per kind.

    ``pending`` and ``failed`` are Drafts that are not filed; ``hot_window`` is how many entries are ready to
    be read without the ledger, None when it is cold.
    """

    memory_ref: str
    entries: int
    pending: int
    failed: int
    costs: Mapping[str, int]
    kinds: Mapping[str, int]
    hot_window: int | None = None

    @classmethod
    def from_wire(cls, body: Mapping[str, Any]) -> "Stats":
        """From the JSON of a memory's numbers."""
        return cls(
            memory_ref=body["memoryRef"],
            entries=body["entries"],
            pending=body["pending"],
            failed=body["failed"],
            costs=body["costs"],
            kinds=body["kinds"],
            hot_window=body.get("hotWindow"),
        )


def moment(text: str | None) -> datetime | None:
    """The datetime of an instant on the wire."""
    return None if text is None else instant.to_datetime(instant.from_wire(text))


def to_wire(value: object) -> Any:
    """An answer as JSON in the contract's names; None is left out, mappings are kept as they are."""
    if is_dataclass(value) and not isinstance(value, type):
        pairs = ((camel(f.name), getattr(value, f.name)) for f in fields(value))
        return {name: to_wire(item) for name, item in pairs if item is not None}
    if isinstance(value, datetime):
        return instant.to_wire(instant.from_datetime(value))
    if isinstance(value, tuple):
        return [to_wire(item) for item in value]
    return value


def camel(name: str) -> str:
    """``memory_ref`` as ``memoryRef``."""
    first, *rest = name.split("_")
    return first + "".join(part.title() for part in rest)


_ENTRY_NAMES = {f.name: camel(f.name) for f in fields(Entry)}
