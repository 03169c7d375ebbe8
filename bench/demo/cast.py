"""What the demo writes: real memories in order, one far too long, and two made-up secrets.

The secrets are put together when the demo runs, so that no file here holds anything shaped like one.
"""

import secrets
import string
from dataclasses import dataclass, field
from typing import Literal

from bench.corpus import rows
from foreword.client.arguments import DraftBody

MEMORY = "agent:demo"
SECRET_TAG = "demo-secret"
SECRET_ID = "staging-db"

_Kind = Literal["preference", "fact", "insight", "note"]
_KINDS: dict[str, _Kind] = {
    "preference": "preference",
    "entity": "fact",
    "relation": "fact",
    "decision": "insight",
    "open_question": "note",
}
_LATEST = 91


@dataclass(frozen=True)
class Secrets:
    """A password that is registered before the demo writes, and an access token that nobody registers."""

    password: str = field(default_factory=lambda: "-".join(secrets.token_hex(3) for _ in range(4)))
    token: str = field(
        default_factory=lambda: "_".join(
            ("gh" + "p", "".join(secrets.choice(string.ascii_letters + string.digits) for _ in range(36)))
        )
    )


def drafts(planted: Secrets) -> list[DraftBody]:
    """Everything the demo writes, oldest first."""
    memories, phrases = _memories(), _phrases()
    latest = [draft for pair in zip(memories[-_LATEST:], phrases, strict=True) for draft in pair]
    told = [*_beliefs(), *memories[:-_LATEST], *latest]
    return [
        *(*told[:-16], _registered(planted)),
        *(*told[-16:-8], _paste()),
        *(*told[-8:-5], _unregistered(planted)),
        *told[-5:],
    ]


def _memories() -> list[DraftBody]:
    return [
        {"content": row["content"], "tags": row["tags"], "observed_at": row["createdAt"]}
        for row in rows("memories.jsonl")
    ]


def _beliefs() -> list[DraftBody]:
    """Beliefs about one engineer; three of them were later replaced, and say by what."""
    found = [row for row in rows("beliefs.jsonl") if row["user_id"] == "test-user"]
    replaced = {row["_id"]: row["superseded_by"] for row in found if row["superseded_by"]}
    return [
        {
            "id": row["_id"],
            "content": row["content"],
            "tags": row["scope"],
            "kind": _KINDS[row["type"]],
            "confidence": row["confidence"],
            "pinned": row["pinned"],
            "observed_at": row["created_at"],
            "supersedes": [old for old, new in replaced.items() if new == row["_id"]],
        }
        for row in found
    ]


def _phrases() -> list[DraftBody]:
    return [{"content": row["text"], "tags": [row["group"]]} for row in rows("phrases.jsonl")]


def _paste() -> DraftBody:
    """Somebody pasted a whole file: alone larger than any budget the demo asks for."""
    return {"content": "\n\n".join(row["text"] for row in rows("phrases.jsonl")), "tags": ["paste"]}


def _registered(planted: Secrets) -> DraftBody:
    text = (
        f"The staging database moved; for now we log in as app with {planted.password}, rotate it on Monday."
    )
    return {"content": text, "tags": ["note", SECRET_TAG]}


def _unregistered(planted: Secrets) -> DraftBody:
    text = (
        f"Mika put the deploy token {planted.token} into the chat. Remind the team to use the vault instead."
    )
    return {"content": text, "tags": ["chat", SECRET_TAG]}
