"""Live memory: a program's port on the doors' own writer and reader.

remember   accept -> inbox -> worker -> filed     the acceptor, limits and wait of POST /v1/memory/entries
list       options -> head | window | ledger      the same reader, from the position of the last write on
relevant   question -> vector -> ledger           the same search
"""

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Final

from api_shim.accept import Acceptor, Receipt
from api_shim.database import Database
from api_shim.options import ReadOptions
from api_shim.read import Reader
from api_shim.runs.failure import failed
from api_shim.runs.memory import Budgeted, Note, Wire
from api_shim.search import SearchAsk, Searcher
from api_shim.sources.ranked import Cut
from api_shim.sources.recent import fragment
from foreword.budget import HOST_CAP
from foreword.counters import COUNTERS
from foreword.draft import Draft, Limits, parse_draft
from foreword.errors import ValidationError
from foreword.instant import now_ms, to_datetime, to_wire
from foreword.scope import Scope

PATIENCE_S: Final = 8.0
"""How long a write may take until it can be read."""

NODE: Final = "memory"
"""The one node of a conformance workflow."""


@dataclass(frozen=True, kw_only=True)
class MemoryDoors:
    """What live memory stands on: built once a process, shared by every run."""

    acceptor: Acceptor
    reader: Reader
    searcher: Searcher
    database: Database
    counter: str
    limits: Limits
    clock: Callable[[], int] = now_ms
    patience_s: float = PATIENCE_S


@dataclass(frozen=True, kw_only=True)
class LiveMemory:
    """One tenant's memory. Writes are attributed to ``run``, if there is one; ``written`` are their ids."""

    doors: MemoryDoors
    tenant: int
    semantic: bool = False
    run: str | None = None
    written: list[str] = field(default_factory=list)
    _last: dict[str, int] = field(default_factory=dict)

    @property
    def counter(self) -> str:
        """The advertised counter."""
        return self.doors.counter

    async def remember(self, memory_ref: str, notes: Sequence[Note]) -> list[str]:
        """Accepts Drafts as the door does and waits until a worker has filed them."""
        try:
            drafts = [self._draft(memory_ref, note) for note in notes]
            receipts = await self.doors.acceptor.accept(self.tenant, drafts)
        except ValidationError as error:
            raise failed("memory_write_failed") from error
        filed = {
            receipt.seq: receipt
            for receipt in await self.doors.acceptor.wait(receipts, self.doors.patience_s)
        }
        for receipt in receipts:
            _require_filed(filed[receipt.seq])
        self._last[memory_ref] = receipts[-1].seq
        ids = [receipt.id for receipt in receipts]
        self.written.extend(ids)
        return ids

    def _draft(self, memory_ref: str, note: Note) -> Draft:
        body = {
            "memoryRef": memory_ref,
            "content": note.content,
            "tags": list(note.tags),
            "expiresAt": to_wire(note.expires_at),
        }
        draft = parse_draft(body, self.doors.limits, now=self.doors.clock())
        return draft if self.run is None else replace(draft, run=self.run, node=NODE)

    async def get(self, memory_ref: str, entry_id: str) -> Wire | None:
        """One entry as ``GET /v1/memory/entries/{id}`` finds it."""
        now = to_datetime(self.doors.clock())
        params = {"ref": memory_ref, "id": entry_id, "now": now}
        rows = await self.doors.database.read(self.tenant, "entry", params)
        return dict(json.loads(fragment(rows[0]))) if rows else None

    async def list(self, memory_ref: str) -> list[Wire]:
        """Every entry, newest first."""
        return list((await self._read(memory_ref, limit=0))["entries"])

    async def budgeted(self, memory_ref: str, budget: int) -> Budgeted:
        """The newest entries that fit."""
        body = await self._read(memory_ref, budget=budget)
        return Budgeted(entries=body["entries"], used=body["budget"]["used"])

    async def costs(self, memory_ref: str) -> Mapping[str, int]:
        """Stored costs by id."""
        entries = (await self._read(memory_ref, limit=0, all_fields=True))["entries"]
        return {entry["id"]: entry["costs"][self.counter] for entry in entries}

    async def _read(self, memory_ref: str, **options: Any) -> dict[str, Any]:
        asked = ReadOptions(
            memory_ref=memory_ref, counter=self.counter, after=self._last.get(memory_ref), **options
        )
        answer = await self.doors.reader.list(Scope(self.tenant, memory_ref), asked, reachable=True)
        return dict(json.loads(answer.body))

    async def relevant(self, memory_ref: str, query: str, budget: int | None) -> Budgeted:
        """The most relevant entries that fit."""
        cut = Cut(counter=self.counter, ordinal=COUNTERS[self.counter].ordinal, budget=budget, limit=HOST_CAP)
        ask = SearchAsk(mode="semantic", cut=cut, text=query)
        outcome = await self.doors.searcher.search(Scope(self.tenant, memory_ref), ask)
        entries = [json.loads(fragment(row)) for row in outcome.rows]
        return Budgeted(entries=entries, used=outcome.report.used)


def _require_filed(receipt: Receipt) -> None:
    if receipt.status == "failed":
        raise failed("memory_write_failed")
    if receipt.status != "filed":
        raise failed("memory_write_timeout")
