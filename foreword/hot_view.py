"""The hot view's protocol, without colour: what a writer must do so that no read is ever stale.

A writer locks its scopes in the ledger, changes them, *opens* each (``open.lua``: the head is gone, so that
reads go to the ledger, and the writer's token is in the lease), commits, and then either *shows* the scope (a
drain; ``show.lua``) or *voids* it (a removal). A rebuild locks, opens, reads and shows before it lets go.

A head may be set only while the writer's own token is in the lease and alive, no other writer is open, and no
newer version was held back. Since scopes are opened under the ledger's lock, whoever committed earlier opened
earlier: when a lease is lost to a flush, an eviction or a restart between another's opening and its commit,
every token that could set an older head is lost with it. So whatever dies, flushes, evicts or restarts leaves
the scope cold, which is slower and never wrong. A dead writer's token lapses after ``LEASE_MS``.
"""

import struct
from typing import Final

from foreword import resources
from foreword.head import Row, Summary
from foreword.keys import ViewKeys

LEASE_MS: Final = 30_000
"""How long a writer that died keeps a scope cold."""

Command = tuple[str | bytes | int, ...]

_META: Final = struct.Struct("<40sQQQII")


def opening(keys: ViewKeys, token: str) -> Command:
    """The command that opens a scope for the writer of this token."""
    return ("EVAL", resources.text("foreword", "open.lua"), 2, keys.head, keys.lease, token, LEASE_MS)


def voiding(keys: ViewKeys) -> Command:
    """The command that makes a scope cold and voids every writer that is open on it."""
    return ("UNLINK", keys.head, keys.order, keys.rows, keys.lease)


def encode_row(row: Row) -> bytes:
    """A row of the window: expiry (u64 ms, 0 = never), costs (u32 their number, u32 each), ready fragment."""
    costs = struct.pack(f"<QI{len(row.costs)}I", row.expires_at, len(row.costs), *row.costs)
    return costs + row.fragment


def encode_meta(run_id: str, summary: Summary, *, complete: bool) -> bytes:
    """What ``window.lua`` must know of the scope, in the window's field ``#``.

    Run id (40 bytes), version, live entries, valid-until (u64 each), whether the window holds the whole
    scope, number of upcoming expiries (u32 each), then these (u64 each, ms).
    """
    return _META.pack(
        run_id.encode(),
        summary.version,
        summary.total,
        summary.valid_until,
        int(complete),
        len(summary.upcoming),
    ) + struct.pack(f"<{len(summary.upcoming)}Q", *summary.upcoming)
