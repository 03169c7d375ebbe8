"""The sync client: sends calls and waits."""

import time
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from datetime import datetime
from types import TracebackType
from typing import Any, Self, TypeVar, Unpack

import httpx

from foreword.client import calls
from foreword.client.answers import (
    Acceptance,
    Entry,
    Events,
    Job,
    Page,
    Receipt,
    Recollection,
    Removal,
    Stats,
)
from foreword.client.arguments import DraftBody, DraftFields, ListOptions, RecallOptions, SearchOptions
from foreword.client.calls import Call
from foreword.client.connection import TIMEOUT, Connection
from foreword.client.exchange import Outcome, conclude, exchange
from foreword.client.lines import Lines
from foreword.errors import ServerError

T = TypeVar("T")


class Client:
    """A memory, from a runtime's side. Safe to share between threads; close it or use it in ``with``.

    ``url`` and ``api_key`` fall back to ``FOREWORD_URL`` and ``FOREWORD_API_KEY``, then to a ``foreword up``
    that runs on this machine. ``timeout`` is in seconds. Every error is a ForewordError; a call that is safe
    to repeat is sent up to three times, as late as the server asks.
    """

    def __init__(
        self, url: str | None = None, api_key: str | None = None, *, timeout: float = TIMEOUT
    ) -> None:
        self._connection = Connection.of(url, api_key, timeout)
        self._http = httpx.Client(**self._connection.options())

    @property
    def url(self) -> str:
        """Where it sends to."""
        return self._connection.url

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """Close its connections."""
        self._http.close()

    def remember(
        self, memory_ref: str, content: str, *, wait: float | None = None, **fields: Unpack[DraftFields]
    ) -> Receipt:
        """Write one thing to remember. ``wait``: seconds (0..30) to wait until it can be read."""
        return self._run(calls.remember(memory_ref, {**fields, "content": content}, wait))

    def remember_many(
        self, memory_ref: str, drafts: Iterable[str | DraftBody], *, wait: float | None = None
    ) -> tuple[Receipt, ...]:
        """Write many, in batches of 1,000 at most; a batch is accepted whole or refused whole."""
        receipts: list[Receipt] = []
        for batch in calls.remember_many(memory_ref, drafts, wait):
            receipts += self._run(batch)
        return tuple(receipts)

    def receipt(self, memory_ref: str, entry_id: str) -> Receipt:
        """How far a write has come."""
        return self._run(calls.receipt(memory_ref, entry_id))

    def list(self, memory_ref: str, *, known: Page | None = None, **options: Unpack[ListOptions]) -> Page:
        """The newest entries that fit, or with ``rank="relevance"`` the most similar to ``query``.

        ``known``: an earlier page, returned as it is if nothing changed.
        """
        return self._run(calls.list_entries(memory_ref, options, known))

    def pages(self, memory_ref: str, **options: Unpack[ListOptions]) -> Iterator[Page]:
        """Page after page, each with the full budget, until there is no more."""
        while True:
            page = self.list(memory_ref, **options)
            yield page
            if page.next_cursor is None:
                return
            options["cursor"] = page.next_cursor

    def search(self, memory_ref: str, query: str | None = None, **options: Unpack[SearchOptions]) -> Page:
        """What bears on a question, best first, each entry with its score and similarity."""
        return self._run(calls.search(memory_ref, query, options))

    def recall(
        self, memory_ref: str | Iterable[str], query: str, **options: Unpack[RecallOptions]
    ) -> Recollection:
        """A block for the prompt of what bears on a question; several memories share one budget."""
        return self._run(calls.recall(memory_ref, query, options))

    def get(self, memory_ref: str, entry_id: str, *, fields: str | None = None) -> Entry:
        """One entry; NotFound when there is none."""
        return self._run(calls.get(memory_ref, entry_id, fields))

    def delete(self, memory_ref: str, entry_id: str) -> Removal:
        """Remove an entry, filed or not; NotFound when there is none. Once it returns, no read has it."""
        return self._run(calls.delete(memory_ref, entry_id))

    def forget(self, memory_ref: str, *, tag: str | None = None, before: datetime | str | None = None) -> int:
        """Remove a whole memory, or what of it has ``tag`` or is older than ``before``; how many went."""
        return self._run(calls.forget(memory_ref, tag, before))

    def events(self, memory_ref: str, after: str | None = None, *, limit: int | None = None) -> Events:
        """What happened, oldest first; ``after`` is that of the last answer."""
        return self._run(calls.events(memory_ref, after, limit))

    def export(self, memory_ref: str) -> Iterator[dict[str, Any]]:
        """Every entry of a memory, oldest first, as ``import_`` takes them back."""
        lines = Lines(ServerError)
        with self._stream(calls.export(memory_ref)) as response:
            for chunk in response.iter_bytes():
                for item in lines.feed(chunk):
                    yield item
        for item in lines.finish():
            yield item

    def import_(self, lines: Iterable[Mapping[str, Any]], *, memory_ref: str | None = None) -> Acceptance:
        """Take export lines in, with their ids, order and times, into ``memory_ref`` instead of their own.

        Needs scope admin. A line that is there already changes nothing.
        """
        accepted, position = 0, None
        for batch in calls.import_lines(memory_ref, lines):
            answer = self._run(batch)
            accepted, position = accepted + answer.accepted, answer.position
        return Acceptance(accepted=accepted, position=position)

    def stats(self, memory_ref: str) -> Stats:
        """What a memory holds and costs."""
        return self._run(calls.stats(memory_ref))

    def job(self, job_id: str) -> Job:
        """How far a job has come."""
        return self._run(calls.job(job_id))

    def secrets(self) -> tuple[str, ...]:
        """The ids of registered secrets."""
        return self._run(calls.secret_ids())

    def set_secret(self, secret_id: str, value: str) -> str | None:
        """Register a value to redact; the id of the job that sweeps what is already filed."""
        return self._run(calls.set_secret(secret_id, value))

    def delete_secret(self, secret_id: str) -> None:
        """Drop a registered secret."""
        self._run(calls.delete_secret(secret_id))

    def seal_key(self) -> str:
        """The public key that ``foreword.enqueue`` seals to."""
        return self._run(calls.seal_key())

    def _run(self, call: Call[T]) -> T:
        steps = exchange(call)
        pause = next(steps)
        while True:
            time.sleep(pause)
            try:
                pause = steps.send(self._send(call))
            except StopIteration as end:
                answer: T = end.value
                return answer

    def _send(self, call: Call[Any]) -> Outcome:
        try:
            return self._http.request(**self._connection.request(call))
        except httpx.RequestError as error:
            return error

    @contextmanager
    def _stream(self, call: Call[None]) -> Iterator[httpx.Response]:
        try:
            with self._http.stream(**self._connection.request(call)) as response:
                if not response.is_success:
                    response.read()
                conclude(call, response)
                yield response
        except httpx.RequestError as error:
            conclude(call, error)
