"""The hot view as the worker uses it: opened before a commit, shown after it."""

import secrets
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import redis
from redis.exceptions import NoScriptError, ResponseError

from foreword import hot_view, instant, resources
from foreword.errors import Unavailable
from foreword.head import encode
from foreword.keys import view_keys
from foreword.scope import Scope
from worker.stores.ledger import View

Argument = str | bytes | int


@dataclass(frozen=True, kw_only=True)
class Opening:
    """A writer's claim on some scopes, on one run of the server."""

    token: str
    run_id: str
    scopes: tuple[Scope, ...]


class HotView:
    """Writes heads and windows. ``max_rows`` and ``max_tokens`` bound a window, whichever is first."""

    def __init__(self, client: redis.Redis, *, max_rows: int, max_tokens: int) -> None:
        self._client = client
        self.max_rows = max_rows
        self.max_tokens = max_tokens
        self._script = resources.text("worker.stores", "show.lua")
        self._sha: str | None = None

    def open(self, scopes: Iterable[Scope]) -> Opening:
        """Makes scopes cold before their ledger transaction commits; Unavailable when it cannot."""
        unique = tuple(dict.fromkeys(scopes))
        token, now = secrets.token_hex(8), instant.now_ms()
        pipe = self._client.pipeline(transaction=False)
        for scope in unique:
            for command in hot_view.opening(view_keys(scope), token, now):
                _queue(pipe, *command)
        _queue(pipe, "INFO", "server")
        try:
            info = pipe.execute()[-1]
        except redis.RedisError as error:
            raise Unavailable("The hot view is not available.") from error
        return Opening(token=token, run_id=info["run_id"], scopes=unique)

    def show(self, opening: Opening, views: Sequence[View]) -> list[Scope]:
        """Sets what a commit made true; the scopes that stayed cold and want a rebuild.

        A scope that was opened and has no view (nothing of it was filed) is closed and stays cold.
        """
        viewed = [view.scope for view in views]
        unviewed = [scope for scope in opening.scopes if scope not in set(viewed)]
        try:
            outcomes = self._run([self._arguments(opening, view) for view in views])
            for scope in unviewed:
                self._client.hdel(view_keys(scope).lease, opening.token)
        except redis.RedisError:
            return [*viewed, *unviewed]
        return [scope for scope, shown in zip(viewed, outcomes, strict=True) if shown != 1] + unviewed

    def void(self, scopes: Iterable[Scope]) -> None:
        """Makes scopes cold and voids every writer open on them; Unavailable when it cannot."""
        pipe = self._client.pipeline(transaction=False)
        for scope in scopes:
            _queue(pipe, *hot_view.voiding(view_keys(scope)))
        try:
            pipe.execute()
        except redis.RedisError as error:
            raise Unavailable("The hot view is not available.") from error

    def is_warm(self, scope: Scope) -> bool:
        """Whether head and window are both there."""
        keys = view_keys(scope)
        try:
            return self._client.exists(keys.head, keys.order, keys.rows) == 3
        except redis.RedisError as error:
            raise Unavailable("The hot view is not available.") from error

    def _run(self, calls: list[list[Argument]]) -> list[int]:
        """EVALSHA of each call in one round trip; a server that lost the script is given it again."""
        if not calls:
            return []
        if self._sha is None:
            self._sha = self._client.script_load(self._script)
        pipe = self._client.pipeline(transaction=False)
        for call in calls:
            _queue(pipe, "EVALSHA", self._sha, 4, *call)
        replies = pipe.execute(raise_on_error=False)
        if any(isinstance(reply, NoScriptError) for reply in replies):
            self._sha = None
            return [0] * len(calls)
        for reply in replies:
            if isinstance(reply, ResponseError):
                raise reply
        return [int(reply) for reply in replies]

    def _arguments(self, opening: Opening, view: View) -> list[Argument]:
        keys = view_keys(view.scope)
        rows = view.newest if view.whole else view.added
        counters = len(view.newest[0].costs) if view.newest else 0
        complete = view.whole and len(rows) == view.summary.total
        pairs = [item for row in rows for item in (row.seq, hot_view.encode_row(row))]
        return [
            keys.head,
            keys.order,
            keys.rows,
            keys.lease,
            opening.token,
            instant.now_ms(),
            opening.run_id,
            view.summary.version,
            encode(opening.run_id, view.summary, view.newest),
            hot_view.encode_meta(opening.run_id, view.summary, counters=counters, complete=complete),
            "replace" if view.whole else "append",
            self.max_rows,
            self.max_tokens,
            len(rows),
            *pairs,
            *view.removed,
        ]


def _queue(pipe: "redis.client.Pipeline", *command: Argument) -> None:
    pipe.execute_command(*command)  # type: ignore[no-untyped-call]
