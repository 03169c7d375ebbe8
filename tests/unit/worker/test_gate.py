"""The gate: what a Draft becomes, what a derived text becomes, and which foreign labels survive."""

import base64
import json
from dataclasses import asdict
from typing import Any
from urllib.parse import quote

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from foreword.draft import Draft
from tests.unit.worker.redaction.test_redactor import FRAGMENTS, RUNS
from worker.steps.redact import redact, redact_derived
from worker.steps.redaction import Redactor

TENANTS = {"tenant-1": "a tenant's value", "nested": "tenant's"}
RESOLVED = [
    ("run-1", 'r3solved "by"/the+run é'),
    ("run-1", "its earlier value"),
    ("run-2", "a tenant's value, run"),
]
VALUES = [*TENANTS.items(), *RESOLVED]
REDACTOR = Redactor(TENANTS).knowing(RESOLVED)
SPELLINGS = (
    lambda v: v,
    lambda v: base64.b64encode(v.encode()).decode(),
    lambda v: base64.urlsafe_b64encode(v.encode()).decode().rstrip("="),
    lambda v: quote(v, safe=""),
    lambda v: json.dumps(v)[1:-1],
)
SPELLED = st.builds(lambda spell, pair: spell(pair[1]), st.sampled_from(SPELLINGS), st.sampled_from(VALUES))
TEXTS = st.lists(SPELLED | st.sampled_from(FRAGMENTS) | RUNS, min_size=1, max_size=12).map("".join)
LABELLED = st.text("abzABZ019._- /+=!", min_size=1, max_size=24)


def _draft(text: str) -> Draft:
    """A Draft with a text in every field that holds any."""
    metadata: dict[str, Any] = {"list": [text], text: text}
    return Draft(
        memory_ref="m",
        content=text,
        tags=(text, "plain"),
        metadata=metadata,
        source=text,
        speaker=text,
        conversation=text,
    )


def _leaks(kept: str) -> list[str]:
    """Spellings of values that stand in what is kept, its markers left out."""
    for name in ("tenant-1", "nested", "run-1", "run-2"):
        kept = kept.replace(f"[REDACTED:{name}]", "\x00")
    return [spelled for _, value in VALUES for spell in SPELLINGS if (spelled := spell(value)) in kept]


@settings(max_examples=200, deadline=None)
@given(text=TEXTS)
def test_the_gate_is_idempotent(text: str) -> None:
    """What has passed passes again unchanged: a Draft field by field, a derived text as a whole."""
    clean = redact(_draft(text), REDACTOR)
    assert redact(clean.draft, REDACTOR) == clean
    derived = redact_derived(text, REDACTOR)
    assert redact_derived(derived, REDACTOR) == derived


@settings(max_examples=200, deadline=None)
@given(text=TEXTS)
def test_no_field_keeps_what_is_registered(text: str) -> None:
    """Neither the tenant's values nor a run's, in any spelling, are in anything that comes of a Draft."""
    kept = asdict(redact(_draft(text), REDACTOR).draft)
    for part in (kept["content"], *kept["tags"], *kept["metadata"], kept["source"], kept["conversation"]):
        assert _leaks(part) == []
    assert _leaks(kept["speaker"]) == []
    assert _leaks(kept["metadata"]["list"][0]) == []


@settings(max_examples=200, deadline=None)
@given(parts=st.lists(TEXTS, min_size=1, max_size=4), joint=st.sampled_from(["", " ", "\n", "; "]))
def test_derived_text_is_as_a_fresh_write_of_it(parts: list[str], joint: str) -> None:
    """A summary of clean sources is kept as a Draft with that content would be, whatever the joining made."""
    summary = joint.join(redact(_draft(part), REDACTOR).draft.content for part in parts)
    derived = redact_derived(summary, REDACTOR)
    assert derived == redact(Draft(memory_ref="m", content=summary), REDACTOR).draft.content
    assert _leaks(derived) == []


@settings(max_examples=300, deadline=None)
@given(label=LABELLED)
def test_a_foreign_label_is_kept_where_it_is_a_name(label: str) -> None:
    """`<REDACTED:label>` becomes our marker with the label where it is words joined, else with none of it."""
    kept = redact_derived(f"x <REDACTED:{label}> y", REDACTOR)
    assert kept in (f"x [REDACTED:{label}] y", "x [REDACTED:redacted] y")
    if kept != "x [REDACTED:redacted] y":
        assert set(label) <= set("abzABZ019._-")


@pytest.mark.parametrize(
    ("label", "kept"),
    [
        ("db-prod-creds", "db-prod-creds"),
        ("openai-1", "openai-1"),
        ("STRIPE_KEY", "STRIPE_KEY"),
        ("tenant-1", "tenant-1"),
        ("ghp_" + "a1B2c3D4e5" * 4, "redacted"),
        ("Xk29fLq8aa", "redacted"),
        ("sk-canary-do-not-leak", "redacted"),
        ("Tr0ub4dor&3", "redacted"),
        ("a tenant's value", "tenant-1"),
        ("its earlier value", "run-1"),
    ],
)
def test_a_label_that_is_a_secret_goes(label: str, kept: str) -> None:
    """What is shaped like a secret, registered as one or no name at all does not survive as a label."""
    assert redact_derived(f"<REDACTED:{label}>", REDACTOR) == f"[REDACTED:{kept}]"


def test_a_secret_across_two_clean_sources_is_hidden() -> None:
    """Halves of a value in two entries are no secret; their join is one."""
    value = RESOLVED[0][1]
    halves = [redact_derived(half, REDACTOR) for half in (value[:9], value[9:])]
    assert "".join(halves) == value
    assert redact_derived("".join(halves), REDACTOR) == "[REDACTED:run-1]"


def test_a_run_changes_nothing_for_its_tenant() -> None:
    """A redactor that knows a run's values leaves the one it came of as it was."""
    tenants = Redactor(TENANTS)
    tenants.knowing(RESOLVED)
    assert tenants.redact("its earlier value").text == "its earlier value"
    assert tenants.knowing([]) is tenants
