"""Draft: what a runtime sent. Not yet redacted, and never kept in the clear.

Both doors (HTTP and the queue) parse here, so that a limit holds on every way in. Refusals name each bad
field and never repeat its value.
"""

import json
import math
import re
from collections.abc import Mapping
from dataclasses import dataclass, field, fields, replace
from typing import Any

from foreword import instant
from foreword.errors import Field, ValidationError
from foreword.scope import MAX_REF, is_readable_ref

KINDS = (
    "axiom",
    "core",
    "preference",
    "insight",
    "event",
    "fact",
    "note",
    "identity",
    "distillate",
)
DEFAULT_KIND = "fact"

_ID = re.compile(r"(?!\.{1,2}$)[A-Za-z0-9._:-]{1,128}")
_UNSTORABLE = re.compile(r"[\x00\ud800-\udfff]")
_TELLABLE = re.compile(r"[A-Za-z_]{1,32}")
"""Names of unknown fields that a refusal repeats; anything else might be a value in the wrong place."""


@dataclass(frozen=True, kw_only=True)
class Limits:
    """What one Draft may be. Sizes in UTF-8 bytes unless named otherwise."""

    content_bytes: int = 64 * 1024
    tags: int = 64
    tag_chars: int = 256
    metadata_bytes: int = 16 * 1024
    metadata_depth: int = 16
    links: int = 64
    name_chars: int = 256
    source_chars: int = 1024


DEFAULT_LIMITS = Limits()


@dataclass(frozen=True, kw_only=True)
class Draft:
    """One thing to remember, validated. Instants in milliseconds; ``created_at`` only on import.

    ``run`` and ``node`` name the run (of the tenant) and its node that write it. Neither comes from outside,
    and neither belongs to the body: the same body written by another run is the same Draft.
    """

    memory_ref: str
    content: str
    id: str | None = None
    tags: tuple[str, ...] = ()
    kind: str = DEFAULT_KIND
    confidence: float = 1.0
    pinned: bool = False
    metadata: Mapping[str, Any] = field(default_factory=dict)
    source: str | None = None
    speaker: str | None = None
    conversation: str | None = None
    observed_at: int | None = None
    links: tuple[Mapping[str, str], ...] = ()
    supersedes: tuple[str, ...] = ()
    expires_at: int | None = None
    created_at: int | None = None
    run: str | None = None
    node: str | None = None

    def canonical(self) -> bytes:
        """The body as bytes that are equal for equal bodies: what idempotency compares."""
        return json.dumps(self._body(), sort_keys=True, separators=(",", ":"), ensure_ascii=False).encode()

    def to_bytes(self) -> bytes:
        """What is sealed: everything, id and, where there is one, the run included."""
        whole = self._body() | {"id": self.id}
        if self.run is not None:
            whole |= {"run": self.run, "node": self.node}
        return json.dumps(whole, separators=(",", ":"), ensure_ascii=False).encode()

    @classmethod
    def from_bytes(cls, plain: bytes) -> "Draft":
        """The inverse of :meth:`to_bytes`; only for bytes that this class wrote."""
        body = json.loads(plain)
        for name in ("tags", "links", "supersedes"):
            body[name] = tuple(body[name])
        return cls(**body)

    def with_id(self, new_id: str) -> "Draft":
        """The same Draft under an id."""
        return replace(self, id=new_id)

    def _body(self) -> dict[str, Any]:
        return {f.name: getattr(self, f.name) for f in fields(self) if f.name not in _BESIDE_THE_BODY}


def parse_draft(
    body: object, limits: Limits = DEFAULT_LIMITS, *, now: int | None = None, imported: bool = False
) -> Draft:
    """A Draft from decoded JSON; ValidationError names every bad field.

    ``now`` (ms) refuses an ``expiresAt`` that has passed (RFC 0004 section E). ``imported`` also takes
    ``createdAt`` and lets what has expired be kept out silently by the ledger.
    """
    if not isinstance(body, Mapping):
        raise ValidationError.of("body", "must be a JSON object")
    reader = _Reader(body, limits)
    draft = reader.draft(now=now, imported=imported)
    if reader.bad:
        raise ValidationError(reader.bad)
    return draft


