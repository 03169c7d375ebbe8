"""What may be asked of a run and of a fork: every bad field is named, and what nobody reads is left alone."""

from typing import Any

import pytest

from api_shim.doors.openwop.asked import fork_asked, is_run_id, run_asked
from api_shim.runs.workflows import WORKFLOWS
from foreword.errors import ValidationError

NOOP = "conformance-noop"
BUDGETED = "conformance-agent-memory-injection-budget"


def bad_fields(read: Any, body: object) -> set[str]:
    """The fields a refusal names."""
    with pytest.raises(ValidationError) as refused:
        read(body)
    return {field.field for field in refused.value.fields}


@pytest.mark.parametrize("workflow_id", WORKFLOWS)
def test_a_workflow_is_named_by_its_id(workflow_id: str) -> None:
    """Each workflow there is can be asked for by its id alone."""
    assert run_asked({"workflowId": workflow_id}).workflow_id == workflow_id


def test_what_nobody_reads_is_left_alone() -> None:
    """Keys of the protocol and of later versions are taken, and a tenantId changes nothing."""
    body = {
        "workflowId": NOOP,
        "tenantId": "somebody-else",
        "scopeId": "s",
        "callbackUrl": "https://example.org",
        "configurable": {"model": "m"},
        "tags": ["t"],
        "metadata": {"a": 1},
        "laterVersion": [1],
        "inputs": {"unread": object},
    }
    assert run_asked(body).workflow_id == NOOP


@pytest.mark.parametrize(
    ("body", "fields"),
    [
        ([], {"body"}),
        ({}, {"workflowId"}),
        ({"workflowId": "unknown"}, {"workflowId"}),
        ({"workflowId": [NOOP]}, {"workflowId"}),
        ({"workflowId": NOOP, "inputs": None}, {"inputs"}),
        ({"workflowId": NOOP, "tags": "t", "metadata": [], "configurable": 1, "tenantId": 7},
         {"tags", "metadata", "configurable", "tenantId"}),
        ({"workflowId": NOOP, "tags": ["t"] * 101}, {"tags"}),
        ({"workflowId": NOOP, "tags": ["t" * 257]}, {"tags"}),
        ({"workflowId": BUDGETED, "inputs": {"tokenBudget": True}}, {"inputs.tokenBudget"}),
        ({"workflowId": BUDGETED, "inputs": {"tokenBudget": 299}}, {"inputs.tokenBudget"}),
        ({"workflowId": BUDGETED, "inputs": {"tokenBudget": 4001}, "tags": 1},
         {"tags", "inputs.tokenBudget"}),
        ({"workflowId": "conformance-agent-memory-redaction", "inputs": {"byokSecretId": ""}},
         {"inputs.byokSecretId"}),
    ],
)  # fmt: skip
def test_bad_fields_are_named(body: object, fields: set[str]) -> None:
    """A run that cannot be is refused with each field that says why."""
    assert bad_fields(run_asked, body) == fields


@pytest.mark.parametrize(
    ("body", "fields"),
    [
        (None, {"body"}),
        ({}, {"mode"}),
        ({"mode": "rewind", "fromSeq": -1}, {"mode", "fromSeq"}),
        ({"mode": "branch"}, {"fromSeq"}),
        ({"mode": "branch", "fromSeq": 1}, {"fromSeq"}),
        ({"mode": "replay", "fromSeq": True}, {"fromSeq"}),
        ({"mode": "replay", "fromSeq": None}, {"fromSeq"}),
        ({"mode": "replay", "fromSeq": 1.0}, {"fromSeq"}),
        ({"mode": "replay", "fromSeq": 2**53}, {"fromSeq"}),
        ({"mode": "replay", "runOptionsOverlay": {"tags": []}}, {"runOptionsOverlay"}),
        ({"mode": "branch", "fromSeq": 0, "runOptionsOverlay": [1]}, {"runOptionsOverlay"}),
        ({"mode": "branch", "fromSeq": 0, "runOptionsOverlay": {"inputs": 1}}, {"runOptionsOverlay"}),
    ],
)
def test_a_fork_that_cannot_be_is_refused(body: object, fields: set[str]) -> None:
    """Replay takes no overlay, branch starts over or not at all, and both say so."""
    assert bad_fields(fork_asked, body) == fields


def test_a_replay_starts_at_the_beginning_by_default() -> None:
    """Only branch must say where; a replay without fromSeq is a whole one."""
    assert fork_asked({"mode": "replay"}).from_sequence == 0
    assert fork_asked({"mode": "replay", "fromSeq": 3, "runOptionsOverlay": {}}).from_sequence == 3
    inputs = {"tokenBudget": 400}
    overlay = {"inputs": inputs, "configurable": {}}
    assert fork_asked({"mode": "branch", "fromSeq": 0, "runOptionsOverlay": overlay}).inputs == inputs


@pytest.mark.parametrize("text", ["", "a" * 65, "../x", "a b", "a\x00", "ü"])
def test_what_cannot_be_a_run_id_is_none(text: str) -> None:
    """Such an id is not looked for."""
    assert not is_run_id(text)
