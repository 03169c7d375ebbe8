"""The vault of conformance runs: one canary, of another value in every run."""

import secrets
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from typing import Final

from api_shim.runs.failure import failed

CANARY: Final = "openwop-conformance-canary-secret"


@dataclass(kw_only=True)
class CanaryVault:
    """Knows the canary. ``register`` tells the run's registry of a value before anybody has it."""

    register: Callable[[Mapping[str, str]], Awaitable[None]]
    _known: dict[str, str] = field(default_factory=dict)

    async def resolve(self, secret_id: str) -> str:
        """The canary's value in this run; RunFailed for any other id."""
        if secret_id != CANARY:
            raise failed("credential_unavailable")
        if secret_id not in self._known:
            value = secrets.token_urlsafe(24)
            await self.register({secret_id: value})
            self._known[secret_id] = value
        return self._known[secret_id]
