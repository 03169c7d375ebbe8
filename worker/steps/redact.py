"""THE GATE (SR-1). Every text that is kept has passed here: what a Draft brings, what comes of entries.

    Draft -> redact -> Clean -> entry, its costs, its row, its run's event
    summary of entries -> redact_derived -> content of another Draft, or of a page

A :class:`Clean` is made here alone, and whatever files or rewrites text takes a Clean or what was made of
one; ``tests/architecture/test_gate.py`` holds both. Derived text passes like a fresh write, even where every
source has passed before: whoever summarises may write what none of them said (RFC 0012 section D).
"""

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any

from foreword.draft import Draft
from worker.steps.redaction import Redactor

_SPEAKER = re.compile(r"(\w[\w .'\-]{0,39}): \S")


@dataclass(frozen=True)
class Clean:
    """A Draft without secrets in any field that holds text."""

    draft: Draft


def redact(draft: Draft, redactor: Redactor) -> Clean:
    """Content, tags, metadata, source, speaker and conversation pass; ids, links and kinds hold no text."""

    def clean(text: str) -> str:
        return redact_derived(text, redactor)

    content = clean(draft.content)
    return Clean(
        replace(
            draft,
            content=content,
            tags=tuple(dict.fromkeys(clean(tag) for tag in draft.tags)),
            metadata=_metadata(draft.metadata, redactor),
            source=_optional(draft.source, clean),
            speaker=_optional(draft.speaker, clean) or _said_by(content),
            conversation=_optional(draft.conversation, clean),
        )
    )


def redact_derived(text: str, redactor: Redactor) -> str:
    """A text made of entries (a summary, an index, a report), as a fresh write of it would be kept."""
    return redactor.redact(text).text


def _metadata(metadata: Mapping[str, Any], redactor: Redactor) -> Mapping[str, Any]:
    redacted = redactor.redact_value(dict(metadata))
    return redacted if isinstance(redacted, dict) else {}


def _optional(text: str | None, clean: Callable[[str], str]) -> str | None:
    return None if text is None else clean(text)


def _said_by(content: str) -> str | None:
    """The name in a leading ``Name: ``, which is how transcripts say who spoke."""
    match = _SPEAKER.match(content)
    return match[1] if match else None
