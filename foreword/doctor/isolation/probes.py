"""Probes: every door and mode of a server, as requests for a target."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import quote

from foreword.doctor.isolation.target import Target

_ENTRIES = "/v1/memory/entries"
_HOST = "/v1/host/foreword/memory"


@dataclass(frozen=True, kw_only=True)
class Request:
    """One request. A ``body`` is sent as JSON."""

    method: str
    path: str
    params: Mapping[str, Any] = field(default_factory=dict)
    body: Any = None


@dataclass(frozen=True, kw_only=True)
class Probe:
    """A door in one mode. ``optional`` where a server may be without it."""

    door: str
    ask: Callable[[Target], Request]
    optional: bool = False


def _list(path: str, name: str, *, optional: bool = False, **options: Callable[[Target], Any]) -> Probe:
    def ask(target: Target) -> Request:
        chosen = {name: value(target) for name, value in options.items()}
        return Request(method="GET", path=path, params={"memoryRef": target.ref, **chosen})

    return Probe(door=f"GET {path} {name}".strip(), ask=ask, optional=optional)


def _named(method: str, path: str, name: Callable[[Target], str], mode: str = "", **options: str) -> Probe:
    def ask(target: Target) -> Request:
        where = path.format(quote(name(target), safe=""))
        return Request(method=method, path=where, params={"memoryRef": target.ref, **options})

    return Probe(door=f"{method} {path.format('ID')} {mode}".strip(), ask=ask)


def _whole(method: str, path: str, **options: Callable[[Target], Any]) -> Probe:
    def ask(target: Target) -> Request:
        chosen = {name: value(target) for name, value in options.items()}
        return Request(method=method, path=path, params={"memoryRef": target.ref, **chosen})

    return Probe(door=f"{method} {path} {' '.join(options)}".strip(), ask=ask)


def _posted(path: str, name: str, *, optional: bool = False, **fields: Callable[[Target], Any]) -> Probe:
    def ask(target: Target) -> Request:
        chosen = {name: value(target) for name, value in fields.items()}
        return Request(method="POST", path=path, body={"memoryRef": target.ref, **chosen})

    return Probe(door=f"POST {path} {name}".strip(), ask=ask, optional=optional)


def _tenant_wide(method: str, path: str, name: Callable[[Target], str], *, optional: bool = False) -> Probe:
    def ask(target: Target) -> Request:
        body = {"fromSeq": 0, "mode": "replay"} if path.endswith(":fork") else None
        return Request(method=method, path=path.format(name(target)), body=body)

    return Probe(door=f"{method} {path.format('ID')}", ask=ask, optional=optional)


def _always(value: Any) -> Callable[[Target], Any]:
    return lambda _: value


_QUESTION = _always("When does the crossing open?")

READS: tuple[Probe, ...] = (
    *(
        probe
        for path in (_ENTRIES, _HOST)
        for probe in (
            _list(path, "recency"),
            _list(path, "tokenBudget", tokenBudget=_always(500)),
            _list(path, "tag", tag=lambda target: target.tag),
            _list(path, "kind", kind=_always("fact")),
            _list(path, "fields", fields=_always("all")),
            _list(path, "relevance", optional=True, rank=_always("relevance"), query=_QUESTION),
        )
    ),
    _list(_ENTRIES, "cursor", cursor=lambda target: target.cursor),
    _list(_ENTRIES, "after", after=lambda target: target.position),
    _named("GET", _ENTRIES + "/{}", lambda target: target.id),
    _named("GET", _ENTRIES + "/{}", lambda target: target.id, "fields", fields="all"),
    _named("GET", _HOST + "/{}", lambda target: target.id),
    _named("GET", "/v1/memory/receipts/{}", lambda target: target.id),
    _posted("/v1/memory/search", "semantic", optional=True, mode=_always("semantic"), query=_QUESTION),
    _posted("/v1/memory/search", "lexical", mode=_always("lexical"), query=_QUESTION),
    _posted("/v1/memory/search", "hybrid", mode=_always("hybrid"), query=_QUESTION),
    _posted("/v1/memory/search", "filter", mode=_always("filter")),
    _posted("/v1/memory/recall", "", query=_QUESTION, minSimilarity=_always(-1)),
    _posted("/v1/memory/recall", "format", query=_QUESTION, minSimilarity=_always(-1), format=_always("xml")),
    _posted(
        "/v1/memory/recall",
        "session",
        query=_QUESTION,
        minSimilarity=_always(-1),
        session=lambda target: target.session,
    ),
    _whole("GET", "/v1/memory/export"),
    _whole("GET", "/v1/memory/stats"),
    _whole("GET", "/v1/memory/events"),
    _tenant_wide("GET", "/v1/memory/jobs/{}", lambda target: target.job),
    _tenant_wide("GET", "/v1/runs/{}", lambda target: target.run, optional=True),
    _tenant_wide("GET", "/v1/runs/{}/events", lambda target: target.run, optional=True),
    _tenant_wide("GET", "/v1/runs/{}/events/poll", lambda target: target.run, optional=True),
    _tenant_wide("POST", "/v1/runs/{}:fork", lambda target: target.run, optional=True),
)
"""Doors that show something."""

REMOVALS: tuple[Probe, ...] = (
    _named("DELETE", _ENTRIES + "/{}", lambda target: target.doomed[0]),
    _named("DELETE", _HOST + "/{}", lambda target: target.doomed[1]),
    _tenant_wide("DELETE", "/v1/secrets/{}", lambda target: target.secret),
    _whole("DELETE", "/v1/memory", tag=lambda target: target.tag),
    _whole("DELETE", "/v1/memory"),
)
"""Doors that remove something, the narrow ones first."""
