"""Answer: a body as bytes and its ETag, a digest of exactly these bytes."""

import hashlib
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
        return cls(body, f'"{hashlib.sha256(body).hexdigest()[:32]}"')


def shown(memory_ref: str) -> str:
    """A ref as an answer repeats it; what was not UTF-8 in it becomes ``?``."""
    return memory_ref.encode(errors="replace").decode()


def listing(scope: Scope, filters: str, page: Page) -> Answer:
    """The answer of a list: ready fragments between a few small pieces."""
    end = "}"
    if page.resume is not None:
        cursor = write_cursor(scope, filters, Cursor(page.resume, page.report.next_remaining))
        end = f',"nextCursor":"{cursor}"}}'
    ref, report = compact(shown(scope.memory_ref)), page.report.to_json()
    return Answer.of(
        b'{"memoryRef":%b,"entries":[%b],"budget":%b%b' % (ref, page.entries, report, end.encode())
    )
