"""Instants: whole milliseconds since the epoch inside, RFC 3339 UTC with ``Z`` on the wire."""

import re
import time
from datetime import UTC, datetime, timedelta

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_SHAPE = re.compile(
    r"[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}(\.[0-9]{1,9})?(Z|[+-][0-9]{2}:[0-9]{2})"
)
_DAY = timedelta(days=1)
_FIRST, _LAST = datetime.min.replace(tzinfo=UTC) + _DAY, datetime.max.replace(tzinfo=UTC) - _DAY


def now_ms() -> int:
    """The wall clock, in milliseconds."""
    return time.time_ns() // 1_000_000


def from_datetime(moment: datetime) -> int:
    """An aware datetime in milliseconds, rounded down."""
    return (moment - _EPOCH) // timedelta(milliseconds=1)


def to_datetime(ms: int) -> datetime:
    """Milliseconds as an aware datetime."""
    return _EPOCH + timedelta(milliseconds=ms)


def to_wire(ms: int) -> str:
    """``2026-11-30T08:15:00.000Z``."""
    return to_datetime(ms).isoformat(timespec="milliseconds")[:23] + "Z"


def from_wire(text: str) -> int:
    """Milliseconds of an RFC 3339 instant with a zone; ValueError for anything else.

    The first and the last day of the years 1 to 9999 are left out: an instant must exist in every zone.
    """
    if _SHAPE.fullmatch(text) is None:
        raise ValueError("not an RFC 3339 instant with a zone")
    moment = datetime.fromisoformat(text)
    if not _FIRST <= moment <= _LAST:
        raise ValueError("outside the years 1 to 9999")
    return from_datetime(moment)
