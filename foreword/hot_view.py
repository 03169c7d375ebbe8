"""The hot view's protocol, without colour: what a writer must do so that no read is ever stale.

A writer *opens* a scope before it commits in the ledger: the head is gone, so reads go to the ledger, and its
token is in the lease. After the commit it either *shows* the scope (a worker; ``show.lua``) or *voids* it (a
removal). A head may be set only while the writer's own token is still there, no other writer is open, and no
newer version was held back; so whatever dies, flushes, evicts or restarts in between leaves the scope cold,
which is slower and never wrong. A dead writer's token lapses after ``LEASE_MS``; transactions are cut off
sooner (``ops`` in docs/architecture.md).
"""

import struct
from typing import Final

from foreword.head import Row, Summary
from foreword.keys import ViewKeys

LEASE_MS: Final = 30_000
"""How long a writer may stay open; longer than any ledger transaction may last."""

Command = tuple[str | bytes | int, ...]

_META: Final = struct.Struct("<40sQQQIII")


def opening(keys: ViewKeys, token: str, now: int) -> list[Command]:
    """The commands that open a scope for the writer of this token; ``now`` in milliseconds."""
    return [
        ("UNLINK", keys.head),
        ("HSET", keys.lease, token, now + LEASE_MS),
        ("PEXPIRE", keys.lease, 2 * LEASE_MS),
    ]


def voiding(keys: ViewKeys) -> Command:
    """The command that makes a scope cold and voids every writer that is open on it."""
    return ("UNLINK", keys.head, keys.order, keys.rows, keys.lease)


def encode_row(row: Row) -> bytes:
    """A row of the window: expiry (u64 ms, 0 = never), costs (u32 each), the ready fragment."""
    return struct.pack(f"<Q{len(row.costs)}I", row.expires_at, *row.costs) + row.fragment


def encode_meta(run_id: str, summary: Summary, *, counters: int, complete: bool) -> bytes:
    """What ``window.lua`` must know of the scope, in the window's field ``#``.

    Run id (40 bytes), version, live entries, valid-until (u64 each), counters, whether the window holds the
    whole scope, number of upcoming expiries (u32 each), then these (u64 each, ms).
    """
    return _META.pack(
        run_id.encode(),
        summary.version,
        summary.total,
        summary.valid_until,
        counters,
        int(complete),
        len(summary.upcoming),
    ) + struct.pack(f"<{len(summary.upcoming)}Q", *summary.upcoming)
