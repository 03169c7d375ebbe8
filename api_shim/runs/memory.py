"""Memory as a program sees it: write, read, and nothing about how."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

Wire = Mapping[str, Any]
"""An entry on the wire: ``id, content, tags, createdAt, expiresAt?``."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Note:
    """What a program wants remembered. ``expires_at`` in milliseconds."""

    content: str
    tags: tuple[str, ...] = ()
    expires_at: int


@dataclass(frozen=True, kw_only=True, slots=True)
class Budgeted:
    """What a budgeted read gave, and what it says that this costs."""

    entries: Sequence[Wire]
    used: int


class Memory(Protocol):
    """One tenant's memory. Every call raises RunFailed or Unavailable when it cannot keep its word."""

    @property
    def counter(self) -> str:
        """The advertised counter, in which budgets and costs are."""
        ...

    @property
    def semantic(self) -> bool:
        """Whether entries can be ranked by relevance."""
        ...

    async def remember(self, memory_ref: str, notes: Sequence[Note]) -> Sequence[str]:
        """The ids of entries that can be read from now on, in the order of the notes."""
        ...

    async def get(self, memory_ref: str, entry_id: str) -> Wire | None:
        """One entry, or None."""
        ...

    async def list(self, memory_ref: str) -> Sequence[Wire]:
        """Every entry, newest first."""
        ...

    async def budgeted(self, memory_ref: str, budget: int) -> Budgeted:
        """The newest entries that fit."""
        ...

    async def relevant(self, memory_ref: str, query: str, budget: int | None) -> Budgeted:
        """The most relevant entries that fit; without a budget, all that have been embedded."""
        ...

    async def costs(self, memory_ref: str) -> Mapping[str, int]:
        """What each live entry costs, as it was counted when it was filed."""
        ...


class Vault(Protocol):
    """Where a run's secrets come from."""

    async def resolve(self, secret_id: str) -> str:
        """The value, once it is in the run's registry; RunFailed when there is no such secret."""
        ...
