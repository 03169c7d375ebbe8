"""The ledger as the worker uses it: one transaction files one tenant's batch."""

import json
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

import psycopg
from psycopg.rows import dict_row
from psycopg_pool import ConnectionPool, PoolTimeout

from foreword import instant, resources
from foreword.draft import Draft
from foreword.entry import Entry, wire_fragment
from foreword.errors import Conflict, Unavailable
from foreword.head import MAX_BYTES, MAX_ENTRIES, MAX_UPCOMING, Row, Summary, expiry
from foreword.scope import Scope
from worker.stores import sift

ID_TAKEN = "FW409"
"""SQLSTATE of ``accept_drafts`` for an id that another body has."""

Connection = psycopg.Connection[dict[str, Any]]

_REFUSALS = (psycopg.DataError, psycopg.IntegrityError, psycopg.errors.ProgramLimitExceeded)
"""What the ledger answers when a row itself is at fault, and not the ledger."""


@dataclass(frozen=True, kw_only=True)
class Claimed:
    """An inbox row this transaction holds. ``accepted_at`` in milliseconds."""

    scope_id: int
    scope: Scope
    seq: int
    id: str
    sealed: bytes
    accepted_at: int


@dataclass(frozen=True, kw_only=True)
class Failure:
    """A Draft that could not be filed, and why, in words that hold nothing of it."""

    claimed: Claimed
    reason: str


@dataclass(frozen=True, kw_only=True)
class View:
    """What the hot view must know of a scope after a commit; ``removed`` are positions that left it.

    ``sifted`` is what the head holds where it is not the newest rows.
    """

    scope: Scope
    summary: Summary
    newest: Sequence[Row]
    added: Sequence[Row] = ()
    removed: Sequence[int] = ()
    whole: bool = False
    sifted: sift.Sifted | None = None


@dataclass
class _Changes:
    """What one transaction did to one scope."""

    scope: Scope
    added: list[Row] = field(default_factory=list)
    removed: list[int] = field(default_factory=list)


