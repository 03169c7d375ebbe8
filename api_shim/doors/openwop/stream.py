"""A run's events: as they are, in JSON, or as they come, in a stream."""

import asyncio
import time
from collections.abc import AsyncIterator, Collection, Mapping, Sequence
from typing import Any, Final

from starlette.requests import Request
from starlette.responses import Response, StreamingResponse

from api_shim.doors.body import JSON
from api_shim.doors.openwop.runs import found
from api_shim.doors.request import options
from api_shim.given import Given
from api_shim.keyring import Caller
from api_shim.parts import Parts
from api_shim.runs.run import STREAM_MODES, Event, Run, projected
from api_shim.runs.store import RunStore
from foreword.entry import compact
from foreword.errors import Unavailable

EVENT_STREAM: Final = "text/event-stream"
LONGEST_POLL_S: Final = 30

_FIRST_LOOK_S, _LONGEST_LOOK_S = 0.05, 0.5
_QUIET_S: Final = 15.0
"""Silence after which a comment says that the connection lives."""


async def run_events(request: Request, caller: Caller, parts: Parts) -> Response:
    """``GET /v1/runs/{runId}/events``: JSON where asked for, else a stream until the run is over."""
    given = options(request, "streamMode", "bufferMs")
    modes = _modes(given)
    given.integer("bufferMs", least=0)  # a hint; each event is sent when it is known
    given.close()
    run, store = await found(request, caller, parts), parts.engine.store
    if _wants_json(request):
        return _told(run, await store.events(caller.tenant, run.id), modes)
    headers = {"Cache-Control": "no-store", "X-Accel-Buffering": "no"}
    if request.method == "HEAD":
        return Response(headers=headers, media_type=EVENT_STREAM)
    seen = await _seen(request, caller, store, run.id)
    stream = _follow(store, caller.tenant, run.id, modes, seen)
    return StreamingResponse(stream, headers=headers, media_type=EVENT_STREAM)


async def poll_events(request: Request, caller: Caller, parts: Parts) -> Response:
    """``GET /v1/runs/{runId}/events/poll``: what is new, waited for up to ``timeout`` seconds."""
    given = options(request, "lastSequence", "timeout")
    last = given.integer("lastSequence", least=0)
    seconds = given.number("timeout", least=0, most=LONGEST_POLL_S) or 0
    given.close()
    store, deadline = parts.engine.store, time.monotonic() + seconds
    while True:
        run = await found(request, caller, parts)
        events = await store.events(caller.tenant, run.id, 0 if last is None else last + 1)
        left = deadline - time.monotonic()
        if events or run.is_over or left <= 0:
            return _told(run, events, {"updates"})
        await asyncio.sleep(min(_LONGEST_LOOK_S, left))


def _told(run: Run, events: Sequence[Event], modes: Collection[str]) -> Response:
    """Events in JSON, complete where the run was over before they were read."""
    body = {"events": projected(events, modes, run), "isComplete": run.is_over}
    return Response(compact(body), media_type=JSON)


def _modes(given: Given) -> frozenset[str]:
    asked = frozenset(given.values.get("streamMode", "updates").split(","))
    if not asked <= set(STREAM_MODES):
        given.refuse("streamMode", "must be of " + ", ".join(STREAM_MODES))
    return asked


def _wants_json(request: Request) -> bool:
    accept = request.headers.get("accept", "")
    return JSON in accept and EVENT_STREAM not in accept


async def _seen(request: Request, caller: Caller, store: RunStore, run_id: str) -> int:
    """How many events the caller has, by the last it saw: its number in the stream, or its id."""
    last = request.headers.get("last-event-id", "")
    if last.isascii() and last.isdecimal():
        return int(last[:15]) + 1
    return await store.count_until(caller.tenant, run_id, last) if last.isprintable() and last else 0


async def _follow(
    store: RunStore, tenant: int, run_id: str, modes: frozenset[str], seen: int
) -> AsyncIterator[bytes]:
    pause, spoke = _FIRST_LOOK_S, time.monotonic()
    try:
        while True:
            run = await store.find(tenant, run_id)
            events = await store.events(tenant, run_id, seen)
            for told in [] if run is None else projected(events, modes, run):
                yield _framed(told)
            if run is None or run.is_over:
                return
            if events:
                seen, pause, spoke = events[-1].sequence + 1, _FIRST_LOOK_S, time.monotonic()
            elif time.monotonic() - spoke > _QUIET_S:
                spoke = time.monotonic()
                yield b":keepalive\n\n"
            await asyncio.sleep(pause)
            pause = min(pause * 2, _LONGEST_LOOK_S)
    except Unavailable:
        return  # the caller comes back with the last id it saw


def _framed(told: Mapping[str, Any]) -> bytes:
    return b"id: %d\nevent: %s\ndata: %s\n\n" % (told["sequence"], told["type"].encode(), compact(told))
