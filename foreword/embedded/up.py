"""``foreword up``: one data folder, one terminal, everything in it. ``Run.serve`` is the flow."""

import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

import psycopg

from foreword.embedded import orphans, ports
from foreword.embedded.credentials import Credentials
from foreword.embedded.environment import Environment
from foreword.embedded.folder import Folder
from foreword.embedded.lock import Lock
from foreword.embedded.parts import parts
from foreword.embedded.readiness import Address, Readiness
from foreword.embedded.servers import Servers
from foreword.embedded.signals import StopSignals
from foreword.embedded.supervisor import Supervisor
from foreword.errors import ConfigurationError, ForewordError, Unavailable
from foreword.ledger import api_keys, tenants
from foreword.ledger.migrate import migrate
from foreword.running import default_folder

STOPPED, FAILED, FOLDER_HELD, PORT_TAKEN = 0, 1, 3, 4

_FIRST_KEY_SCOPES = ("read", "write", "admin")


@dataclass(frozen=True, kw_only=True)
class UpOptions:
    """What ``foreword up`` is asked. ``port`` 0 picks a free one; ``output`` gets lines for a person."""

    output: Callable[[str], None]
    host: str = "127.0.0.1"
    port: int = 8321
    data_dir: Path | None = None
    ready_file: Path | None = None
    workers: int = 1
    caller: Mapping[str, str] = field(default_factory=lambda: dict(os.environ), repr=False)


def run(options: UpOptions) -> int:
    """Serves until Ctrl-C or SIGTERM; the exit code.

    0 stopped on request, 1 could not start, 3 another ``foreword up`` holds the folder, 4 the port is taken.
    """
    try:
        folder = Folder((options.data_dir or default_folder()).absolute())
        folder.create()
        if options.ready_file:
            options.ready_file.parent.mkdir(parents=True, exist_ok=True)
        lock = Lock(folder.lock)
        if not lock.acquire():
            options.output(f"{folder.root} is in use by a running foreword up (process {lock.holder()}).")
            return FOLDER_HELD
        try:
            with StopSignals() as signals:
                return _hold(options, folder, signals)
        finally:
            lock.release()
    except ForewordError as error:
        options.output(f"Foreword could not start. {error.message}")
        return FAILED
    except OSError as error:
        options.output(f"Foreword could not start. {error}")
        return FAILED


def _hold(options: UpOptions, folder: Folder, signals: StopSignals) -> int:
    """With the folder ours alone: clears what an earlier run left, then serves."""
    _withdraw(options, folder)
    for name in orphans.stop_all(folder.run):
        options.output(f"Stopped {name}, left behind by an earlier foreword up.")
    address = Address(host=options.host, port=options.port or ports.free(options.host))
    if refused := ports.refusal(address.host, address.port):
        options.output(
            f"Foreword cannot listen on {address.host}, port {address.port}: {refused}. "
            "Choose another with --port; 0 picks a free one."
        )
        return PORT_TAKEN
    credentials = _credentials(folder)
    servers = Servers.of(folder, credentials, options.caller)
    supervisor = Supervisor(signals, options.output)
    try:
        _Run(options, folder, address, servers, supervisor).serve(credentials)
    finally:
        _withdraw(options, folder)
        supervisor.stop()
        servers.remove_borrowed()
    options.output("Foreword has stopped.")
    return STOPPED


@dataclass(frozen=True)
class _Run:
    """One run over a folder this process holds."""

    options: UpOptions
    folder: Folder
    address: Address
    servers: Servers
    supervisor: Supervisor

    def serve(self, kept: Credentials) -> None:
        """Servers, ledger, Foreword's own processes; then it watches until a stop is asked."""
        if not self.supervisor.start(self.servers.specs()):
            return
        credentials = self._prepare_ledger(kept)
        environment = Environment(caller=self.options.caller, credentials=credentials, servers=self.servers)
        if not self.supervisor.start(parts(self.folder, environment, self.address, self.options.workers)):
            return
        self._publish_from_now_on(credentials, environment)
        self._greet(credentials, first_time=credentials != kept)
        self.supervisor.watch()

    def _prepare_ledger(self, kept: Credentials) -> Credentials:
        """Migrates; makes and saves a first key when this ledger does not know the one we have.

        Raises Unavailable with PostgreSQL's own words when it is not there or refuses.
        """
        try:
            return self._with_known_key(kept)
        except psycopg.Error as error:
            raise Unavailable(f"The ledger could not be prepared: {error}") from error

    def _with_known_key(self, kept: Credentials) -> Credentials:
        url = self.servers.database_url
        self.servers.create_database()
        migrate(url, shim_password=kept.shim_password, worker_password=kept.worker_password)
        tenants.ensure_tenant(url, kept.tenant)
        ours = api_keys.parse_key(kept.api_key or "")
        if ours and any(key.key_id == ours.key_id for key in api_keys.list_keys(url, kept.tenant)):
            return kept
        fresh = kept.with_api_key(api_keys.create_key(url, kept.tenant, _FIRST_KEY_SCOPES))
        fresh.save(self.folder.credentials)
        return fresh

    def _publish_from_now_on(self, credentials: Credentials, environment: Environment) -> None:
        readiness = Readiness(
            url=self.address.url,
            api_key=credentials.api_key or "",
            tenant=credentials.tenant,
            database_url=self.servers.database_url,
            redis_url=self.servers.redis_url,
            broker_url=self.servers.broker_url,
            seal_key=environment.seal_key,
        )

        def publish() -> None:
            for path in _ready_files(self.options, self.folder):
                readiness.write(path, supervisor=os.getpid(), pids=self.supervisor.pids())

        publish()
        self.supervisor.changed = publish

    def _greet(self, credentials: Credentials, *, first_time: bool) -> None:
        self.options.output(f"Foreword serves at {self.address.url}; Ctrl-C stops it.")
        kept = f"kept in {self.folder.credentials}"
        shown = f"{credentials.api_key} ({kept})" if first_time else kept
        self.options.output(f"API key of tenant {credentials.tenant}: {shown}")


def _credentials(folder: Folder) -> Credentials:
    """Those of the folder, made the first time. A ledger whose credentials are lost is not touched."""
    if kept := Credentials.load(folder.credentials):
        return kept
    if (folder.postgres / "data").exists():
        raise ConfigurationError(
            f"{folder.root} holds a ledger, but its {folder.credentials.name} is gone: restore it."
        )
    fresh = Credentials.fresh()
    fresh.save(folder.credentials)
    return fresh


def _ready_files(options: UpOptions, folder: Folder) -> list[Path]:
    return [folder.ready, *([options.ready_file] if options.ready_file else [])]


def _withdraw(options: UpOptions, folder: Folder) -> None:
    for path in _ready_files(options, folder):
        path.unlink(missing_ok=True)
