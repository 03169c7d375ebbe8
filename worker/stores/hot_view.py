"""The hot view as the worker uses it: opened before a commit, shown after it."""

import secrets
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import redis
from redis.exceptions import NoScriptError

from foreword import hot_view, resources
from foreword.errors import Unavailable
from foreword.head import MAX_BYTES, MAX_ENTRIES, Head, encode
from foreword.keys import view_keys
from foreword.scope import Scope
from worker.stores.ledger import View

Argument = str | bytes | int


@dataclass(frozen=True, kw_only=True)
class Opening:
    """A writer's claim on some scopes, on one run of the server."""

    token: str
    run_id: str


class HotView:
    """Writes heads and windows. ``max_rows`` and ``max_tokens`` bound a window, whichever is first."""

    def __init__(
        self,
        client: redis.Redis,
        *,
        max_rows: int,
        max_tokens: int,
        head_bytes: int = MAX_BYTES,
        head_entries: int = MAX_ENTRIES,
    ) -> None:
        self._client = client
        self.max_rows = max_rows
        self.max_tokens = max_tokens
        self._head_bytes = head_bytes
        self._head_entries = head_entries
        self._script = resources.text("worker.stores", "show.lua")
        self._sha: str | None = None

    def open(self, scopes: Iterable[Scope]) -> Opening:
        """Makes scopes cold; Unavailable when it cannot.

        The caller's transaction has locked them in the ledger and has not committed yet.
        """
        token = secrets.token_hex(8)
        pipe = self._client.pipeline(transaction=False)
        for scope in dict.fromkeys(scopes):
            _queue(pipe, *hot_view.opening(view_keys(scope), token))
        _queue(pipe, "INFO", "server")
        try:
            info = pipe.execute()[-1]
        except redis.RedisError as error:
            raise Unavailable("The hot view is not available.") from error
        return Opening(token=token, run_id=info["run_id"])

    def show(self, opening: Opening, views: Sequence[View]) -> list[Scope]:
        """Sets what a commit made true; the scopes that stayed cold and want a rebuild."""
        try:
            outcomes = self._run([self._arguments(opening, view) for view in views])
        except redis.RedisError:
            return [view.scope for view in views]
        return [view.scope for view, shown in zip(views, outcomes, strict=True) if shown != 1]

    def void(self, scopes: Iterable[Scope]) -> None:
        """Makes scopes cold and voids every writer open on them; Unavailable when it cannot."""
        pipe = self._client.pipeline(transaction=False)
        for scope in scopes:
            _queue(pipe, *hot_view.voiding(view_keys(scope)))
        try:
            pipe.execute()
        except redis.RedisError as error:
            raise Unavailable("The hot view is not available.") from error

    def is_warm(self, scope: Scope, now: int) -> bool:
        """Whether head and window are whole, of this server run, and valid at ``now`` (ms)."""
        keys = view_keys(scope)
        pipe = self._client.pipeline(transaction=False)
        for command in (("INFO", "server"), ("GET", keys.head), ("ZCARD", keys.order), ("HLEN", keys.rows)):
            _queue(pipe, *command)
        _queue(pipe, "HGET", keys.rows, "#")
        try:
            info, raw, size, fields, meta = pipe.execute()
        except redis.RedisError as error:
            raise Unavailable("The hot view is not available.") from error
        if raw is None or Head.decode(raw, run_id=info["run_id"], now=now) is None:
            return False
        return meta is not None and meta.startswith(info["run_id"].encode()) and fields == size + 2

    def _run(self, calls: list[list[Argument]]) -> list[int]:
        """EVALSHA of each call in one round trip; a server that lost the script is given it again."""
        if not calls:
            return []
        replies = self._evaluate(calls)
        if any(isinstance(reply, NoScriptError) for reply in replies):
            self._sha = None
            replies = self._evaluate(calls)
        for reply in replies:
            if isinstance(reply, redis.RedisError):
                raise reply
        return [int(reply) for reply in replies]

    def _evaluate(self, calls: list[list[Argument]]) -> list[Any]:
        if self._sha is None:
            self._sha = self._client.script_load(self._script)
        pipe = self._client.pipeline(transaction=False)
        for call in calls:
            _queue(pipe, "EVALSHA", self._sha, 4, *call)
        return pipe.execute(raise_on_error=False)

    def _arguments(self, opening: Opening, view: View) -> list[Argument]:
        keys = view_keys(view.scope)
        rows = view.newest if view.whole else view.added
        complete = view.whole and len(rows) == view.summary.total
        head = encode(
            opening.run_id,
            view.summary,
            view.newest if view.sifted is None else view.sifted.rows,
            () if view.sifted is None else view.sifted.runs,
            max_bytes=self._head_bytes,
            max_entries=self._head_entries,
        )
        return [
            keys.head,
            keys.order,
            keys.rows,
            keys.lease,
            opening.token,
            opening.run_id,
            view.summary.version,
            head,
            hot_view.encode_meta(opening.run_id, view.summary, complete=complete),
            "replace" if view.whole else "append",
            self.max_rows,
            self.max_tokens,
            len(rows),
            *(item for row in rows for item in (row.seq, hot_view.encode_row(row))),
            *view.removed,
        ]


def _queue(pipe: "redis.client.Pipeline", *command: Argument) -> None:
    pipe.execute_command(*command)  # type: ignore[no-untyped-call]
