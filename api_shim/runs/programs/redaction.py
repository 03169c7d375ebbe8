"""``conformance-agent-memory-redaction``: a secret that the run resolves is a marker in memory (SR-1)."""

from api_shim.runs.failure import failed
from api_shim.runs.memory import Note, Wire
from api_shim.runs.stage import Stage, Variables
from api_shim.runs.vault import CANARY


async def redaction(stage: Stage) -> Variables:
    """Resolves a secret, writes it in content and tags, and looks for it."""
    secret_id = str(stage.inputs.get("byokSecretId", CANARY))
    value = await stage.vault.resolve(secret_id)
    marker = f"[REDACTED:{secret_id}]"
    note = Note(
        content=f"The portal opens with {value}, as agreed.",
        tags=("source:agent", f"opens-with:{value}"),
        expires_at=stage.kept_until(),
    )
    (put,) = await stage.memory.remember(stage.memory_ref, [note])
    entry = await stage.memory.get(stage.memory_ref, put)
    shown = [] if entry is None else [entry, *await stage.memory.list(stage.memory_ref)]
    if entry is None or any(value in _text(one) for one in shown):
        raise failed("sr1_redaction_failed")
    if (
        entry["content"] != f"The portal opens with {marker}, as agreed."
        or f"opens-with:{marker}" not in (entry["tags"])
    ):
        raise failed("sr1_redaction_failed")
    return {"memoryRef": stage.memory_ref, "memoryReadback": entry}


def _text(entry: Wire) -> str:
    return "\n".join((entry["content"], *entry["tags"]))
