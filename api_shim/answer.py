"""Answer: a body as bytes and its ETag, a digest of exactly these bytes."""

import hashlib
import json
from dataclasses import dataclass

from foreword.entry import compact
from foreword.page import Page
from foreword.position import Cursor, write_cursor
from foreword.scope import Scope


@dataclass(frozen=True, slots=True)
class Answer:
    """What a door sends; equal bytes have equal tags."""

    body: bytes
    etag: str

    @classmethod
    def of(cls, body: bytes) -> "Answer":
        """An answer of these bytes."""
        return cls(body, f'"{hashlib.blake2b(body, digest_size=16).hexdigest()}"')


def listing(scope: Scope, filters: str, page: Page) -> Answer:
    """The answer of a list: ready fragments between a few small pieces."""
    parts = [
        b'{"memoryRef":',
        json.dumps(scope.memory_ref, ensure_ascii=False).encode(errors="replace"),
        b',"entries":[',
        page.entries,
        b'],"budget":',
        compact(page.report.to_wire()),
    ]
    if page.resume is not None:
        cursor = Cursor(before=page.resume, remaining=page.report.next_remaining)
        parts += (b',"nextCursor":"', write_cursor(scope, filters, cursor).encode(), b'"')
    parts.append(b"}")
    return Answer.of(b"".join(parts))
