"""Ids: UUIDv7 (RFC 9562), so that ids made later sort later."""

import os
import uuid

from foreword import instant


def uuid7() -> str:
    """A fresh UUIDv7: 48 bits of milliseconds, then 74 random bits."""
    drawn = int.from_bytes(os.urandom(10))
    moment = (instant.now_ms() & 0xFFFF_FFFF_FFFF) << 80
    version, variant = 0x7 << 76, 0b10 << 62
    high, low = (drawn >> 62 & 0xFFF) << 64, drawn & 0x3FFF_FFFF_FFFF_FFFF
    return str(uuid.UUID(int=moment | version | high | variant | low))
