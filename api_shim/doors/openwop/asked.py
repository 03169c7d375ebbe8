"""What a run or a fork is asked for. Keys that nobody here reads are left alone."""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from api_shim.runs.run import MODES
from api_shim.runs.workflows import WORKFLOWS, Workflow
from foreword.errors import Field, ValidationError

MOST_TAGS: Final = 100
MOST_TAG: Final = 256
MOST_SEQUENCE: Final = 2**53 - 1

_OBJECTS: Final = ("inputs", "configurable", "metadata")
_TEXTS: Final = ("tenantId", "scopeId", "callbackUrl")
_RUN_ID: Final = re.compile(r"[A-Za-z0-9-]{1,64}")


@dataclass(frozen=True, kw_only=True, slots=True)
class RunAsked:
    """A run to start. Whose it is, the key says; a ``tenantId`` in the body is not looked at."""

    workflow_id: str
    inputs: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, kw_only=True, slots=True)
class ForkAsked:
    """A run to repeat. ``inputs`` are a branch's own."""

    mode: str
    from_sequence: int
    inputs: Mapping[str, Any] = field(default_factory=dict)


def is_run_id(text: str) -> bool:
    """Whether a run could have this id."""
    return _RUN_ID.fullmatch(text) is not None


def run_asked(body: object) -> RunAsked:
    """The run of a body; ValidationError names every bad field."""
    given, bad = _object(body), list[Field]()
    for name in _OBJECTS:
        if not isinstance(given.get(name, {}), dict):
            bad.append(Field(name, "must be an object"))
    for name in _TEXTS:
        if not isinstance(given.get(name, ""), str):
            bad.append(Field(name, "must be a string"))
    if not _is_tags(given.get("tags", [])):
        bad.append(Field("tags", f"must be a list of at most {MOST_TAGS} strings of {MOST_TAG} characters"))
    workflow_id = given.get("workflowId")
    workflow = WORKFLOWS.get(workflow_id) if isinstance(workflow_id, str) else None
    if workflow is None:
        bad.append(Field("workflowId", "names no workflow of this server"))
    elif isinstance(given.get("inputs", {}), dict):
        bad += workflow.refused(given.get("inputs", {}))
    if bad:
        raise ValidationError(bad)
    return RunAsked(workflow_id=str(workflow_id), inputs=given.get("inputs", {}))


def fork_asked(body: object) -> ForkAsked:
    """The fork of a body, judged without its run; ValidationError names every bad field."""
    given, bad = _object(body), list[Field]()
    mode, sequence, overlay = given.get("mode"), given.get("fromSeq"), given.get("runOptionsOverlay", {})
    if mode not in MODES:
        bad.append(Field("mode", "must be one of " + ", ".join(MODES)))
    if "fromSeq" not in given and mode == "branch":
        bad.append(Field("fromSeq", "is required for branch"))
    elif "fromSeq" in given and not _is_sequence(sequence):
        bad.append(Field("fromSeq", "must be an integer from 0 to 2^53 - 1"))
    elif sequence and mode == "branch":
        bad.append(Field("fromSeq", "must be 0 for branch: a workflow of one node starts over or not at all"))
    if not isinstance(overlay, dict) or not isinstance(overlay.get("inputs", {}), dict):
        bad.append(Field("runOptionsOverlay", "must be an object, and so must its inputs"))
    elif overlay and mode == "replay":
        bad.append(Field("runOptionsOverlay", "must be empty for replay"))
    if bad:
        raise ValidationError(bad)
    return ForkAsked(mode=str(mode), from_sequence=int(sequence or 0), inputs=overlay.get("inputs", {}))


def require_inputs(workflow: Workflow, inputs: Mapping[str, Any]) -> None:
    """ValidationError for inputs that a branch of this workflow cannot have."""
    bad = workflow.refused(inputs)
    if bad:
        raise ValidationError([Field(f"runOptionsOverlay.{field.field}", field.reason) for field in bad])


def _object(body: object) -> dict[str, Any]:
    if not isinstance(body, dict):
        raise ValidationError.of("body", "must be a JSON object")
    return body


def _is_tags(value: object) -> bool:
    return (
        isinstance(value, list)
        and len(value) <= MOST_TAGS
        and all(isinstance(tag, str) and len(tag) <= MOST_TAG for tag in value)
    )


def _is_sequence(value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and 0 <= value <= MOST_SEQUENCE