class Filing:
    """One open transaction of one tenant."""

    def __init__(self, conn: Connection, tenant: int, *, large: int, room: int) -> None:
        self._conn = conn
        self._tenant = tenant
        self._large = large
        self._room = room
        self._changes: dict[int, _Changes] = {}

    def policy(self) -> tuple[int, list[str]]:
        """Version of the tenant's registered secrets, held still until the commit, and its PII kinds."""
        row = self.run("policy").fetchone()
        return (0, []) if row is None else (row["secrets_version"], row["pii"])

    def secrets(self) -> dict[str, bytes]:
        """Sealed registered secrets by id."""
        return {row["secret_id"]: bytes(row["sealed"]) for row in self.run("secrets")}

    def claim(self, limit: int) -> list[Claimed]:
        """The oldest waiting Drafts that no other worker holds."""
        return [
            Claimed(
                scope_id=row["scope_id"],
                scope=Scope(self._tenant, row["memory_ref"]),
                seq=row["seq"],
                id=row["id"],
                sealed=bytes(row["sealed"]),
                accepted_at=instant.from_datetime(row["accepted_at"]),
            )
            for row in self.run("claim", limit=limit)
        ]

    def fail(self, failures: Sequence[Failure]) -> None:
        """Sets Drafts aside with a reason; their sealed payload stays for a retry."""
        told = [{"seq": f.claimed.seq, "reason": f.reason} for f in failures]
        self.run("fail", failures=json.dumps(told), scopes=[f.claimed.scope_id for f in failures])

    def file(self, entries: Sequence[Entry], scope_ids: Sequence[int]) -> str | None:
        """Puts entries in, takes their Drafts out; the SQLSTATE if the ledger refuses them (none is filed).

        Their scopes are locked.
        """
        before = {key: _Changes(c.scope, [*c.added], [*c.removed]) for key, c in self._changes.items()}
        try:
            with self._conn.transaction():
                self._put(entries, scope_ids)
        except _REFUSALS as error:
            self._changes = before
            return error.sqlstate or "unknown"
        return None

    def lock(self, scope_ids: Sequence[int]) -> None:
        """Holds scopes until the end of the transaction: nothing else changes them, and no head is set."""
        self.run("lock_scopes", scopes=sorted(set(scope_ids)))

    def _put(self, entries: Sequence[Entry], scope_ids: Sequence[int]) -> None:
        for entry, scope_id in zip(entries, scope_ids, strict=True):
            self._changes.setdefault(scope_id, _Changes(entry.scope))
        by_seq = {entry.seq: entry for entry in entries}
        rows = [_record(entry, scope_id) for entry, scope_id in zip(entries, scope_ids, strict=True)]
        for row in self.run("file", entries=json.dumps(rows)):
            if not row["superseded"]:
                self._changes[row["scope_id"]].added.append(Row.of(by_seq[row["seq"]]))
        self._supersede(entries, scope_ids)

    def _supersede(self, entries: Sequence[Entry], scope_ids: Sequence[int]) -> None:
        pairs = [
            (scope_id, old)
            for entry, scope_id in zip(entries, scope_ids, strict=True)
            for old in entry.supersedes
            if old != entry.id
        ]
        if not pairs:
            return
        for row in self.run("supersede", scopes=[p[0] for p in pairs], olds=[p[1] for p in pairs]):
            self._changes[row["scope_id"]].removed.append(row["seq"])

    def accept(self, draft: Draft, *, digest: bytes, sealed: bytes) -> None:
        """Puts one sealed Draft in the inbox, once; Conflict when its id is taken by another body."""
        try:
            self.run("accept", ref=draft.memory_ref, id=draft.id, digest=digest, sealed=sealed)
        except psycopg.OperationalError as error:
            if error.sqlstate == ID_TAKEN:
                raise Conflict from error
            raise

    def views(self, now: int) -> list[View]:
        """Advances the touched scopes by one version and says what their hot views must become."""
        scopes = sorted(self._changes)
        if not scopes:
            return []
        added = [len(self._changes[s].added) - len(self._changes[s].removed) for s in scopes]
        self.run("advance", scopes=scopes, added=added)
        summaries = self.summaries(scopes, now)
        new = [scope_id for scope_id in scopes if summaries[scope_id].version == 1]
        newest = self.newest(scopes, now, MAX_ENTRIES, whole=new)
        return [
            View(
                scope=change.scope,
                summary=summaries[scope_id],
                newest=newest[scope_id],
                added=[row for row in change.added if row.expires_at == 0 or row.expires_at > now],
                removed=change.removed,
                whole=scope_id in new,
                sifted=self.sifted(scope_id, summaries[scope_id], newest[scope_id], now),
            )
            for scope_id, change in self._changes.items()
        ]

    def summaries(self, scopes: Sequence[int], now: int) -> dict[int, Summary]:
        """Version, live count and next expiries of scopes."""
        rows = self.run("summaries", scopes=scopes, now=instant.to_datetime(now), most=MAX_UPCOMING + 1)
        return {
            row["scope_id"]: Summary.of(
                row["version"],
                row["live"],
                [instant.from_datetime(at) for at in row["expiries"]],
                made=now,
            )
            for row in rows
        }

    def newest(
        self,
        scopes: Sequence[int],
        now: int,
        limit: int,
        *,
        whole: Sequence[int],
        tokens: int | None = None,
    ) -> dict[int, list[Row]]:
        """The newest live rows of scopes, newest first: as many as could be in a head.

        Of a scope that is wanted ``whole``, all up to the limit and to the first beyond ``tokens``.
        """
        given: dict[str, Any] = {
            "scopes": scopes,
            "whole": [scope_id in whole for scope_id in scopes],
            "now": instant.to_datetime(now),
            "room": self._room,
            "tokens": tokens,
            "limit": limit,
        }
        found: dict[int, list[Row]] = {scope_id: [] for scope_id in scopes}
        for row in self.run("newest", **given):
            found[row["scope_id"]].append(_row(row))
        return found

    def sifted(
        self, scope_id: int, summary: Summary, newest: Sequence[Row], now: int
    ) -> "sift.Sifted | None":
        """What the head of a scope holds instead of its newest rows, where large ones would fill it."""
        if not sift.wanted(newest, summary, large=self._large, room=self._room):
            return None
        found = self.run(
            "sifted",
            scope=scope_id,
            now=instant.to_datetime(now),
            large=self._large,
            limit=sift.MOST_ROWS,
            most=sift.MOST_LOOKED_AT,
            whole=summary.total <= sift.MOST_LOOKED_AT,
        )
        return sift.sifted([(row, None if row["id"] is None else _row(row)) for row in found], summary)

    def run(self, name: str, /, *, of: str = "ledger", **params: object) -> psycopg.Cursor[dict[str, Any]]:
        """Runs a named query of this package's files, or of the upkeep's."""
        package = "worker.upkeep" if of == "upkeep" else "worker.stores"
        query = resources.queries(package, f"{of}.sql")[name].replace("{least}", sift.LEAST)
        return self._conn.execute(query.encode(), params, prepare=True)


