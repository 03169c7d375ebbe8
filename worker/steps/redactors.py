"""One redactor a tenant, made anew when its registered secrets or its choice of personal data change."""

from collections.abc import Callable, Mapping

from foreword.seal import Opener
from worker.steps.redaction import Redactor


class Redactors:
    """A bounded cache of redactors by tenant."""

    def __init__(self, opener: Opener, *, most: int = 256) -> None:
        self._opener = opener
        self._most = most
        self._known: dict[int, tuple[int, tuple[str, ...], Redactor]] = {}

    def get(
        self, tenant: int, version: int, pii: list[str], secrets: Callable[[], Mapping[str, bytes]]
    ) -> Redactor:
        """The redactor of this state of the tenant; ``secrets`` reads the sealed values when they changed."""
        known = self._known.get(tenant)
        if known is not None and known[:2] == (version, tuple(pii)):
            return known[2]
        values = {secret_id: self._opener.open(sealed).decode() for secret_id, sealed in secrets().items()}
        redactor = Redactor(values, pii)
        if len(self._known) >= self._most:
            self._known.pop(next(iter(self._known)))
        self._known[tenant] = (version, tuple(pii), redactor)
        return redactor
