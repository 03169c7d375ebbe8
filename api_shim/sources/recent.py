"""The newest entries from the ledger: the same answer as the hot view gives, slower."""

from typing import Any

from api_shim.database import Database
from foreword import instant
from foreword.budget import WALK_LIMIT, Selection
from foreword.counters import COUNTERS
from foreword.entry import compact, wire_fragment
from foreword.head import FOREVER
from foreword.page import Ask, Page, join, page
from foreword.scope import Scope

_NEWEST = FOREVER - 1


async def recent(database: Database, scope: Scope, ask: Ask, now: int, *, full: bool) -> Page | None:
    """One statement walks the index with stored costs; None when there is no such scope.

    ``full`` shows every field of what was kept.
    """
    rows = await database.read(
        scope.tenant,
        "recent_full" if full else "recent",
        {
            "ref": scope.memory_ref,
            "ordinal": ask.ordinal,
            "budget": ask.budget,
            "limit": ask.limit,
            "fit": ask.fit,
            "before": _NEWEST if ask.before is None else ask.before,
            "tag": ask.tag,
            "kind": ask.kind,
            "now": instant.to_datetime(now),
            "most": WALK_LIMIT,
        },
    )
    if not rows:
        return None
    first = rows[0]
    kept = [row["seq"] for row in rows if row["seq"] is not None]
    selection = Selection(
        kept=tuple(range(len(kept))),
        used=first["used"],
        visited=first["visited"],
        oversize=first["oversize"],
        ended=first["ended"],
        smallest_omitted=first["smallest_omitted"],
    )
    fragments = [(full_fragment if full else fragment)(row) for row in rows if row["seq"] is not None]
    return page(
        ask,
        fragments=join(fragments),
        selection=selection,
        total=first["total"],
        last_visited=first["resume"],
    )


def fragment(row: dict[str, Any]) -> bytes:
    """A ledger row on the wire."""
    expires = row["expires_at"]
    return wire_fragment(
        id=row["id"],
        content=row["content"],
        tags=row["tags"],
        created_at=instant.from_datetime(row["created_at"]),
        expires_at=None if expires is None else instant.from_datetime(expires),
    )


def full_fragment(row: dict[str, Any]) -> bytes:
    """A ledger row with ``fields=all``."""
    return compact(full_fields(row))


def full_fields(row: dict[str, Any]) -> dict[str, Any]:
    """Every public field of a ledger row."""
    return draft_fields(row) | {
        "status": "active",
        "costs": _by_name(row["costs"]),
        "rowCosts": _by_name(row["row_costs"]),
    }


def draft_fields(row: dict[str, Any]) -> dict[str, Any]:
    """What a write could say of this entry, and its ``createdAt``: what an export line holds."""
    fields: dict[str, Any] = {
        "id": row["id"],
        "content": row["content"],
        "tags": row["tags"],
        "createdAt": instant.to_wire(instant.from_datetime(row["created_at"])),
        "expiresAt": None
        if row["expires_at"] is None
        else instant.to_wire(instant.from_datetime(row["expires_at"])),
        "kind": row["kind"],
        "confidence": round(row["confidence"], 6),
        "pinned": row["pinned"],
        "metadata": row["metadata"],
        "source": row["source"],
        "speaker": row["speaker"],
        "conversation": row["conversation"],
        "observedAt": instant.to_wire(instant.from_datetime(row["observed_at"])),
        "links": row["links"],
        "supersedes": row["supersedes"],
    }
    return {name: value for name, value in fields.items() if value is not None}


def _by_name(costs: list[int]) -> dict[str, int]:
    return {spec.name: costs[spec.ordinal] for spec in COUNTERS.values() if spec.ordinal < len(costs)}
