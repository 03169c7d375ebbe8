"""Stage: what a program is given."""

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from typing import Any, Final

from api_shim.runs.memory import Memory, Vault

KEPT_MS: Final = 3_600_000
"""How long the entries of a conformance run can be looked at; then they expire like any other."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Stage:
    """The run's own memoryRefs, the memory behind them, and another tenant's memory to probe with.

    ``now`` in milliseconds; ``sleep`` in seconds.
    """

    memory_ref: str
    memory: Memory
    foreign: Memory
    vault: Vault
    inputs: Mapping[str, Any]
    now: Callable[[], int]
    sleep: Callable[[float], Awaitable[None]]

    @property
    def lone_ref(self) -> str:
        """A second memory of the run."""
        return f"{self.memory_ref}/lone"

    @property
    def foreign_ref(self) -> str:
        """A memory that the other tenant has and this one has not."""
        return f"{self.memory_ref}/foreign"

    def kept_until(self) -> int:
        """When what is written now expires."""
        return self.now() + KEPT_MS


Variables = dict[str, Any]
Program = Callable[[Stage], Awaitable[Variables]]
"""Does its work on a stage and checks it: the run's variables, or RunFailed."""
