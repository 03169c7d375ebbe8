"""Claimed inbox rows -> entries ready to file: opened, redacted, counted, in one batch."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from foreword.draft import Draft
from foreword.entry import Entry
from foreword.errors import CounterUnavailable, SealError
from foreword.instant import to_wire
from foreword.json_row import render_json_row
from foreword.render import render_row
from foreword.seal import Opener
from worker.steps.count import count
from worker.steps.redact import redact
from worker.steps.redaction import Redactor
from worker.stores.ledger import Claimed, Failure

Form = Callable[..., str]
"""``render_row`` or ``render_json_row``: how an entry stands in a prompt. Each has costs of its own."""


@dataclass(frozen=True)
class Prepared:
    """Entries to file with the inbox rows they come from, and the rows that cannot be filed."""

    claimed: list[Claimed]
    entries: list[Entry]
    failures: list[Failure]


def prepare(rows: Sequence[Claimed], opener: Opener, redactor: Redactor) -> Prepared:
    """A Draft that cannot be opened or read fails alone; the rest goes on."""
    kept: list[tuple[Claimed, Draft]] = []
    failures: list[Failure] = []
    for row in rows:
        try:
            kept.append((row, redact(Draft.from_bytes(opener.open(row.sealed)), redactor)))
        except SealError as error:
            failures.append(Failure(claimed=row, reason=error.message))
        except (ValueError, TypeError, KeyError):
            failures.append(Failure(claimed=row, reason="The Draft is not one this version can read."))
    try:
        return Prepared([row for row, _ in kept], _counted(kept), failures)
    except CounterUnavailable:
        return _counted_apart(kept, failures)


def _counted_apart(kept: Sequence[tuple[Claimed, Draft]], failures: list[Failure]) -> Prepared:
    """One by one, since a text that cannot be counted fails alone too."""
    rows: list[Claimed] = []
    entries: list[Entry] = []
    for row, draft in kept:
        try:
            entries += _counted([(row, draft)])
            rows.append(row)
        except CounterUnavailable as error:
            failures.append(Failure(claimed=row, reason=error.message))
    return Prepared(rows, entries, failures)


def _counted(kept: Sequence[tuple[Claimed, Draft]]) -> list[Entry]:
    costs = count([draft.content for _, draft in kept])
    row_costs = count([rendered(row.id, draft, row.accepted_at) for row, draft in kept])
    json_costs = count([rendered(row.id, draft, row.accepted_at, render_json_row) for row, draft in kept])
    return [
        _entry(row, draft, *counted)
        for (row, draft), *counted in zip(kept, costs, row_costs, json_costs, strict=True)
    ]


def rendered(entry_id: str, draft: Draft, created_at: int, form: Form = render_row) -> str:
    """The prompt row of a Draft, whose cost is kept."""
    return rendered_row(
        form=form,
        entry_id=entry_id,
        kind=draft.kind,
        content=draft.content,
        observed_at=draft.observed_at if draft.observed_at is not None else created_at,
        confidence=draft.confidence,
    )


def rendered_row(
    *, entry_id: str, kind: str, content: str, observed_at: int, confidence: float, form: Form = render_row
) -> str:
    """The prompt row of an entry; ``observed_at`` in milliseconds."""
    return form(
        kind=kind, id=entry_id, content=content, observed=to_wire(observed_at)[:10], confidence=confidence
    )


def _entry(
    row: Claimed,
    draft: Draft,
    costs: tuple[int, ...],
    row_costs: tuple[int, ...],
    json_costs: tuple[int, ...],
) -> Entry:
    return Entry(
        scope=row.scope,
        seq=row.seq,
        id=row.id,
        content=draft.content,
        tags=draft.tags,
        kind=draft.kind,
        confidence=draft.confidence,
        pinned=draft.pinned,
        metadata=draft.metadata,
        source=draft.source,
        speaker=draft.speaker,
        conversation=draft.conversation,
        links=draft.links,
        supersedes=draft.supersedes,
        created_at=row.accepted_at,
        observed_at=draft.observed_at if draft.observed_at is not None else row.accepted_at,
        expires_at=draft.expires_at,
        costs=costs,
        row_costs=row_costs,
        json_costs=json_costs,
    )
