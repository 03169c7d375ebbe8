"""After a secret is registered: what is already filed passes the gate again, and is counted again."""

import json
from typing import Any

from foreword import instant
from foreword.draft import Draft
from foreword.json_row import render_json_row
from foreword.scope import Scope
from worker.parts import Parts
from worker.steps.count import count
from worker.steps.prepare import rendered
from worker.steps.redact import Clean, redact
from worker.stores.ledger import Filing
from worker.upkeep.runs import hide_in_runs

_BATCH = 200


def resweep_step(tenant: int, resume: dict[str, Any], parts: Parts) -> tuple[float, dict[str, Any] | None]:
    """One batch of a tenant's entries, and after them of its runs: progress (0..1) and where the next batch
    starts, None at the end."""
    if "run" in resume:
        return _runs_step(tenant, resume["run"], parts)
    with parts.ledger.transaction(tenant) as filing:
        version, pii = filing.policy()
        redactor = parts.redactors.get(tenant, version, pii, filing.secrets)
        rows = filing.run(
            "next_entries",
            of="upkeep",
            scope_id=resume.get("scopeId", 0),
            id=resume.get("id", ""),
            limit=_BATCH,
        ).fetchall()
        changed = [
            (row, clean) for row in rows if (clean := redact(draft := _draft(row), redactor)).draft != draft
        ]
        scopes = list(dict.fromkeys(Scope(tenant, row["memory_ref"]) for row, _ in changed))
        if changed:
            _rewrite(filing, changed)
            parts.hot_view.open(scopes)
        size = filing.run("size", of="upkeep").fetchone()
    if scopes:
        parts.hot_view.void(scopes)
    if len(rows) < _BATCH:
        return _runs_step(tenant, "", parts)
    done = resume.get("done", 0) + len(rows)
    total = max(done, 1 if size is None else size["n"])
    return done / total, {"scopeId": rows[-1]["scope_id"], "id": rows[-1]["id"], "done": done}


def _runs_step(tenant: int, after: str, parts: Parts) -> tuple[float, dict[str, Any] | None]:
    last = hide_in_runs(tenant, after, parts)
    return 1.0, None if last is None else {"run": last}


def _draft(row: dict[str, Any]) -> Draft:
    return Draft(
        memory_ref=row["memory_ref"],
        content=row["content"],
        tags=tuple(row["tags"]),
        kind=row["kind"],
        confidence=row["confidence"],
        metadata=row["metadata"],
        source=row["source"],
        speaker=row["speaker"],
        conversation=row["conversation"],
        observed_at=instant.from_datetime(row["observed_at"]),
    )


def _rewrite(filing: Filing, changed: list[tuple[dict[str, Any], Clean]]) -> None:
    drafts = [(row, clean.draft) for row, clean in changed]
    costs = count([draft.content for _, draft in drafts])
    row_costs = count([rendered(row["id"], draft, 0) for row, draft in drafts])
    json_costs = count([rendered(row["id"], draft, 0, render_json_row) for row, draft in drafts])
    filing.lock([row["scope_id"] for row, _ in changed])
    entries = [
        {
            "scope_id": row["scope_id"],
            "id": row["id"],
            "content": draft.content,
            "tags": list(draft.tags),
            "metadata": draft.metadata,
            "source": draft.source,
            "speaker": draft.speaker,
            "conversation": draft.conversation,
            "costs": list(cost),
            "row_costs": list(row_cost),
            "json_costs": list(json_cost),
        }
        for (row, draft), cost, row_cost, json_cost in zip(drafts, costs, row_costs, json_costs, strict=True)
    ]
    filing.run("rewrite", of="upkeep", entries=json.dumps(entries))