class _Reader:
    """Reads the fields of one Draft and collects what is wrong with them."""

    def __init__(self, body: Mapping[str, Any], limits: Limits) -> None:
        self.body = body
        self.limits = limits
        self.bad: list[Field] = []

    def draft(self, *, now: int | None, imported: bool) -> Draft:
        self._refuse_unknown(_WIRE_NAMES | ({"createdAt"} if imported else set()))
        return Draft(
            memory_ref=self._memory_ref(),
            content=self._content(),
            id=self._id("id", self.body.get("id")),
            tags=self._tags(),
            kind=self._kind(),
            confidence=self._confidence(),
            pinned=self._flag("pinned"),
            metadata=self._metadata(),
            source=self._name("source", self.limits.source_chars),
            speaker=self._name("speaker", self.limits.name_chars),
            conversation=self._name("conversation", self.limits.name_chars),
            observed_at=self._instant("observedAt"),
            links=self._links(),
            supersedes=self._supersedes(),
            expires_at=self._instant("expiresAt", after=None if imported else now),
            created_at=self._instant("createdAt") if imported else None,
        )

    def _refuse(self, name: str, reason: str) -> None:
        self.bad.append(Field(name, reason))

    def _refuse_unknown(self, known: set[str]) -> None:
        for name in self.body:
            if name not in known:
                shown = name if isinstance(name, str) and _TELLABLE.fullmatch(name) else "(unnamed)"
                self._refuse(shown, "is not a field of an entry")

    def _text(self, name: str, value: object) -> str | None:
        if not isinstance(value, str):
            self._refuse(name, "must be a string")
            return None
        if _UNSTORABLE.search(value) is not None:
            self._refuse(name, "must not hold U+0000 or a lone surrogate")
            return None
        return value

    def _memory_ref(self) -> str:
        value = self.body.get("memoryRef")
        if not isinstance(value, str):
            self._refuse("memoryRef", "must be a string")
            return ""
        if not is_readable_ref(value):
            self._refuse(
                "memoryRef",
                f"must be 1 to {MAX_REF} characters with no control character and no '..' segment",
            )
        return value

    def _content(self) -> str:
        text = self._text("content", self.body.get("content"))
        if text is None:
            return ""
        if not text:
            self._refuse("content", "must not be empty")
        if len(text.encode()) > self.limits.content_bytes:
            self._refuse("content", f"must be at most {self.limits.content_bytes} bytes of UTF-8")
        return text

    def _id(self, name: str, value: object) -> str | None:
        if value is None:
            return None
        if not isinstance(value, str) or _ID.fullmatch(value) is None:
            self._refuse(name, "must be 1 to 128 characters of A-Z a-z 0-9 . _ : -")
            return None
        return value

    def _tags(self) -> tuple[str, ...]:
        value = self.body.get("tags", [])
        if not isinstance(value, list):
            self._refuse("tags", "must be a list of strings")
            return ()
        if len(value) > self.limits.tags:
            self._refuse("tags", f"must be at most {self.limits.tags}")
            return ()
        kept: dict[str, None] = {}
        for index, item in enumerate(value):
            tag = self._text(f"tags[{index}]", item)
            if tag is not None and len(tag) > self.limits.tag_chars:
                self._refuse(f"tags[{index}]", f"must be at most {self.limits.tag_chars} characters")
            elif tag:
                kept[tag] = None
        return tuple(kept)

    def _kind(self) -> str:
        value = self.body.get("kind", DEFAULT_KIND)
        if value not in KINDS:
            self._refuse("kind", "must be one of " + ", ".join(KINDS))
            return DEFAULT_KIND
        return str(value)

    def _confidence(self) -> float:
        value = self.body.get("confidence", 1.0)
        if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value <= 1:
            self._refuse("confidence", "must be a number from 0 to 1")
            return 1.0
        return round(float(value), 6)  # what single precision keeps, and the wire shows

    def _flag(self, name: str) -> bool:
        value = self.body.get(name, False)
        if not isinstance(value, bool):
            self._refuse(name, "must be true or false")
            return False
        return value

    def _name(self, name: str, most: int) -> str | None:
        if self.body.get(name) is None:
            return None
        text = self._text(name, self.body[name])
        if text is not None and not 1 <= len(text) <= most:
            self._refuse(name, f"must be 1 to {most} characters")
        return text

    def _instant(self, name: str, after: int | None = None) -> int | None:
        value = self.body.get(name)
        if value is None:
            return None
        try:
            moment = instant.from_wire(value)
        except (TypeError, ValueError):
            self._refuse(name, "must be an RFC 3339 instant with a zone")
            return None
        if after is not None and moment <= after:
            self._refuse(name, "has already passed")
        return moment

    def _metadata(self) -> Mapping[str, Any]:
        value = self.body.get("metadata", {})
        if not isinstance(value, dict):
            self._refuse("metadata", "must be a JSON object")
            return {}
        if not _is_storable(value, self.limits.metadata_depth):
            depth = self.limits.metadata_depth
            self._refuse("metadata", f"must hold JSON at most {depth} deep without U+0000 or lone surrogates")
            return {}
        size = len(json.dumps(value, ensure_ascii=False, separators=(",", ":")).encode())
        if size > self.limits.metadata_bytes:
            self._refuse("metadata", f"must be at most {self.limits.metadata_bytes} bytes as JSON")
            return {}
        return value

    def _links(self) -> tuple[Mapping[str, str], ...]:
        value = self.body.get("links", [])
        if not isinstance(value, list) or len(value) > self.limits.links:
            self._refuse("links", f"must be a list of at most {self.limits.links}")
            return ()
        return tuple(link for index, item in enumerate(value) if (link := self._link(index, item)))

    def _link(self, index: int, item: object) -> Mapping[str, str] | None:
        name = f"links[{index}]"
        if isinstance(item, str):
            item = {"to": item}
        if not isinstance(item, dict) or not set(item) <= {"to", "type"} or "to" not in item:
            self._refuse(name, 'must be an id or {"to": id, "type": name}')
            return None
        to = self._id(f"{name}.to", item["to"])
        kind = item.get("type", "related_to")
        if not isinstance(kind, str) or re.fullmatch(r"[a-z_]{1,32}", kind) is None:
            self._refuse(f"{name}.type", "must be 1 to 32 characters of a-z and _")
            return None
        return {"to": to, "type": kind} if to else None

    def _supersedes(self) -> tuple[str, ...]:
        value = self.body.get("supersedes")
        if value is None:
            return ()
        ids = value if isinstance(value, list) else [value]
        if len(ids) > self.limits.links:
            self._refuse("supersedes", f"must be at most {self.limits.links} ids")
            return ()
        read = [self._id("supersedes", item) if item is not None else None for item in ids]
        if any(item is None for item in ids):
            self._refuse("supersedes", "must be an id or a list of ids")
        return tuple(dict.fromkeys(item for item in read if item is not None))


def _is_storable(value: object, depth: int) -> bool:
    """Whether PostgreSQL can keep this JSON: no NUL, no lone surrogate, no NaN, not too deep."""
    if depth < 0:
        return False
    if isinstance(value, str):
        return _UNSTORABLE.search(value) is None
    if isinstance(value, dict):
        return all(_is_storable(k, depth) and _is_storable(v, depth - 1) for k, v in value.items())
    if isinstance(value, list):
        return all(_is_storable(item, depth - 1) for item in value)
    if isinstance(value, float):
        return math.isfinite(value)
    return True


_BESIDE_THE_BODY = {"id", "run", "node"}
_WIRE_NAMES = {
    "memoryRef",
    "content",
    "id",
    "tags",
    "kind",
    "confidence",
    "pinned",
    "metadata",
    "source",
    "speaker",
    "conversation",
    "observedAt",
    "links",
    "supersedes",
    "expiresAt",
}
