"""Brings stored costs up to the registry: ``foreword recount``, after a counter or a form of row was added.

Resumable, since a row that has all its costs is not touched again; reads go on meanwhile and refuse the new
counter, and JSON rows, until they are complete.
"""

import json
from collections.abc import Iterator
from typing import Any

import psycopg

from foreword.counters import COUNTERS
from foreword.instant import from_datetime
from foreword.json_row import render_json_row
from foreword.render import render_row
from foreword.scope import Scope
from worker.parts import Parts
from worker.steps.count import count
from worker.steps.prepare import rendered_row
from worker.stores.ledger import Filing

_BATCH = 200


def announce(owner_url: str) -> list[str]:
    """Writes registry entries the ledger does not know, as incomplete; their names. Runs as the owner."""
    with psycopg.connect(owner_url) as conn:
        known = {name for (name,) in conn.execute("SELECT name FROM counters")}
        fresh = [spec for spec in COUNTERS.values() if spec.name not in known]
        for spec in fresh:
            conn.execute("INSERT INTO counters VALUES (%s, %s, false)", (spec.ordinal, spec.name))
    return [spec.name for spec in fresh]


def outstanding(parts: Parts) -> int:
    """Entries of all tenants that lack a cost."""
    total = 0
    for tenant in parts.ledger.across_tenants("all_tenants"):
        with parts.ledger.transaction(tenant["tenant_id"]) as filing:
            found = filing.run("incomplete", of="upkeep", counters=len(COUNTERS)).fetchone()
            total += 0 if found is None else found["n"]
    return total


def recount(parts: Parts, *, everything: bool = False) -> Iterator[int]:
    """Recounts batch by batch, yielding the size of each; ``everything`` takes complete entries too."""
    for tenant in parts.ledger.across_tenants("all_tenants"):
        yield from recount_tenant(tenant["tenant_id"], parts, everything=everything)


def complete(owner_url: str) -> None:
    """Lets reads ask for every counter and for JSON rows, once nothing is outstanding. Runs as the owner."""
    with psycopg.connect(owner_url) as conn:
        conn.execute("UPDATE counters SET complete = true, json_complete = true")


def recount_tenant(tenant: int, parts: Parts, *, everything: bool = False) -> Iterator[int]:
    """The same for one tenant alone."""
    after = (0, "")
    while True:
        with parts.ledger.transaction(tenant) as filing:
            rows = filing.run(
                "uncounted",
                of="upkeep",
                scope_id=after[0],
                id=after[1],
                counters=len(COUNTERS),
                everything=everything,
                limit=_BATCH,
            ).fetchall()
            scopes = list(dict.fromkeys(Scope(tenant, row["memory_ref"]) for row in rows))
            if rows:
                _rewrite(filing, rows)
                parts.hot_view.open(scopes)
        if not rows:
            return
        parts.hot_view.void(scopes)
        after = (rows[-1]["scope_id"], rows[-1]["id"])
        yield len(rows)


def _rewrite(filing: Filing, rows: list[dict[str, Any]]) -> None:
    costs = count([row["content"] for row in rows])
    row_costs, json_costs = (
        count(
            [
                rendered_row(
                    entry_id=row["id"],
                    kind=row["kind"],
                    content=row["content"],
                    observed_at=from_datetime(row["observed_at"]),
                    confidence=row["confidence"],
                    form=form,
                )
                for row in rows
            ]
        )
        for form in (render_row, render_json_row)
    )
    entries = [
        {
            "scope_id": row["scope_id"],
            "id": row["id"],
            "digest": row["digest"],
            "costs": list(cost),
            "row_costs": list(row_cost),
            "json_costs": list(json_cost),
        }
        for row, cost, row_cost, json_cost in zip(rows, costs, row_costs, json_costs, strict=True)
    ]
    filing.lock([row["scope_id"] for row in rows])
    filing.run("recount", of="upkeep", entries=json.dumps(entries))
