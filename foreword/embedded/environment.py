"""What each child is told: its own role in the ledger, and no more secrets than its work needs."""

from collections.abc import Mapping
from dataclasses import dataclass
from urllib.parse import quote, urlsplit

from foreword import seal
from foreword.embedded.credentials import Credentials
from foreword.embedded.readiness import Address
from foreword.embedded.servers import Servers
from foreword.errors import ConfigurationError

_OPENING_KEYS = "FOREWORD_SEAL_KEYS"
_SEALING_KEY = "FOREWORD_SEAL_PUBLIC_KEY"
_DIGEST_KEY = "FOREWORD_DIGEST_KEY"


@dataclass(frozen=True, kw_only=True)
class Environment:
    """The caller's settings with ours on top; no child gets the owner's URL of the ledger."""

    caller: Mapping[str, str]
    credentials: Credentials
    servers: Servers

    @property
    def seal_keys(self) -> list[str]:
        """Opening keys: the caller's first, then those of the data folder, so that older Drafts open."""
        given = [key.strip() for key in self.caller.get(_OPENING_KEYS, "").split(",") if key.strip()]
        return list(dict.fromkeys([*given, *self.credentials.seal_keys]))

    @property
    def seal_key(self) -> str:
        """The public key Drafts are sealed to."""
        return self.caller.get(_SEALING_KEY) or seal.public_key(self.seal_keys[0])

    def shim(self, address: Address) -> dict[str, str]:
        """Holds nothing that opens a seal."""
        password = self.credentials.shim_password
        return self._shared("foreword_shim", password) | {
            "FOREWORD_HOST": address.host,
            "FOREWORD_PORT": str(address.port),
            _SEALING_KEY: self.seal_key,
            "FOREWORD_METRICS": self.caller.get("FOREWORD_METRICS", "true"),
            "FOREWORD_INSPECT": self.caller.get("FOREWORD_INSPECT", "true"),
        }

    def worker(self) -> dict[str, str]:
        """The only one that holds opening keys."""
        password = self.credentials.worker_password
        return self._shared("foreword_worker", password) | {_OPENING_KEYS: ",".join(self.seal_keys)}

    def beat(self) -> dict[str, str]:
        """Sends wake-ups only, so it opens nothing."""
        return self._shared("foreword_worker", self.credentials.worker_password)

    def _shared(self, role: str, password: str) -> dict[str, str]:
        passed = {name: value for name, value in self.caller.items() if name != _OPENING_KEYS}
        return passed | {
            "FOREWORD_DATABASE_URL": as_role(self.servers.database_url, role, password),
            "FOREWORD_REDIS_URL": self.servers.redis_url,
            "FOREWORD_BROKER_URL": self.servers.broker_url,
            _DIGEST_KEY: self.caller.get(_DIGEST_KEY) or self.credentials.digest_key,
            "PYTHONUNBUFFERED": "1",
        }


def as_role(database_url: str, role: str, password: str) -> str:
    """The same database for another role. Raises ConfigurationError for anything but a URL."""
    parts = urlsplit(database_url)
    if parts.scheme not in ("postgresql", "postgres"):
        raise ConfigurationError("FOREWORD_DATABASE_URL must be a postgresql:// URL.")
    place = parts.netloc.rpartition("@")[2]
    return parts._replace(netloc=f"{quote(role, safe='')}:{quote(password, safe='')}@{place}").geturl()
