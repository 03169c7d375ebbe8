"""The product that runs on this machine: what ``foreword up`` wrote down about itself.

Standard library alone, so that a client finds it without the server's dependencies.
"""

import json
import os
import sys
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any


@dataclass(frozen=True, kw_only=True)
class Running:
    """Addresses and keys of a running product; its fields are the readiness file's."""

    url: str
    api_key: str = field(repr=False)
    tenant: str
    database_url: str = field(repr=False)
    redis_url: str = field(repr=False)
    broker_url: str = field(repr=False)
    seal_key: str
    pids: Mapping[str, Any]


def default_folder() -> Path:
    """``FOREWORD_DATA_DIR``, else the platform's folder for a user's data."""
    named = os.environ.get("FOREWORD_DATA_DIR")
    if named:
        return Path(named)
    shared = os.environ.get("XDG_DATA_HOME", "").strip()
    if shared:
        return Path(shared) / "foreword"
    if sys.platform == "darwin":
        return Path.home() / "Library" / "Application Support" / "foreword"
    return Path.home() / ".local" / "share" / "foreword"


def find(folder: Path | None = None) -> Running | None:
    """What runs on this data folder; None when nothing does."""
    try:
        found = json.loads(((folder or default_folder()) / "run" / "ready.json").read_text(encoding="utf-8"))
        os.kill(found["pids"]["supervisor"], 0)
        return Running(**{name: found[wire] for name, wire in _NAMES.items()})
    except (OSError, ValueError, KeyError, TypeError):
        return None


_NAMES = {
    "url": "url",
    "api_key": "apiKey",
    "tenant": "tenant",
    "database_url": "databaseUrl",
    "redis_url": "redisUrl",
    "broker_url": "brokerUrl",
    "seal_key": "sealKey",
    "pids": "pids",
}
