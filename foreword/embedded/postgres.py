"""The embedded PostgreSQL: initdb of our own, scram on 127.0.0.1, and no text of a statement in its log."""

import contextlib
import os
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path
from urllib.parse import quote

import psycopg

from foreword.embedded import orphans, pginstall
from foreword.embedded.account import Account
from foreword.embedded.child import Spec
from foreword.embedded.folder import Folder
from foreword.embedded.launch import HELD
from foreword.errors import ConfigurationError, Unavailable

OWNER = "foreword"
DATABASE = "foreword"

_INITDB_LIMIT_S = 300
_CLEAR_S = 2.0
_SETTINGS = {
    "listen_addresses": "127.0.0.1",
    "unix_socket_directories": "",
    "max_connections": "100",
    "shared_buffers": "128MB",
    "fsync": "on",
    "synchronous_commit": "on",
    "max_wal_size": "1GB",
    "checkpoint_timeout": "5min",
    "timezone": "UTC",
    "log_timezone": "UTC",
    "log_statement": "none",
    "log_min_error_statement": "panic",
    "log_parameter_max_length_on_error": "0",
    "log_error_verbosity": "terse",
    "log_min_messages": "warning",
}
"""On the command line, as none is a secret. ``terse`` because the DETAIL of an error quotes rows."""


def url(user: str, password: str, port: int, database: str = DATABASE) -> str:
    return f"postgresql://{quote(user, safe='')}:{quote(password, safe='')}@127.0.0.1:{port}/{database}"


