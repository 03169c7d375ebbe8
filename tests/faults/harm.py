"""Harm at exact points, done from outside: the product knows nothing of these tests.

A process is stopped where it stands by what it waits for: a lock in the ledger holds a drain before its
commit, a standby that never comes holds a commit that is durable and not yet acknowledged, and a signal
freezes a server.
"""

import os
import signal
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import psycopg
from psycopg.rows import scalar_row

from foreword.embedded.launch import birth
from tests.services import Product, eventually

WORKER, SHIM = "foreword worker", "foreword shim"
"""What the product's connections to the ledger call themselves."""


def pids(product: Product, *roles: str) -> list[int]:
    """Living processes of these roles, as the readiness file of this moment has them."""
    told = (product.ready() or {"pids": {}})["pids"]
    found: list[int] = []
    for role in roles:
        pid = told.get(role, [])
        found += pid if isinstance(pid, list) else [pid]
    return found


def kill(*victims: int) -> None:
    """SIGKILL; returns once they are gone."""
    births = {pid: birth(pid) for pid in victims}
    for pid in victims:
        if births[pid] is not None:
            os.kill(pid, signal.SIGKILL)
    eventually(lambda: not any(born and birth(pid) == born for pid, born in births.items()), "they are dead")


def kill_role(product: Product, *roles: str) -> None:
    """Kills what plays these roles and waits until the readiness file names successors."""
    before = pids(product, *roles)
    kill(*before)
    eventually(
        lambda: (now := pids(product, *roles)) and len(now) == len(before) and not {*now} & {*before},
        f"{', '.join(roles)} started again",
    )


@contextmanager
def frozen(*victims: int) -> Iterator[None]:
    """They stand still inside the block."""
    for pid in victims:
        os.kill(pid, signal.SIGSTOP)
    try:
        yield
    finally:
        for pid in victims:
            if birth(pid) is not None:
                os.kill(pid, signal.SIGCONT)


@contextmanager
def away(product: Product, role: str, meanwhile: Callable[[], None] = lambda: None) -> Iterator[None]:
    """A server is killed and stays away inside the block; ``meanwhile`` runs once it is dead."""
    with frozen(*pids(product, "supervisor")):
        kill(*family(*pids(product, role)))
        meanwhile()
        yield


def family(*parents: int) -> list[int]:
    """These processes and what descends from them; Linux."""
    children: dict[int, list[int]] = {}
    for stat in Path("/proc").glob("[0-9]*/stat"):
        try:
            fields = stat.read_text(encoding="utf-8", errors="replace").rpartition(")")[2].split()
        except OSError:
            continue
        children.setdefault(int(fields[1]), []).append(int(stat.parent.name))
    found = [*parents]
    for pid in found:
        found += children.get(pid, [])
    return found


def owner(product: Product) -> "psycopg.Connection[Any]":
    """A connection to the ledger that sees every tenant; waits while the ledger is on its way back."""

    def connect() -> "psycopg.Connection[Any] | None":
        with suppress(psycopg.OperationalError):
            return psycopg.connect(
                product.wait_ready()["databaseUrl"], autocommit=True, row_factory=scalar_row
            )
        return None

    made: psycopg.Connection[Any] = eventually(connect, "the ledger takes connections")
    return made


@contextmanager
def scope_locked(product: Product, ref: str) -> Iterator[None]:
    """Whoever files in, or removes from, this memory waits inside the block; accepting goes on."""
    with owner(product) as held:
        held.execute("BEGIN")
        held.execute("SELECT scope_id FROM scopes WHERE memory_ref = %s FOR NO KEY UPDATE", [ref])
        try:
            yield
        finally:
            with suppress(psycopg.OperationalError):
                held.execute("ROLLBACK")


@contextmanager
def commits_held(product: Product) -> Iterator[None]:
    """Inside the block no commit is acknowledged, though it is on disk; afterwards all are."""
    with owner(product) as conn, owner(product) as probe:
        conn.execute("ALTER SYSTEM SET synchronous_standby_names = 'nobody'")
        try:
            conn.execute("SELECT pg_reload_conf()")
            eventually(lambda: _commit_waits(conn, probe), "commits wait")
            yield
        finally:
            conn.execute("ALTER SYSTEM RESET synchronous_standby_names")
            conn.execute("SELECT pg_reload_conf()")
            eventually(lambda: not _finish(probe), "commits are acknowledged")


def _commit_waits(conn: "psycopg.Connection[Any]", probe: "psycopg.Connection[Any]") -> bool:
    if not _finish(probe):
        probe.pgconn.send_query(b"SELECT pg_logical_emit_message(true, 'probe', '')")
    return probe.info.backend_pid in waiting(conn, "SyncRep")


def _finish(probe: "psycopg.Connection[Any]") -> bool:
    """Whether the probe's query is still under way."""
    probe.pgconn.consume_input()
    while not probe.pgconn.is_busy():
        if probe.pgconn.get_result() is None:
            return False
    return True


def waiting(conn: "psycopg.Connection[Any]", what: str, who: str = "") -> list[int]:
    """Backends that wait for this (an event or its type), of any or one application."""
    return conn.execute(
        "SELECT pid FROM pg_stat_activity WHERE %(what)s IN (wait_event, wait_event_type)"
        " AND %(who)s IN ('', application_name)",
        {"what": what, "who": who},
    ).fetchall()


def until_waiting(product: Product, what: str, who: str) -> list[int]:
    """Backends of the application that wait, once there are some."""
    with owner(product) as conn:
        found: list[int] = eventually(lambda: waiting(conn, what, who), f"{who} waits for {what}")
        return found
