"""The workflows there are: an id, a program, how long it may take, and the inputs it reads."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from api_shim.runs.live import NODE
from api_shim.runs.programs.expiry import expiry
from api_shim.runs.programs.injection import LEAST_BUDGET, MOST_BUDGET, injection
from api_shim.runs.programs.isolation import isolation
from api_shim.runs.programs.noop import noop
from api_shim.runs.programs.redaction import redaction
from api_shim.runs.programs.roundtrip import roundtrip
from api_shim.runs.stage import Program
from foreword import __version__
from foreword.errors import Field


@dataclass(frozen=True, kw_only=True, slots=True)
class Text:
    """An input that is text of so many characters at most."""

    most: int

    def schema(self) -> dict[str, Any]:
        """The input as JSON Schema tells it."""
        return {"type": "string", "minLength": 1, "maxLength": self.most}

    def refuses(self, value: object) -> str | None:
        """What is wrong with a value, if anything is."""
        fits = isinstance(value, str) and 1 <= len(value) <= self.most
        return None if fits else f"must be a string of 1 to {self.most} characters"


@dataclass(frozen=True, kw_only=True, slots=True)
class Whole:
    """An input that is a whole number in these bounds."""

    least: int
    most: int

    def schema(self) -> dict[str, Any]:
        """The input as JSON Schema tells it."""
        return {"type": "integer", "minimum": self.least, "maximum": self.most}

    def refuses(self, value: object) -> str | None:
        """What is wrong with a value, if anything is."""
        fits = isinstance(value, int) and not isinstance(value, bool) and self.least <= value <= self.most
        return None if fits else f"must be an integer from {self.least} to {self.most}"


@dataclass(frozen=True, kw_only=True, slots=True)
class Workflow:
    """A program and how long it may take, in seconds. Inputs it does not know are left alone.

    ``action`` is what the fixture's one node is told to do with memory, if anything.
    """

    program: Program
    bound_s: float
    action: str | None = None
    inputs: Mapping[str, Text | Whole] = field(default_factory=dict)

    def refused(self, inputs: Mapping[str, Any]) -> list[Field]:
        """Each input it reads that is not what it must be."""
        found = {name: kind.refuses(inputs[name]) for name, kind in self.inputs.items() if name in inputs}
        return [Field(f"inputs.{name}", reason) for name, reason in found.items() if reason is not None]

    def to_wire(self, workflow_id: str) -> dict[str, Any]:
        """Its manifest: one node, and the inputs it reads."""
        config = {} if self.action is None else {"memoryAction": self.action}
        return {
            "workflowId": workflow_id,
            "version": __version__,
            "nodes": [{"id": NODE, "typeId": "core.identity", "config": config}],
            "edges": [],
            "inputs": {name: kind.schema() for name, kind in self.inputs.items()},
        }


WORKFLOWS: Final[Mapping[str, Workflow]] = {
    "conformance-noop": Workflow(program=noop, bound_s=15),
    "conformance-agent-memory-roundtrip": Workflow(program=roundtrip, bound_s=15, action="write-then-read"),
    "conformance-agent-memory-redaction": Workflow(
        program=redaction, bound_s=15, action="redaction-probe", inputs={"byokSecretId": Text(most=64)}
    ),
    "conformance-agent-memory-ttl": Workflow(program=expiry, bound_s=10, action="ttl-probe"),
    "conformance-agent-memory-cross-tenant": Workflow(
        program=isolation, bound_s=10, action="cross-tenant-probe"
    ),
    "conformance-agent-memory-injection-budget": Workflow(
        program=injection,
        bound_s=15,
        action="list-budgeted",
        inputs={"tokenBudget": Whole(least=LEAST_BUDGET, most=MOST_BUDGET)},
    ),
}
"""By the ids that OpenWOP's conformance scenarios ask for; these and no other are advertised."""
