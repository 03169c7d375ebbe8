"""Instants: whole milliseconds since the epoch inside, RFC 3339 UTC with ``Z`` on the wire."""

import re
import time
from datetime import UTC, datetime, timedelta

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_SHAPE = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d{1,9})?(Z|[+-]\d\d:\d\d)")


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
    return to_datetime(ms).strftime("%Y-%m-%dT%H:%M:%S.") + f"{ms % 1000:03d}Z"


def from_wire(text: str) -> int:
    """Milliseconds of an RFC 3339 instant with a zone; ValueError for anything else."""
    if _SHAPE.fullmatch(text) is None:
        raise ValueError("not an RFC 3339 instant with a zone")
    try:
        return from_datetime(datetime.fromisoformat(text))
    except OverflowError as error:
        raise ValueError("outside the years 1..9999") from error
