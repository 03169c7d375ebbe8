"""``conformance-agent-memory-cross-tenant``: another tenant's memory is as if it were empty (CTI-1)."""

from api_shim.runs.failure import failed
from api_shim.runs.memory import Note
from api_shim.runs.stage import Stage, Variables


async def isolation(stage: Stage) -> Variables:
    """Writes as the run's tenant and as another one, and reads both refs as the run's tenant.

    The other tenant reads its own, so that an empty answer to this one says something.
    """
    owned = Note(content="Mine: the launch is on Thursday.", expires_at=stage.kept_until())
    (owner_entry,) = await stage.memory.remember(stage.memory_ref, [owned])
    foreign_id = await plant(stage)
    owner = list(await stage.memory.list(stage.memory_ref))
    if owner_entry not in {entry["id"] for entry in owner}:
        raise failed("memory_readback_failed")
    probe = await probed(stage, foreign_id)
    return {
        "memoryRef": stage.memory_ref,
        "ownerEntryId": owner_entry,
        "ownerProbe": owner,
        "crossTenantProbe": probe,
    }


async def plant(stage: Stage) -> str:
    """Another tenant's entry under a ref of the run, which that tenant can read."""
    theirs = Note(content="Theirs: nobody else may know.", expires_at=stage.kept_until())
    (planted,) = await stage.foreign.remember(stage.foreign_ref, [theirs])
    if planted not in {entry["id"] for entry in await stage.foreign.list(stage.foreign_ref)}:
        raise failed("cti1_probe_unproved")
    return planted


async def probed(stage: Stage, planted: str, budget: int | None = None) -> list[object]:
    """What the run's tenant sees of it: nothing, or the run fails."""
    seen = (
        list(await stage.memory.list(stage.foreign_ref))
        if budget is None
        else list((await stage.memory.budgeted(stage.foreign_ref, budget)).entries)
    )
    if seen or await stage.memory.get(stage.foreign_ref, planted) is not None:
        raise failed("cti1_cross_tenant_leak")
    return list(seen)
