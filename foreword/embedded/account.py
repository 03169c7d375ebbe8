"""The account PostgreSQL runs as: it refuses root, so root lends it one that owns nothing else."""

import os
import pwd
from dataclasses import dataclass
from pathlib import Path

from foreword.errors import ConfigurationError

_NAMES = ("nobody", "daemon")


@dataclass(frozen=True)
class Account:
    """An unprivileged user of this machine."""

    uid: int
    gid: int

    @classmethod
    def for_owner_of(cls, folder: Path) -> "Account | None":
        """None unless this process is root: then whoever owns ``folder`` already, else nobody.

        Raises ConfigurationError on a machine that knows no unprivileged user (initdb looks its user up).
        """
        if os.geteuid() != 0:
            return None
        if folder.exists() and (owned := folder.stat()).st_uid != 0:
            return cls(owned.st_uid, owned.st_gid)
        for name in _NAMES:
            try:
                entry = pwd.getpwnam(name)
            except KeyError:
                continue
            return cls(entry.pw_uid, entry.pw_gid)
        raise ConfigurationError(
            "PostgreSQL does not run as root and this machine has no user nobody: "
            "run foreword up as another user."
        )

    def can_reach(self, path: Path) -> bool:
        """Whether every folder on the way to ``path`` lets this account pass."""
        return all(self._may_pass(parent.stat()) for parent in path.resolve().parents)

    def _may_pass(self, folder: os.stat_result) -> bool:
        if folder.st_uid == self.uid:
            return bool(folder.st_mode & 0o100)
        return bool(folder.st_mode & (0o010 if folder.st_gid == self.gid else 0o001))
