"""The workflows there are: an id, a program, how long it may take, and the inputs it reads."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from api_shim.runs.programs.expiry import expiry
from api_shim.runs.programs.injection import LEAST_BUDGET, MOST_BUDGET, injection
from api_shim.runs.programs.isolation import isolation
from api_shim.runs.programs.noop import noop
from api_shim.runs.programs.redaction import redaction
from api_shim.runs.programs.roundtrip import roundtrip
from api_shim.runs.stage import Program
from foreword.errors import Field


@dataclass(frozen=True, kw_only=True, slots=True)
class Text:
    """An input that is text of so many characters at most."""

    most: int

    def refuses(self, value: object) -> str | None:
        """What is wrong with a value, if anything is."""
        fits = isinstance(value, str) and 1 <= len(value) <= self.most
        return None if fits else f"must be a string of 1 to {self.most} characters"


@dataclass(frozen=True, kw_only=True, slots=True)
class Whole:
    """An input that is a whole number in these bounds."""

    least: int
    most: int

    def refuses(self, value: object) -> str | None:
        """What is wrong with a value, if anything is."""
        fits = isinstance(value, int) and not isinstance(value, bool) and self.least <= value <= self.most
        return None if fits else f"must be an integer from {self.least} to {self.most}"


@dataclass(frozen=True, kw_only=True, slots=True)
class Workflow:
    """A program and how long it may take, in seconds. Inputs it does not know are left alone."""

    program: Program
    bound_s: float
    inputs: Mapping[str, Text | Whole] = field(default_factory=dict)

    def refused(self, inputs: Mapping[str, Any]) -> list[Field]:
        """Each input it reads that is not what it must be."""
        found = {name: kind.refuses(inputs[name]) for name, kind in self.inputs.items() if name in inputs}
        return [Field(f"inputs.{name}", reason) for name, reason in found.items() if reason is not None]


WORKFLOWS: Final[Mapping[str, Workflow]] = {
    "conformance-noop": Workflow(program=noop, bound_s=15),
    "conformance-agent-memory-roundtrip": Workflow(program=roundtrip, bound_s=15),
    "conformance-agent-memory-redaction": Workflow(
        program=redaction, bound_s=15, inputs={"byokSecretId": Text(most=64)}
    ),
    "conformance-agent-memory-ttl": Workflow(program=expiry, bound_s=10),
    "conformance-agent-memory-cross-tenant": Workflow(program=isolation, bound_s=10),
    "conformance-agent-memory-injection-budget": Workflow(
        program=injection, bound_s=15, inputs={"tokenBudget": Whole(least=LEAST_BUDGET, most=MOST_BUDGET)}
    ),
}
"""By the ids that OpenWOP's conformance scenarios ask for; these and no other are advertised."""