class Postgres:
    """One cluster under ``folder.postgres``. As root it belongs to, and runs as, an unprivileged account."""

    def __init__(self, folder: Folder, *, port: int, password: str, sync: bool = True) -> None:
        self._folder = folder
        self._port = port
        self._password = password
        self._sync = sync
        self._account = Account.for_owner_of(self._data)
        self._install = self._reachable_install()

    @property
    def _data(self) -> Path:
        return self._folder.postgres / "data"

    @property
    def owner_url(self) -> str:
        return url(OWNER, self._password, self._port)

    def initialise(self) -> None:
        """Makes the cluster when there is none; one that was cut off half-way is made anew.

        Raises ConfigurationError for a cluster of another major version, Unavailable when initdb fails.
        """
        version = self._data / "PG_VERSION"
        if version.exists():
            if (found := version.read_text(encoding="ascii").strip()) != str(pginstall.MAJOR):
                raise ConfigurationError(
                    f"{self._data} belongs to PostgreSQL {found}, this Foreword runs {pginstall.MAJOR}: "
                    "export with the Foreword that wrote it, then import into a new data folder."
                )
            return
        fresh = self._folder.postgres / "data.new"
        _end_all_in(fresh)
        shutil.rmtree(fresh, ignore_errors=True)
        self._give(self._folder.postgres)
        password = self._folder.postgres / "password"
        try:
            password.write_text(self._password, encoding="ascii")
            self._give(password)
            self._initdb(fresh, password)
        finally:
            password.unlink(missing_ok=True)
        fresh.rename(self._data)

    def spec(self) -> Spec:
        settings = [word for name, value in _SETTINGS.items() for word in ("-c", f"{name}={value}")]
        return Spec(
            name="postgres",
            command=(
                self._install.program("postgres"),
                "-D",
                self._seen(self._data),
                "-p",
                str(self._port),
                *settings,
            ),
            environment=self._environment(),
            log=self._folder.log("postgres"),
            record=self._folder.record("postgres"),
            stage=0,
            stop_signal=signal.SIGINT,
            grace=30.0,
            account=self._account,
            hold=self._folder.postgres,
            prepare=self._clear,
            probe=self._answers,
        )

    def create_database(self) -> None:
        """The database and its vector extension, made by the owner; nothing to do the second time."""
        with psycopg.connect(self._maintenance_url, autocommit=True) as connection:
            known = connection.execute("SELECT 1 FROM pg_database WHERE datname = %s", [DATABASE]).fetchone()
            if known is None:
                connection.execute(f'CREATE DATABASE "{DATABASE}"')
        with psycopg.connect(self.owner_url, autocommit=True) as connection:
            connection.execute("CREATE EXTENSION IF NOT EXISTS vector")

    def remove_borrowed(self) -> None:
        """Deletes a copy of the programs that was made for the account; after the server stopped."""
        self._install.remove()
        self._note.unlink(missing_ok=True)

    @property
    def _maintenance_url(self) -> str:
        return url(OWNER, self._password, self._port, "postgres")

    @property
    def _note(self) -> Path:
        return self._folder.run / "pginstall"

    def _reachable_install(self) -> pginstall.Pginstall:
        if self._note.exists():
            shutil.rmtree(self._note.read_text(encoding="utf-8"), ignore_errors=True)
        install = pginstall.reachable(pginstall.installed(), self._account, self._folder.postgres)
        if install.borrowed:
            self._note.write_text(str(install.home), encoding="utf-8")
        return install

    def _seen(self, path: Path) -> str:
        """The path as the account reaches it: through the held folder, whatever the folders above allow."""
        if self._account is None or not Path("/proc/self/fd").exists():
            return str(path)
        return f"{HELD}/{path.relative_to(self._folder.postgres)}"

    def _give(self, path: Path) -> None:
        if self._account is not None:
            os.chown(path, self._account.uid, self._account.gid)

    @staticmethod
    def _environment() -> dict[str, str]:
        return {"PATH": os.environ.get("PATH", "/usr/bin:/bin"), "LC_ALL": "C"}

    def _initdb(self, data: Path, password: Path) -> None:
        command = (
            *(self._install.program("initdb"), "-D", self._seen(data), "-U", OWNER, "--auth=scram-sha-256"),
            *(f"--pwfile={self._seen(password)}", "--encoding=UTF8", "--locale-provider=builtin"),
            *("--locale=C", "--builtin-locale=C.UTF-8", "--no-instructions", "--data-checksums"),
            *(() if self._sync else ("--no-sync",)),
        )
        log = self._folder.log("postgres")
        spec = Spec(
            name="initdb",
            command=command,
            environment=self._environment(),
            log=log,
            record=None,
            stage=0,
            account=self._account,
            hold=self._folder.postgres,
        )
        done = subprocess.run(
            spec.launcher(),
            capture_output=True,
            text=True,
            env=dict(spec.environment),
            timeout=_INITDB_LIMIT_S,
            start_new_session=True,
            check=False,
        )
        with log.open("a", encoding="utf-8") as file:
            file.write(done.stdout + done.stderr)
        if done.returncode != 0:
            raise Unavailable(f"PostgreSQL could not make its data folder; see {log}.")

    def _clear(self) -> None:
        """Before a start: no rest of a dead server may hold the cluster, nor its pid file name a stranger."""
        _end_all_in(self._data)
        if sys.platform == "linux":
            (self._data / "postmaster.pid").unlink(missing_ok=True)

    def _answers(self) -> bool:
        try:
            with psycopg.connect(self._maintenance_url, connect_timeout=2) as connection:
                connection.execute("SELECT 1")
        except psycopg.OperationalError as error:
            if "password authentication failed" in str(error):
                raise ConfigurationError(
                    f"{self._folder.credentials} does not fit the ledger in {self._data}: restore it."
                ) from error
            return False
        return True


def _end_all_in(data: Path) -> None:
    """Ends every process of a server that worked there, at once: its cluster recovers from that."""
    for number in (signal.SIGQUIT, signal.SIGKILL):
        for pid in orphans.inside(data, "postgres"):
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, number)
        deadline = time.monotonic() + _CLEAR_S
        while orphans.inside(data, "postgres") and time.monotonic() < deadline:
            time.sleep(0.02)
