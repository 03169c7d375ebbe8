"""Scope: (tenant, memoryRef), the only address memory has."""

import re
from dataclasses import dataclass

MAX_REF = 512

_CONTROL = re.compile(r"[\x00-\x1f\x7f-\x9f\ud800-\udfff]")
_SEPARATOR = re.compile(r"[/\\]")


@dataclass(frozen=True, slots=True)
class Scope:
    """One memory of one tenant. ``tenant`` comes from the credential, never from a request."""

    tenant: int
    memory_ref: str


def is_readable_ref(ref: str) -> bool:
    """Whether a memoryRef has the shape of one: 1..512 characters, no control character, no ``..`` segment.

    A read of anything else is answered as if the memory were empty (OpenWOP agent-memory, CTI-1).
    """
    return 0 < len(ref) <= MAX_REF and _CONTROL.search(ref) is None and ".." not in _SEPARATOR.split(ref)
