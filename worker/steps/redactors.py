"""One redactor a tenant, made anew when its registered secrets or its choice of personal data change."""

from collections.abc import Callable, Mapping, Sequence

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


class RunRedactors:
    """The redactors of one filing: the tenant's, and for each run that a Draft names one that also knows what
    the run resolved.

    ``resolved`` reads that, sealed, with its secret ids; for a run that the tenant does not have, nothing.
    """

    def __init__(
        self, tenants: Redactor, opener: Opener, resolved: Callable[[str], Sequence[tuple[str, bytes]]]
    ) -> None:
        self._tenants = tenants
        self._opener = opener
        self._resolved = resolved
        self._known: dict[str, Redactor] = {}

    def of(self, run: str | None) -> Redactor:
        """The redactor of a run, or of none; SealError when what it resolved cannot be opened."""
        if run is None:
            return self._tenants
        if run not in self._known:
            values = [(name, self._opener.open(sealed).decode()) for name, sealed in self._resolved(run)]
            self._known[run] = self._tenants.knowing(values)
        return self._known[run]
