"""The embedded PostgreSQL under the faults it is meant to stand."""

import os
import signal
import subprocess
import time
from pathlib import Path

import psycopg
import pytest

from foreword.embedded import orphans, pginstall, ports
from foreword.embedded.account import Account
from foreword.embedded.child import Child
from foreword.embedded.folder import Folder
from foreword.embedded.postgres import Postgres
from foreword.errors import ConfigurationError
from tests.services import eventually, start

as_root = pytest.mark.skipif(os.geteuid() != 0, reason="only root lends PostgreSQL an account")


@pytest.fixture
def folder(tmp_path: Path) -> Folder:
    """A data folder inside one that is closed to every other user, as pytest's own are."""
    closed = tmp_path / "closed"
    closed.mkdir(mode=0o700)
    folder = Folder(closed / "data")
    folder.create()
    return folder


@pytest.fixture
def postgres(folder: Folder) -> Postgres:
    """A cluster that is made and not started."""
    server = Postgres(folder, port=ports.free(), password="p/w @:#", sync=False)
    server.initialise()
    return server


@pytest.fixture
def child(postgres: Postgres):
    """A running server."""
    child = start(Child(postgres.spec()))
    yield child
    child.stop()


def _kill(child: Child) -> None:
    os.kill(child.pid, signal.SIGKILL)
    eventually(lambda: not child.alive(), "the killed postmaster is gone")


def test_committed_rows_survive_kill_and_the_port_stays(postgres: Postgres, child: Child) -> None:
    """After kill -9 of the postmaster the same URL gives what was committed, and vectors work."""
    postgres.create_database()
    with psycopg.connect(postgres.owner_url) as connection:
        connection.execute("CREATE TABLE kept AS SELECT '[1,2,3]'::vector AS v")
    _kill(child)
    start(child)
    with psycopg.connect(postgres.owner_url) as connection:
        assert connection.execute("SELECT v <-> '[1,2,4]' FROM kept").fetchone() == (1.0,)


def test_a_busy_backend_of_a_dead_server_does_not_block_the_next(
    postgres: Postgres, child: Child, folder: Folder
) -> None:
    """A backend that outlives its postmaster (here: stopped) is cleared away before the next start."""
    with psycopg.connect(postgres._maintenance_url) as connection:
        backend = connection.info.backend_pid
        os.kill(backend, signal.SIGSTOP)
        _kill(child)
        assert backend in orphans.inside(folder.postgres / "data", "postgres")
        start(child)
    assert backend not in orphans.inside(folder.postgres / "data", "postgres")


def test_a_stale_pid_file_that_names_a_stranger_does_not_block_the_start(
    postgres: Postgres, folder: Folder
) -> None:
    """A pid file left by a lost machine may name a living process of ours that is no PostgreSQL."""
    account = Account.for_owner_of(folder.postgres)
    stranger = subprocess.Popen(["/bin/sleep", "600"], user=account.uid if account else None)
    pid_file = folder.postgres / "data" / "postmaster.pid"
    pid_file.write_text(f"{stranger.pid}\n/elsewhere\n1700000000\n5432\n\n127.0.0.1\n")
    try:
        start(Child(postgres.spec())).stop()
        assert stranger.poll() is None
    finally:
        stranger.kill()
        stranger.wait()


def test_a_cluster_cut_off_half_way_is_made_anew(folder: Folder) -> None:
    """What an initdb that was killed left behind is in nobody's way."""
    half = folder.postgres / "data.new"
    (half / "base").mkdir(parents=True)
    server = Postgres(folder, port=ports.free(), password="x", sync=False)
    server.initialise()
    assert not half.exists()
    start(Child(server.spec())).stop()


def test_a_cluster_of_another_version_is_refused(postgres: Postgres, folder: Folder) -> None:
    """A data folder of another major version is named, not started and not changed."""
    version = folder.postgres / "data" / "PG_VERSION"
    version.write_text("17\n")
    with pytest.raises(ConfigurationError, match="belongs to PostgreSQL 17"):
        postgres.initialise()


def test_nobody_enters_without_the_password(postgres: Postgres, child: Child) -> None:
    """scram is asked of everyone, also on this machine."""
    wrong = postgres._maintenance_url.replace("p%2Fw", "wrong")
    with pytest.raises(psycopg.OperationalError, match="password authentication failed"):
        psycopg.connect(wrong)


def test_no_statement_value_or_row_enters_the_log(postgres: Postgres, child: Child, folder: Folder) -> None:
    """Failing statements, parameters and the rows they failed on stay out of the log."""
    canary = "canary-7f3a9c"
    with psycopg.connect(postgres._maintenance_url, autocommit=True) as connection:
        connection.execute("CREATE TABLE t (k text PRIMARY KEY, n int NOT NULL)")
        connection.execute("INSERT INTO t VALUES (%s, 1)", [canary])
        for statement in ("INSERT INTO t VALUES (%s, 1)", "INSERT INTO t VALUES (%s || 'x', NULL)"):
            with pytest.raises(psycopg.IntegrityError):
                connection.execute(statement, [canary])
        with pytest.raises(psycopg.errors.SyntaxError):
            connection.execute(f"SELEC '{canary}'".encode())
    log = folder.log("postgres").read_text()
    assert "duplicate key value" in log
    assert canary not in log


@as_root
def test_root_lends_an_account_that_owns_only_the_cluster(
    postgres: Postgres, child: Child, folder: Folder
) -> None:
    """The server runs unprivileged in a folder whose parents are closed to it, and no parent was opened."""
    status = Path(f"/proc/{child.pid}/status").read_text().splitlines()
    uid = next(line.split()[1:] for line in status if line.startswith("Uid:"))
    groups = next(line.split()[1:] for line in status if line.startswith("Groups:"))
    assert set(uid) == {str((folder.postgres / "data").stat().st_uid)} != {"0"}
    assert not groups
    assert (folder.postgres / "data").stat().st_mode & 0o777 == 0o700
    assert {part.stat().st_uid for part in (folder.root, folder.run, folder.valkey)} == {0}
    assert folder.root.parent.stat().st_mode & 0o777 == 0o700


@as_root
def test_programs_the_account_cannot_reach_are_copied(
    folder: Folder, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """PostgreSQL installed below a closed folder still runs, from a copy that is gone afterwards."""
    hidden = tmp_path / "root-only"
    hidden.mkdir(mode=0o700)
    tree = pginstall._copy(pginstall.installed(), hidden).tree
    hidden.chmod(0o700)
    monkeypatch.setattr(pginstall, "installed", lambda: tree)
    server = Postgres(folder, port=ports.free(), password="x", sync=False)
    program = Path(server.spec().command[0])
    assert not program.is_relative_to(hidden)
    server.initialise()
    start(Child(server.spec())).stop()
    server.remove_borrowed()
    assert not program.exists()


def test_stopping_is_a_clean_shutdown(postgres: Postgres, folder: Folder) -> None:
    """A stop ends open sessions and leaves nothing to recover."""
    child = start(Child(postgres.spec()))
    with psycopg.connect(postgres._maintenance_url):
        began = time.monotonic()
        child.stop()
        assert time.monotonic() - began < 30
    assert not (folder.postgres / "data" / "postmaster.pid").exists()
    control = subprocess.run(
        [pginstall.installed() / "bin" / "pg_controldata", folder.postgres / "data"],
        capture_output=True,
        text=True,
        check=True,
    )
    assert "shut down\n" in control.stdout
