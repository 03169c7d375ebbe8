"""The doctor: looks at this machine, the running parts and what is stored, and says what mends what is wrong.

Each check yields findings; none changes anything, and none shows content, a key or a memoryRef.
"""

from collections.abc import Iterator

from foreword.doctor import contents, machine, parts, relevance
from foreword.doctor.finding import Finding, Place

__all__ = ["Finding", "Place", "examine"]

_CHECKS = (*machine.CHECKS, *parts.CHECKS, *contents.CHECKS, *relevance.CHECKS)


def examine(place: Place) -> Iterator[Finding]:
    """Every finding, as it is found; at most a few seconds each."""
    for check in _CHECKS:
        yield from check(place)
