"""``conformance-agent-memory-ttl``: an entry is gone at its expiry, to the millisecond.

An entry that has already expired may not be put (RFC 0004 section E), so one is put that lives for a
moment, is seen, and is outlived.
"""

from typing import Final

from api_shim.runs.failure import failed
from api_shim.runs.memory import Note
from api_shim.runs.stage import Stage, Variables

_LIVES_MS: Final = (1_500, 4_500)
"""How long the short one lives; more at the second try, where the first was filed too late to be seen."""


async def expiry(stage: Stage) -> Variables:
    """Puts a short-lived and a lasting entry, and lists them before and after."""
    lasting = Note(content="The contract runs for years.", expires_at=stage.kept_until())
    for lives in _LIVES_MS:
        ends = stage.now() + lives
        short = Note(content="The code on the door is valid for a moment.", expires_at=ends)
        expired, fresh = await stage.memory.remember(stage.memory_ref, [short, lasting])
        before = {entry["id"] for entry in await stage.memory.list(stage.memory_ref)}
        if stage.now() < ends and expired not in before:
            raise failed("ttl_fresh_missing")
        while (left := ends - stage.now()) > 0:
            await stage.sleep(left / 1000)
        if expired in before:
            return await _after(stage, expired, fresh)
    raise failed("ttl_unproved")


async def _after(stage: Stage, expired: str, fresh: str) -> Variables:
    entries = list(await stage.memory.list(stage.memory_ref))
    shown = {entry["id"] for entry in entries}
    if expired in shown or await stage.memory.get(stage.memory_ref, expired) is not None:
        raise failed("ttl_expired_visible")
    if fresh not in shown:
        raise failed("ttl_fresh_missing")
    return {
        "memoryRef": stage.memory_ref,
        "memoryList": entries,
        "freshId": fresh,
        "expiredId": expired,
    }
