"""Capabilities: what this host does. Doors are mounted from it and discovery is read from it, so they agree.

A feature is named only where it runs; what is absent is not claimed (OpenWOP RFC 0073, RFC 0080).
"""

from dataclasses import dataclass
from typing import Any, Final

from foreword import __version__

PROTOCOL: Final = "1.0"
VENDOR: Final = "foreword"
BACKEND: Final = "long-term"

DIMENSIONS: Final = (
    "read",
    "write",
    "search",
    "long-term-durability",
    "compaction",
    "attribution",
    "replay-snapshot",
    "retention",
)
"""Every dimension there is, in the order of RFC 0080."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Capabilities:
    """What runs here. ``model`` embeds questions (None: nothing is found by meaning).

    ``runs`` and ``seams`` are doors that the settings mount; ``fixtures`` are ids of the workflows that the
    runs door can run.
    """

    counter: str
    max_entry_bytes: int
    model: str | None = None
    runs: bool = False
    seams: bool = False
    fixtures: tuple[str, ...] = ()

    @property
    def semantic(self) -> bool:
        """Whether memory can be searched by meaning."""
        return self.model is not None

    @property
    def attributes_writes(self) -> bool:
        """Whether a run's writes are told on its stream (RFC 0057): where there are runs."""
        return self.runs

    def dimensions(self) -> tuple[str, ...]:
        """The memory dimensions this host has; an agent that needs another one is degraded (RFC 0080)."""
        absent = {"compaction", "replay-snapshot"}
        absent |= set() if self.semantic else {"search"}
        absent |= set() if self.attributes_writes else {"attribution"}
        return tuple(name for name in DIMENSIONS if name not in absent)

    def document(self) -> dict[str, Any]:
        """The discovery document: families at the root, and the same once more under ``capabilities``."""
        families = {"memory": self._memory(), "agents": self._agents()}
        return {
            "protocolVersion": PROTOCOL,
            "implementation": {"name": "foreword", "version": __version__, "vendor": VENDOR},
            "supportedEnvelopes": [],
            "schemaVersions": {},
            "limits": {"clarificationRounds": 0, "schemaRounds": 0, "envelopesPerTurn": 0},
            "supportedTransports": ["rest"],
            "fixtures": list(self.fixtures) if self.runs else [],
            **families,
            "capabilities": families,
        }

    def _memory(self) -> dict[str, Any]:
        memory: dict[str, Any] = {
            "supported": True,
            "injectionBudget": {"supported": True, "tokenCounter": self.counter},
            "retention": {"ttl": True, "forget": True},
            "maxEntrySizeBytes": self.max_entry_bytes,
            "ttlSupported": True,
        }
        if self.semantic:
            memory["search"] = {"supported": True, "modes": ["semantic", "filter"]}
        if self.attributes_writes:
            memory["attribution"] = {"supported": True, "emitsWriteEvents": True}
        return memory

    def _agents(self) -> dict[str, Any]:
        agents: dict[str, Any] = {"memoryBackends": [BACKEND]}
        if self.runs:
            agents |= {"supported": True, "manifestRuntime": {"supported": True}}
        return agents
