"""Entry: redacted, counted, filed; the only thing stores and the shim know."""

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from foreword import instant
from foreword.scope import Scope


@dataclass(frozen=True, kw_only=True)
class Entry:
    """One memory. ``seq`` is its accept position; instants in milliseconds; costs by counter ordinal: of
    the content, of its row in a prompt, and of that row as JSON."""

    scope: Scope
    seq: int
    id: str
    content: str
    tags: tuple[str, ...]
    kind: str
    confidence: float
    pinned: bool
    created_at: int
    observed_at: int
    costs: tuple[int, ...]
    row_costs: tuple[int, ...]
    json_costs: tuple[int, ...]
    metadata: Mapping[str, Any] = field(default_factory=dict)
    source: str | None = None
    speaker: str | None = None
    conversation: str | None = None
    links: tuple[Mapping[str, str], ...] = ()
    supersedes: tuple[str, ...] = ()
    expires_at: int | None = None

    def fragment(self) -> bytes:
        """The five wire fields as ready JSON (OpenWOP agent-memory: nothing else reaches the wire)."""
        return wire_fragment(
            id=self.id,
            content=self.content,
            tags=self.tags,
            created_at=self.created_at,
            expires_at=self.expires_at,
        )


def wire_fragment(
    *, id: str, content: str, tags: tuple[str, ...] | list[str], created_at: int, expires_at: int | None
) -> bytes:
    """The JSON of an entry on the wire: ``id, content, tags, createdAt, expiresAt?``."""
    body: dict[str, Any] = {
        "id": id,
        "content": content,
        "tags": list(tags),
        "createdAt": instant.to_wire(created_at),
    }
    if expires_at is not None:
        body["expiresAt"] = instant.to_wire(expires_at)
    return compact(body)


_encode = json.JSONEncoder(ensure_ascii=False, separators=(",", ":")).encode


def compact(value: object) -> bytes:
    """JSON without spaces, in UTF-8."""
    return _encode(value).encode()
