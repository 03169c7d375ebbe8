"""Agents: who runs here, and what of their memory this host does not have (OpenWOP RFC 0072, RFC 0080)."""

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import Any, Final

from foreword import __version__

NEEDS: Final[Mapping[str, tuple[str, ...]]] = {
    "scratchpad": ("read", "write"),
    "conversation": ("read", "write"),
    "longTerm": ("read", "write", "long-term-durability"),
}
"""The dimensions that each part of a memory shape needs."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Agent:
    """An agent of a manifest. ``shape`` names the parts of memory it uses."""

    id: str
    persona: str
    label: str
    description: str
    shape: tuple[str, ...]

    def to_wire(self, dimensions: Collection[str]) -> dict[str, Any]:
        """Its entry in the inventory of a host that has these dimensions.

        Degraded, with the dimensions it lacks, if and only if it lacks one.
        """
        lacking = [
            need
            for need in dict.fromkeys(need for part in self.shape for need in NEEDS[part])
            if need not in dimensions
        ]
        wire: dict[str, Any] = {
            "agentId": self.id,
            "persona": self.persona,
            "label": self.label,
            "description": self.description,
            "modelClass": "general",
            "packName": "foreword.conformance",
            "packVersion": __version__,
            "toolAllowlist": [],
            "hasHandoffSchemas": False,
            "memoryShape": {part: part in self.shape for part in NEEDS},
        }
        return wire | {"memoryDegraded": True, "degradedMemoryDimensions": lacking} if lacking else wire


AGENTS: Final = (
    Agent(
        id="core.conformance.memory-agent",
        persona="Memory conformance agent",
        label="Memory",
        description="Runs the conformance workflows over long-term memory; it has no model and no tools.",
        shape=("longTerm",),
    ),
)
"""Everybody who runs here, by id."""


def inventory(agents: Collection[Agent], dimensions: Collection[str]) -> dict[str, Any]:
    """The inventory of these agents on a host that has these dimensions."""
    found = [agent.to_wire(dimensions) for agent in sorted(agents, key=lambda agent: agent.id)]
    return {"total": len(found), "agents": found}
