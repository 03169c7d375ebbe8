"""Every error Foreword raises, in one tree.

    ForewordError
    ├── ValidationError         validation_error        what was asked is malformed; names each field
    ├── Unauthenticated         unauthenticated         no key, or not one of ours
    ├── Forbidden               forbidden               a valid key without the scope
    ├── NotFound                not_found
    ├── MethodNotAllowed        method_not_allowed      a path that answers other methods
    ├── Conflict                conflict                the same id with another body
    ├── PayloadTooLarge         payload_too_large
    ├── UnsupportedMediaType    unsupported_media_type
    ├── TokenBudgetExceeded     token_budget_exceeded
    ├── RateLimited             rate_limited            carries ``retry_after`` seconds
    ├── Unavailable             unavailable             a part we stand on is away; carries ``retry_after``
    ├── EmbedderUnavailable     embedder_unavailable    no vector can be made now
    ├── CounterUnavailable      counter_unavailable     a counter cannot count exactly, so it does not count
    ├── RunFailed               run_failed              a run saw what must not be; ``reason`` names it
    ├── SealError               seal_error              a sealed Draft cannot be opened
    ├── ServerError             internal_error          raised by clients for an answer of status 5xx
    └── ConfigurationError      configuration_error     a setting or a data folder is wrong

``code`` is the public name on the wire. A message never holds content, a query, a secret or a memoryRef.
Statuses belong to the doors.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class Field:
    """One bad field: its wire name and what is wrong with it."""

    field: str
    reason: str


class ForewordError(Exception):
    """Something went wrong."""

    code = "internal_error"

    def __init__(self, message: str | None = None, *, details: Mapping[str, Any] | None = None) -> None:
        self.message = message or (self.__doc__ or "").strip().splitlines()[0]
        self.details = dict(details) if details is not None else None
        super().__init__(self.message)

    def to_wire(self) -> dict[str, Any]:
        """The error body: exactly ``error``, ``message`` and, where there are any, ``details``."""
        body: dict[str, Any] = {"error": self.code, "message": self.message}
        if self.details is not None:
            body["details"] = self.details
        return body


class ValidationError(ForewordError):
    """The request is not valid."""

    code = "validation_error"

    def __init__(self, fields: Sequence[Field], message: str | None = None) -> None:
        self.fields = tuple(fields)
        super().__init__(
            message or "The request is not valid; details.fields names each bad field.",
            details={"fields": [{"field": f.field, "reason": f.reason} for f in self.fields]},
        )

    @classmethod
    def of(cls, field: str, reason: str) -> "ValidationError":
        """A refusal of one field."""
        return cls([Field(field, reason)])


class Unauthenticated(ForewordError):
    """A valid API key is required."""

    code = "unauthenticated"


class Forbidden(ForewordError):
    """The API key lacks the scope this call needs."""

    code = "forbidden"


class NotFound(ForewordError):
    """There is no such thing here."""

    code = "not_found"


class MethodNotAllowed(ForewordError):
    """This path does not answer this method."""

    code = "method_not_allowed"


class Conflict(ForewordError):
    """The id is taken by another body."""

    code = "conflict"


class PayloadTooLarge(ForewordError):
    """The request body is larger than this server accepts."""

    code = "payload_too_large"


class UnsupportedMediaType(ForewordError):
    """The request body has a media type this call does not take."""

    code = "unsupported_media_type"


class TokenBudgetExceeded(ForewordError):
    """The token budget is too small for this job."""

    code = "token_budget_exceeded"


class RateLimited(ForewordError):
    """Too many requests."""

    code = "rate_limited"

    def __init__(self, retry_after: int, message: str | None = None) -> None:
        self.retry_after = retry_after
        super().__init__(message)


class Unavailable(ForewordError):
    """A part this call needs is not available; try again."""

    code = "unavailable"

    def __init__(self, message: str | None = None, *, retry_after: int = 1) -> None:
        self.retry_after = retry_after
        super().__init__(message)


class CounterUnavailable(ForewordError):
    """This counter cannot count exactly here."""

    code = "counter_unavailable"


class EmbedderUnavailable(ForewordError):
    """No vector can be made now."""

    code = "embedder_unavailable"


class RunFailed(ForewordError):
    """A run did not see what it must."""

    code = "run_failed"

    def __init__(self, reason: str, message: str | None = None) -> None:
        self.reason = reason
        super().__init__(message)


class SealError(ForewordError):
    """A sealed Draft cannot be opened."""

    code = "seal_error"


class ServerError(ForewordError):
    """The server failed to answer."""

    code = "internal_error"


class ConfigurationError(ForewordError):
    """A setting is missing or wrong."""

    code = "configuration_error"