class Ledger:
    """Opens transactions; turns lost connections into Unavailable.

    A row of more tokens than ``large`` is passed over where such rows would fill a head of ``room`` bytes.
    """

    def __init__(
        self, pool: "ConnectionPool[Connection]", *, large: int = sift.LARGE, room: int = MAX_BYTES
    ) -> None:
        self.pool = pool
        self._large = large
        self._room = room

    @contextmanager
    def transaction(self, tenant: int) -> Iterator[Filing]:
        """A transaction of one tenant."""
        with self.connection() as conn, conn.transaction():
            filing = Filing(conn, tenant, large=self._large, room=self._room)
            filing.run("begin", tenant=tenant)
            yield filing

    @contextmanager
    def at_once(self, tenant: int) -> Iterator[Filing]:
        """A transaction sent whole, its commit with it: no lock waits for a process that stands still.

        Rows can be fetched once the block has ended.
        """
        with self.connection() as conn, conn.pipeline():
            filing = Filing(conn, tenant, large=self._large, room=self._room)
            filing.run("begin", tenant=tenant)
            yield filing
            conn.commit()

    def query(self, file: str, name: str) -> bytes:
        """A named query of this package."""
        return resources.queries("worker.stores", f"{file}.sql")[name].encode()

    def across_tenants(self, name: str) -> list[dict[str, Any]]:
        """Rows of an upkeep query that the ledger answers without a tenant."""
        with self.connection() as conn:
            return conn.execute(resources.queries("worker.upkeep", "upkeep.sql")[name].encode()).fetchall()

    @contextmanager
    def connection(self) -> Iterator[Connection]:
        """A pooled connection."""
        try:
            with self.pool.connection() as conn:
                yield conn
        except (psycopg.OperationalError, psycopg.InterfaceError, PoolTimeout) as error:
            raise Unavailable("The ledger is not available.") from error


def open_pool(database_url: str, *, size: int) -> "ConnectionPool[Connection]":
    """A pool whose rows are dicts."""
    return ConnectionPool(
        database_url,
        min_size=1,
        max_size=size,
        timeout=5,
        reconnect_timeout=5,  # then demand tries again, at once and not after a backoff of minutes
        kwargs={
            "row_factory": dict_row,
            "application_name": "foreword worker",
            "connect_timeout": 5,
            "keepalives_idle": 10,
            "keepalives_interval": 5,
            "keepalives_count": 3,
        },
        check=ConnectionPool.check_connection,
        open=True,
    )


def _row(row: dict[str, Any]) -> Row:
    created, expires = row["created_at"], row["expires_at"]
    until = None if expires is None else instant.from_datetime(expires)
    return Row(
        seq=row["seq"],
        expires_at=expiry(until),
        costs=tuple(row["costs"]),
        fragment=wire_fragment(
            id=row["id"],
            content=row["content"],
            tags=row["tags"],
            created_at=instant.from_datetime(created),
            expires_at=until,
        ),
    )


def _record(entry: Entry, scope_id: int) -> dict[str, Any]:
    return {
        "scope_id": scope_id,
        "seq": entry.seq,
        "id": entry.id,
        "content": entry.content,
        "tags": list(entry.tags),
        "kind": entry.kind,
        "confidence": entry.confidence,
        "pinned": entry.pinned,
        "metadata": entry.metadata,
        "source": entry.source,
        "speaker": entry.speaker,
        "conversation": entry.conversation,
        "links": list(entry.links),
        "supersedes": list(entry.supersedes),
        "observed_at": _moment(entry.observed_at),
        "created_at": _moment(entry.created_at),
        "expires_at": None if entry.expires_at is None else _moment(entry.expires_at),
        "costs": list(entry.costs),
        "row_costs": list(entry.row_costs),
        "json_costs": list(entry.json_costs),
    }


def _moment(ms: int) -> str:
    return instant.to_datetime(ms).isoformat()
