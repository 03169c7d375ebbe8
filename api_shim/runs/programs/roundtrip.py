"""``conformance-agent-memory-roundtrip``: what is put is what get gives."""

from api_shim.runs.failure import failed
from api_shim.runs.memory import Note
from api_shim.runs.stage import Stage, Variables

_CONTENT = "The customer prefers mornings, and says so in every call."
_TAGS = ("preference", "source:agent")


async def roundtrip(stage: Stage) -> Variables:
    """Puts one entry and reads it, alone and in the list."""
    note = Note(content=_CONTENT, tags=_TAGS, expires_at=stage.kept_until())
    (put,) = await stage.memory.remember(stage.memory_ref, [note])
    entry = await stage.memory.get(stage.memory_ref, put)
    if entry is None or (entry["id"], entry["content"], tuple(entry["tags"])) != (put, _CONTENT, _TAGS):
        raise failed("memory_readback_failed")
    if not isinstance(entry["createdAt"], str) or await stage.memory.list(stage.memory_ref) != [entry]:
        raise failed("memory_readback_failed")
    if await stage.memory.get(stage.memory_ref, f"{put}.absent") is not None:
        raise failed("memory_readback_failed")
    return {"memoryRef": stage.memory_ref, "memoryReadback": entry}
