"""``conformance-noop``: a run that leaves a summary of itself in memory."""

from api_shim.runs.failure import failed
from api_shim.runs.memory import Note
from api_shim.runs.stage import Stage, Variables

_SUMMARY = "A conformance run took place and did nothing."


async def noop(stage: Stage) -> Variables:
    """Writes the summary and sees that it is there."""
    note = Note(content=_SUMMARY, tags=("source:run",), expires_at=stage.kept_until())
    (summary,) = await stage.memory.remember(stage.memory_ref, [note])
    kept = await stage.memory.get(stage.memory_ref, summary)
    if kept is None or kept["content"] != _SUMMARY:
        raise failed("memory_readback_failed")
    return {"memoryRef": stage.memory_ref, "memoryId": summary}
