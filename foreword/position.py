"""Opaque tokens: a write's position, and where a page ended.

Both are URL-safe base64 of a few numbers and a tag of the scope and options they belong to, so that a token
of another scope is refused rather than misread. They are not secrets and grant nothing.
"""

import base64
import binascii
import hashlib
import struct
from functools import lru_cache
from typing import Any, Final, NamedTuple

from foreword.errors import ValidationError
from foreword.scope import Scope

_POSITION = struct.Struct(">Q8s")
_CURSOR = struct.Struct(">QQ8s")
_URL_SAFE: Final = bytes.maketrans(b"+/", b"-_")
_MOST = 2**63 - 1
"""The largest number the ledger can compare with."""


class Cursor(NamedTuple):
    """The first row not visited is the newest below ``before``; ``remaining`` rows were left then."""

    before: int
    remaining: int


def write_position(scope: Scope, seq: int) -> str:
    """The token of an accepted write."""
    return _encode(_POSITION.pack(seq, _tag(scope, "")))


def read_position(scope: Scope, token: str) -> int:
    """The accept position in a token; ValidationError when it is not one of this scope."""
    seq, tag = _decode(_POSITION, token, "after")
    if tag != _tag(scope, ""):
        raise ValidationError.of("after", "is not a position of this memoryRef")
    return int(seq)


def write_cursor(scope: Scope, filters: str, cursor: Cursor) -> str:
    """The token that continues a page read with these filters."""
    return _encode(_CURSOR.pack(cursor.before, cursor.remaining, _tag(scope, filters)))


def read_cursor(scope: Scope, filters: str, token: str) -> Cursor:
    """The cursor in a token; ValidationError when it continues another read."""
    before, remaining, tag = _decode(_CURSOR, token, "cursor")
    if tag != _tag(scope, filters):
        raise ValidationError.of("cursor", "does not continue a read with this memoryRef and these filters")
    return Cursor(before, remaining)


@lru_cache(maxsize=4096)
def _tag(scope: Scope, filters: str) -> bytes:
    text = f"{scope.tenant}\x00{scope.memory_ref}\x00{filters}"
    return hashlib.blake2b(text.encode(errors="surrogatepass"), digest_size=8).digest()


def _encode(raw: bytes) -> str:
    return binascii.b2a_base64(raw, newline=False).translate(_URL_SAFE).decode().rstrip("=")


def _decode(shape: struct.Struct, token: str, field: str) -> tuple[Any, ...]:
    try:
        raw = base64.b64decode(token + "=" * (-len(token) % 4), altchars=b"-_", validate=True)
        *numbers, tag = shape.unpack(raw)
    except (binascii.Error, struct.error, ValueError) as error:
        raise ValidationError.of(field, _FOREIGN) from error
    if max(numbers) > _MOST:
        raise ValidationError.of(field, _FOREIGN)
    return *numbers, tag


_FOREIGN = "is not a token of this server"
