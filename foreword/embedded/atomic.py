"""Atomic files: a reader sees the old content or the new, never a part, also after a crash."""

import json
import os
from pathlib import Path
from typing import Any


def write(path: Path, value: Any) -> None:
    """Replaces ``path`` by ``value`` as JSON, mode 0600, on the disk before it is visible."""
    fresh = path.with_name(f".{path.name}.{os.getpid()}")
    fresh.unlink(missing_ok=True)
    descriptor = os.open(fresh, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    with os.fdopen(descriptor, "w", encoding="utf-8") as file:
        json.dump(value, file, indent=2)
        file.write("\n")
        file.flush()
        os.fsync(file.fileno())
    fresh.replace(path)
