"""Which memoryRefs a key may reach: a glob, where ``*`` also crosses ``/`` and ``:``."""

from fnmatch import fnmatchcase


def allows(glob: str | None, memory_ref: str) -> bool:
    """Whether a key bound to ``glob`` (None: to no ref in particular) may reach a memory."""
    return glob is None or fnmatchcase(memory_ref, glob)
