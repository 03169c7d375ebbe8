"""Credentials of one data folder: made the first time, kept in one file of mode 0600."""

import base64
import json
import secrets
from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

from foreword import seal
from foreword.embedded import atomic
from foreword.errors import ConfigurationError


@dataclass(frozen=True, kw_only=True)
class Credentials:
    """What the parts of one data folder prove themselves with. ``seal_keys``: opening keys, newest first."""

    owner_password: str
    shim_password: str
    worker_password: str
    valkey_password: str
    digest_key: str
    seal_keys: tuple[str, ...]
    tenant: str = "default"
    api_key: str | None = None

    @classmethod
    def fresh(cls) -> "Credentials":
        return cls(
            owner_password=secrets.token_urlsafe(24),
            shim_password=secrets.token_urlsafe(24),
            worker_password=secrets.token_urlsafe(24),
            valkey_password=secrets.token_urlsafe(24),
            digest_key=base64.b64encode(secrets.token_bytes(32)).decode(),
            seal_keys=(seal.new_secret_key(),),
        )

    @classmethod
    def load(cls, path: Path) -> "Credentials | None":
        """What ``path`` keeps; None without the file. Raises ConfigurationError for another file."""
        try:
            kept = json.loads(path.read_text(encoding="utf-8"))
            return cls._from_json(kept)
        except FileNotFoundError:
            return None
        except (ValueError, TypeError, KeyError) as error:
            raise ConfigurationError(f"{path} is not a credentials file of Foreword; restore it.") from error

    @classmethod
    def _from_json(cls, kept: Mapping[str, Any]) -> "Credentials":
        names = {_camel(name): name for name in cls.__dataclass_fields__}
        fields = {names[key]: value for key, value in dict(kept).items()}
        return cls(**{**fields, "seal_keys": tuple(fields["seal_keys"])})

    def save(self, path: Path) -> None:
        atomic.write(path, {_camel(name): value for name, value in asdict(self).items()})

    def with_api_key(self, api_key: str) -> "Credentials":
        return replace(self, api_key=api_key)


def _camel(name: str) -> str:
    first, *rest = name.split("_")
    return first + "".join(word.title() for word in rest)
