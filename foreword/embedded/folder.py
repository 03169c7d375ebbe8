"""The data folder: where each part keeps what it keeps."""

import os
from dataclasses import dataclass
from pathlib import Path

from foreword.errors import ConfigurationError

_LOG_LIMIT = 10 * 1024 * 1024


@dataclass(frozen=True)
class Folder:
    """One data folder; everything in it is private to who runs ``foreword up``."""

    root: Path

    @property
    def lock(self) -> Path:
        return self.root / "up.lock"

    @property
    def credentials(self) -> Path:
        return self.root / "credentials.json"

    @property
    def ports(self) -> Path:
        return self.root / "ports.json"

    @property
    def run(self) -> Path:
        """Records of living processes, and the readiness file."""
        return self.root / "run"

    @property
    def postgres(self) -> Path:
        return self.root / "postgres"

    @property
    def valkey(self) -> Path:
        return self.root / "valkey"

    @property
    def ready(self) -> Path:
        """The readiness file every run writes, beside the one it is asked for."""
        return self.run / "ready.json"

    def record(self, name: str) -> Path:
        """Where a child records its pid and birth."""
        return self.run / f"{name}.pid.json"

    def log(self, name: str) -> Path:
        return self.root / "log" / f"{name}.log"

    def create(self) -> None:
        """Makes what is missing. As root the top alone may be passed through, for PostgreSQL's account.

        Raises ConfigurationError when the folder cannot be made or written.
        """
        try:
            if not self.root.exists():
                self.root.mkdir(parents=True)
                self.root.chmod(0o711 if os.geteuid() == 0 else 0o700)
            for part in (self.run, self.root / "log", self.valkey, self.postgres):
                part.mkdir(mode=0o700, exist_ok=True)
        except OSError as error:
            raise ConfigurationError(
                f"The data folder {self.root} cannot be used: {error.strerror}."
            ) from error


def rotate(log: Path) -> None:
    """Sets a log aside as ``.1`` once it is over 10 MiB; the one set aside before goes."""
    if log.exists() and log.stat().st_size > _LOG_LIMIT:
        log.replace(log.with_name(f"{log.name}.1"))
