"""The session: which entries a conversation has been sent, in a token that the runtime carries.

The server keeps none. A token holds eight bytes of each id's digest, so that it stays short and gives no id
away; what it excludes is excluded by that mark.
"""

import base64
import binascii
import hashlib
import zlib
from collections.abc import Sequence
from typing import Final

from foreword.errors import ValidationError

_MOST_SENT: Final = 2000
_SHORT: Final = 8


def write_session(sent: Sequence[str]) -> str:
    """A token of what has been sent: eight bytes of each id's digest, the last two thousand."""
    marks = list(dict.fromkeys(_mark(item) for item in sent))[-_MOST_SENT:]
    return base64.urlsafe_b64encode(zlib.compress(b"".join(marks), 9)).decode().rstrip("=")


def read_session(token: str | None) -> tuple[str, ...]:
    """The marks in a token, as ``#hex``; ValidationError when it is not one of ours."""
    if not token:
        return ()
    try:
        packed = base64.b64decode(token + "=" * (-len(token) % 4), altchars=b"-_", validate=True)
        inflater = zlib.decompressobj()
        raw = inflater.decompress(packed, _MOST_SENT * _SHORT + 1)
    except (binascii.Error, ValueError, zlib.error) as error:
        raise ValidationError.of("session", "is not a token of this server") from error
    if not inflater.eof or inflater.unused_data or len(raw) % _SHORT or len(raw) > _MOST_SENT * _SHORT:
        raise ValidationError.of("session", "is not a token of this server")
    return tuple("#" + raw[i : i + _SHORT].hex() for i in range(0, len(raw), _SHORT))


def _mark(item: str) -> bytes:
    if item.startswith("#") and len(item) == 1 + 2 * _SHORT:
        return bytes.fromhex(item[1:])
    return hashlib.blake2b(item.encode(), digest_size=_SHORT).digest()


def is_sent(entry_id: str, marks: frozenset[str]) -> bool:
    """Whether an id is excluded by itself or by its mark in a session."""
    return entry_id in marks or "#" + _mark(entry_id).hex() in marks
