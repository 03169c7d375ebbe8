"""THE REGISTRY of a run: each secret it resolves is known to the worker before a Draft can hold its value."""

from collections.abc import Mapping
from dataclasses import dataclass

from api_shim.database import WRITE_S, Database, patient
from foreword.errors import Conflict
from foreword.seal import Sealer


@dataclass(frozen=True)
class Registry:
    """Secrets by run, sealed: what is accepted after ``register`` returned is redacted by them."""

    database: Database
    sealer: Sealer

    @patient(WRITE_S)
    async def register(self, tenant: int, run: str, resolved: Mapping[str, str]) -> None:
        """Adds values by secret id to what the run resolved so far; an earlier value of an id stays known.

        Conflict when the tenant has no such run, or it has ended or lost its lease.
        """
        if not resolved:
            return
        sealed = [self.sealer.seal(value.encode()) for value in resolved.values()]
        async with self.database.transaction(tenant) as transaction:
            rows = await transaction.run(
                "register_secrets", {"run": run, "ids": list(resolved), "sealed": sealed}, of="runs"
            )
        if not rows[0]["registered"]:
            raise Conflict("The run has ended.", details={"field": "run"})
