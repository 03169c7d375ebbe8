"""Verdict: what one door tells the wrong tenant."""

from dataclasses import dataclass
from typing import Literal

State = Literal["isolated", "not served", "leaks", "tells apart", "unproven"]
GOOD: frozenset[State] = frozenset({"isolated", "not served"})


@dataclass(frozen=True, kw_only=True)
class Verdict:
    """A door and its state.

    ``leaks``: it shows, changes or removes what another tenant stored. ``tells apart``: it answers a foreign
    name unlike an unknown one. ``unproven``: not even the owner sees anything through it. ``not served``:
    this server has no such door.
    """

    door: str
    state: State
    detail: str = ""

    @property
    def is_good(self) -> bool:
        """Whether nothing is told."""
        return self.state in GOOD
