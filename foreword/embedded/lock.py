"""The lock: one living ``foreword up`` a data folder.

The kernel drops it with the process; children never get it.
"""

import fcntl
import os
from pathlib import Path


class Lock:
    """Held from ``acquire`` until ``release`` or the end of this process."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._descriptor = -1

    def acquire(self) -> bool:
        """False when another process holds it."""
        descriptor = os.open(self._path, os.O_RDWR | os.O_CREAT, 0o600)
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            os.close(descriptor)
            return False
        os.ftruncate(descriptor, 0)
        os.pwrite(descriptor, f"{os.getpid()}\n".encode(), 0)
        self._descriptor = descriptor
        return True

    def holder(self) -> str:
        """The pid the holder wrote, as text; ``?`` in the instant before it did."""
        return self._path.read_text(encoding="ascii").strip() or "?"

    def release(self) -> None:
        if self._descriptor >= 0:
            os.close(self._descriptor)
            self._descriptor = -1
