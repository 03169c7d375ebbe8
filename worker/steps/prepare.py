"""Claimed inbox rows -> entries ready to file: opened, redacted, counted, in one batch."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from foreword.draft import Draft
from foreword.entry import Entry
from foreword.errors import CounterUnavailable, SealError
from foreword.instant import to_wire
from foreword.json_row import render_json_row
from foreword.render import render_row
from foreword.seal import Opener
from worker.steps.count import count
from worker.steps.redact import Clean, redact
from worker.steps.redaction import Redactor
from worker.stores.ledger import Claimed, Failure
from worker.stores.runs import Written

Form = Callable[..., str]
"""``render_row`` or ``render_json_row``: how an entry stands in a prompt. Each has costs of its own."""


@dataclass(frozen=True)
class Prepared:
    """Entries to file with the inbox rows they come from, what their runs are told of them once they are
    filed, and the rows that cannot be filed."""

    claimed: list[Claimed]
    entries: list[Entry]
    written: list[Written]
    failures: list[Failure]


def prepare(
    rows: Sequence[Claimed], opener: Opener, redactor_of: Callable[[str | None], Redactor]
) -> Prepared:
    """A Draft that cannot be opened or read fails alone; the rest goes on.

    ``redactor_of`` gives the redactor of a run, or of none.
    """
    kept: list[tuple[Claimed, Clean]] = []
    failures: list[Failure] = []
    for row in rows:
        try:
            draft = _as_kept(Draft.from_bytes(opener.open(row.sealed)))
            kept.append((row, redact(draft, redactor_of(draft.run))))
        except SealError as error:
            failures.append(Failure(claimed=row, reason=error.message))
        except (ValueError, TypeError, KeyError):
            failures.append(Failure(claimed=row, reason="The Draft is not one this version can read."))
    written = [_written(row, clean) for row, clean in kept if clean.draft.run is not None]
    try:
        return Prepared([row for row, _ in kept], _counted(kept), written, failures)
    except CounterUnavailable:
        return _counted_apart(kept, written, failures)


def _as_kept(draft: Draft) -> Draft:
    """With no more digits than the ledger's column gives back, since a row shows them and is counted."""
    return replace(draft, confidence=round(draft.confidence, 6))


def _counted_apart(
    kept: Sequence[tuple[Claimed, Clean]], written: list[Written], failures: list[Failure]
) -> Prepared:
    """One by one, since a text that cannot be counted fails alone too."""
    rows: list[Claimed] = []
    entries: list[Entry] = []
    for row, clean in kept:
        try:
            entries += _counted([(row, clean)])
            rows.append(row)
        except CounterUnavailable as error:
            failures.append(Failure(claimed=row, reason=error.message))
    return Prepared(rows, entries, written, failures)


def _counted(kept: Sequence[tuple[Claimed, Clean]]) -> list[Entry]:
    drafts = [(row, clean.draft) for row, clean in kept]
    costs = count([draft.content for _, draft in drafts])
    row_costs = count([rendered(row.id, draft, row.accepted_at) for row, draft in drafts])
    json_costs = count([rendered(row.id, draft, row.accepted_at, render_json_row) for row, draft in drafts])
    return [
        _entry(row, clean, *counted)
        for (row, clean), *counted in zip(kept, costs, row_costs, json_costs, strict=True)
    ]


def _written(row: Claimed, clean: Clean) -> Written:
    draft = clean.draft
    return Written(claimed=row, run=draft.run or "", node=draft.node, tags=draft.tags)


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
    clean: Clean,
    costs: tuple[int, ...],
    row_costs: tuple[int, ...],
    json_costs: tuple[int, ...],
) -> Entry:
    draft = clean.draft
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
