"""Orphans: processes an earlier ``foreword up`` left behind, found by their records and stopped in order."""

import contextlib
import json
import os
import signal
import time
from dataclasses import dataclass
from pathlib import Path

from foreword.embedded.launch import birth

_ORDER = ("shim", "beat", "worker", "embed", "valkey", "postgres")
_GRACE_S = 10.0


@dataclass(frozen=True)
class Orphan:
    """A recorded process that still lives and is still the one recorded."""

    name: str
    pid: int
    birth: str
    stop_signal: int

    @property
    def rank(self) -> int:
        role = self.name.partition("-")[0]
        return _ORDER.index(role) if role in _ORDER else 0

    def alive(self) -> bool:
        return birth(self.pid) == self.birth

    def stop(self) -> None:
        """Asks, waits ten seconds, kills; never signals a process that only has the same pid."""
        self._signal(self.stop_signal)
        deadline = time.monotonic() + _GRACE_S
        while self.alive() and time.monotonic() < deadline:
            time.sleep(0.05)
        self._signal(signal.SIGKILL)
        while self.alive():
            time.sleep(0.05)

    def _signal(self, number: int) -> None:
        if self.alive():
            with contextlib.suppress(ProcessLookupError):
                os.kill(self.pid, number)


def _read(record: Path) -> Orphan | None:
    try:
        kept = json.loads(record.read_text(encoding="utf-8"))
        orphan = Orphan(kept["name"], kept["pid"], kept["birth"], kept["signal"])
    except (OSError, ValueError, KeyError, TypeError):
        return None
    return orphan if orphan.alive() else None


def stop_all(records: Path) -> list[str]:
    """Stops every living process recorded in the folder, forgets the records, returns their names."""
    paths = list(records.glob("*.pid.json"))
    found = sorted(filter(None, map(_read, paths)), key=lambda orphan: orphan.rank)
    for orphan in found:
        orphan.stop()
    for path in paths:
        path.unlink(missing_ok=True)
    return [orphan.name for orphan in found]


def inside(folder: Path, program: str) -> list[int]:
    """Living processes of that program whose working directory is ``folder``; Linux only, elsewhere none."""
    return [
        int(entry.name)
        for entry in Path("/proc").glob("[0-9]*")
        if _works_in(entry, folder) and birth(int(entry.name)) and _runs(entry, program)
    ]


def _works_in(entry: Path, folder: Path) -> bool:
    try:
        return (entry / "cwd").samefile(folder)
    except OSError:
        return False


def _runs(entry: Path, program: str) -> bool:
    try:
        return (entry / "exe").readlink().name.removesuffix(" (deleted)") == program
    except OSError:
        return False
