"""A shelf: memory that keeps its word, small enough to be read, so that a test can make it break each."""

import asyncio
import itertools
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from api_shim.runs.failure import failed
from api_shim.runs.memory import Budgeted, Memory, Note, Wire
from api_shim.runs.stage import Program, Stage, Variables
from api_shim.runs.vault import CanaryVault
from foreword.budget import walk
from foreword.errors import RunFailed
from foreword.instant import to_wire

OWN, OTHER = 7, 0
_numbers = itertools.count()


@dataclass
class Clock:
    """Time that passes when somebody sleeps. In milliseconds."""

    now: int = 1_800_000_000_000

    async def sleep(self, seconds: float) -> None:
        """Lets so much time pass."""
        self.now += max(1, round(seconds * 1000))
        await asyncio.sleep(0)


@dataclass
class Room:
    """What all tenants have together: rows of (tenant, memoryRef), the clock, the secrets of the run."""

    clock: Clock = field(default_factory=Clock)
    rows: list[tuple[int, str, Note, Wire]] = field(default_factory=list)
    secrets: dict[str, str] = field(default_factory=dict)

    async def register(self, resolved: Mapping[str, str]) -> None:
        """The run's registry."""
        self.secrets |= resolved


@dataclass
class Shelf:
    """One tenant's memory in a room. Costs are characters."""

    room: Room
    tenant: int = OWN
    counter: str = "chars"
    semantic: bool = True

    async def remember(self, memory_ref: str, notes: Sequence[Note]) -> list[str]:
        """Keeps the notes, redacted."""
        ids = []
        for note in notes:
            entry: dict[str, Any] = {
                "id": f"e{next(_numbers)}",
                "content": self.redacted(note.content),
                "tags": [self.redacted(tag) for tag in note.tags],
                "createdAt": to_wire(self.room.clock.now),
                "expiresAt": to_wire(note.expires_at),
            }
            self.room.rows.append((self.tenant, memory_ref, note, entry))
            ids.append(str(entry["id"]))
        return ids

    def redacted(self, text: str) -> str:
        """The text with markers for what the run resolved."""
        for secret_id, value in self.room.secrets.items():
            text = text.replace(value, f"[REDACTED:{secret_id}]")
        return text

    def live(self, memory_ref: str) -> list[Wire]:
        """What can be seen now, newest first."""
        return [
            entry
            for tenant, ref, note, entry in reversed(self.room.rows)
            if (tenant, ref) == (self.tenant, memory_ref) and note.expires_at > self.room.clock.now
        ]

    async def get(self, memory_ref: str, entry_id: str) -> Wire | None:
        """One entry."""
        return next((entry for entry in self.live(memory_ref) if entry["id"] == entry_id), None)

    async def list(self, memory_ref: str) -> list[Wire]:
        """All of them."""
        return self.live(memory_ref)

    async def budgeted(self, memory_ref: str, budget: int) -> Budgeted:
        """The newest that fit."""
        return self.cut(self.live(memory_ref), budget)

    async def relevant(self, memory_ref: str, query: str, budget: int | None) -> Budgeted:
        """Those with the most words of the question first."""
        return self.cut(self.ranked(memory_ref, query), budget)

    def ranked(self, memory_ref: str, query: str) -> Sequence[Wire]:
        """By the share of the question's words."""
        asked = set(query.lower().split())

        def score(entry: Wire) -> float:
            words = str(entry["content"]).lower().split()
            return -sum(word in asked for word in words) / len(words)

        return sorted(self.live(memory_ref), key=score)

    def cut(self, entries: Sequence[Wire], budget: int | None) -> Budgeted:
        """What the law keeps of a ranking."""
        kept = walk([len(entry["content"]) for entry in entries], budget=budget)
        return Budgeted(entries=[entries[i] for i in kept.kept], used=kept.used)

    async def costs(self, memory_ref: str) -> Mapping[str, int]:
        """Characters by id."""
        return {entry["id"]: len(entry["content"]) for entry in self.live(memory_ref)}


def play(
    program: Program, memory: Memory, room: Room, *, foreign: Memory | None = None, **inputs: object
) -> Variables:
    """Runs a program on a memory; the other tenant's is a shelf in the same room."""
    stage = Stage(
        memory_ref="ref",
        memory=memory,
        foreign=foreign or Shelf(room, OTHER),
        vault=CanaryVault(register=room.register),
        inputs=inputs,
        now=lambda: room.clock.now,
        sleep=room.clock.sleep,
    )

    async def run() -> Variables:
        return await program(stage)

    return asyncio.run(run())


def failure_of(program: Program, memory: Memory, room: Room, **given: Any) -> str:
    """The code under which a program fails on a memory."""
    try:
        play(program, memory, room, **given)
    except RunFailed as failure:
        if failure.message != failed(failure.reason).message:
            raise
        return failure.reason
    return "completed"


def ids(entries: Iterable[Wire]) -> list[str]:
    """Ids in order."""
    return [entry["id"] for entry in entries]
