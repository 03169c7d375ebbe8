"""What a check finds, and the place it looks at."""

import os
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

from foreword import running
from foreword.running import Running

State = Literal["ok", "warning", "problem"]


@dataclass(frozen=True, kw_only=True)
class Finding:
    """One line of the doctor's. ``mend``: the command, or the deed, that puts it right."""

    check: str
    state: State
    message: str
    mend: str | None = None


@dataclass(frozen=True, kw_only=True)
class Place:
    """What is examined: a data folder and what runs on it, else the servers the environment names."""

    data_dir: Path
    here: Running | None
    environment: Mapping[str, str] = field(repr=False)
    given_database_url: str | None = field(default=None, repr=False)

    @classmethod
    def of(cls, data_dir: Path, database_url: str | None = None, url: str | None = None) -> "Place":
        """The folder as it is now, in this process's environment; ``url`` stands in FOREWORD_URL's place."""
        named = {} if url is None else {"FOREWORD_URL": url}
        return cls(
            data_dir=data_dir,
            here=running.find(data_dir),
            environment=dict(os.environ) | named,
            given_database_url=database_url,
        )

    @property
    def database_url(self) -> str | None:
        """The one given, else the owner's of what runs here, else the environment's."""
        known = self.here.database_url if self.here else None
        return self.given_database_url or self._url("FOREWORD_DATABASE_URL", known)

    @property
    def redis_url(self) -> str | None:
        return self._url("FOREWORD_REDIS_URL", self.here.redis_url if self.here else None)

    @property
    def broker_url(self) -> str | None:
        return self._url("FOREWORD_BROKER_URL", self.here.broker_url if self.here else None) or self.redis_url

    def _url(self, setting: str, known: str | None) -> str | None:
        return known or self.environment.get(setting) or None


Check = Callable[[Place], Iterator[Finding]]
