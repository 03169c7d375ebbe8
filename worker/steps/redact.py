"""Draft -> the same Draft without secrets, in every field that holds text."""

import re
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

from foreword.draft import Draft
from worker.steps.redaction import Redactor

_SPEAKER = re.compile(r"(\w[\w .'\-]{0,39}): \S")


def redact(draft: Draft, redactor: Redactor) -> Draft:
    """Content, tags, metadata, source, speaker and conversation pass the gate; ids and kinds hold no text."""

    def clean(text: str) -> str:
        return redactor.redact(text).text

    content = clean(draft.content)
    return replace(
        draft,
        content=content,
        tags=tuple(dict.fromkeys(clean(tag) for tag in draft.tags)),
        metadata=_metadata(draft.metadata, redactor),
        source=_optional(draft.source, clean),
        speaker=_optional(draft.speaker, clean) or _said_by(content),
        conversation=_optional(draft.conversation, clean),
    )


def _metadata(metadata: Mapping[str, Any], redactor: Redactor) -> Mapping[str, Any]:
    redacted = redactor.redact_value(dict(metadata))
    return redacted if isinstance(redacted, dict) else {}


def _optional(text: str | None, clean: Callable[[str], str]) -> str | None:
    return None if text is None else clean(text)


def _said_by(content: str) -> str | None:
    """The name in a leading ``Name: ``, which is how transcripts say who spoke."""
    match = _SPEAKER.match(content)
    return match[1] if match else None
