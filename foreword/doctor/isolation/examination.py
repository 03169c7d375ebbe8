"""THE EXAMINATION. One side stores, the other asks; each answer is held against that for what nobody stored.

plant as owner -> [each reading door: owner and stranger see a difference; the other sees none]
      -> [each removing door, by the other] -> [a write by the other under the owner's names]
      -> the owner's memory is as it was -> [each removing door, by the owner] -> nothing is left
"""

import contextlib
import time
from collections.abc import Iterator
from typing import Final

import httpx

from foreword.doctor.isolation.pair import Pair
from foreword.doctor.isolation.probes import READS, REMOVALS, Probe, Request
from foreword.doctor.isolation.target import Target
from foreword.doctor.isolation.verdict import Verdict
from foreword.errors import Unavailable

TIMEOUT_S: Final = 40.0
PATIENCE_S: Final = 30.0
_TRIES: Final = 3
_PATIENT_TRIES: Final = 4
_ABSENT: Final = (httpx.codes.BAD_REQUEST, httpx.codes.NOT_FOUND)
_ENTRIES: Final = "/v1/memory/entries"
_SAID: Final = "The crossing opens at noon, said {}."

_Seen = tuple[int, frozenset[str], str]


class Examination:
    """Examines the server at ``url`` with a pair of keys; what it has stored it forgets.

    ``transport`` carries what the other side asks; httpx's own by default.
    """

    def __init__(self, url: str, pair: Pair, transport: httpx.BaseTransport | None = None) -> None:
        self._owner = _client(url, pair.owner_key, None)
        self._other = _client(url, pair.other_key, transport)
        self._finds = False

    doors: Final = len(READS) + len(REMOVALS) + 2

    def verdicts(self) -> Iterator[Verdict]:
        """A verdict a door, as they are found; Unavailable where the server does not do its work."""
        with self._owner, self._other:
            try:
                yield from self._examine()
            except httpx.HTTPError as error:
                raise Unavailable(f"The server stopped answering: {type(error).__name__}.") from error

    def _examine(self) -> Iterator[Verdict]:
        target = self._plant(Target.named())
        stranger = target.stranger()
        try:
            for probe in READS:
                yield self._read(probe, target, stranger)
            yield self._listed_secrets(target)
            before = self._sight(self._owner, _everything(target), target)
            removals = [(probe, self._remove(probe, target, stranger, before)) for probe in REMOVALS]
            yield self._write(target, before)
            for probe, verdict in removals:
                yield self._control(probe, target, stranger) if verdict.is_good else verdict
        finally:
            self._clean(target)

    def _plant(self, target: Target) -> Target:
        """Stores what is to be found, and learns the owner's tokens; the target with them."""
        put = _ok(self._owner.put(f"/v1/secrets/{target.secret}", json={"value": f"{target.canary} value"}))
        job = put.headers["Location"].rpartition("/")[2]
        said = {"memoryRef": target.ref, "content": _SAID.format(target.canary)}
        drafts = [
            said | {"id": target.id},
            *(said | {"id": id_, "tags": [target.tag]} for id_ in target.doomed),
        ]
        filed = _ok(self._owner.post(f"{_ENTRIES}:batch", params={"wait": 30}, json={"entries": drafts}))
        if filed.status_code != httpx.codes.CREATED:
            raise Unavailable("No worker filed what was written.")
        page = _ok(self._owner.get(_ENTRIES, params={"memoryRef": target.ref, "limit": 1})).json()
        recalled = _ok(
            self._owner.post(
                "/v1/memory/recall",
                json={"memoryRef": target.ref, "query": "crossing", "minSimilarity": -1, "topK": 1},
            )
        ).json()
        planted = Target(
            **vars(target)
            | {
                "job": job,
                "run": self._run() or target.run,
                "cursor": page["nextCursor"],
                "position": filed.json()["receipts"][-1]["position"],
                "session": recalled["session"],
            }
        )
        self._await_meaning(planted)
        return planted

    def _run(self) -> str | None:
        """A run of the owner's, where the server has a door for runs."""
        started = self._owner.post("/v1/runs", json={"workflowId": "conformance-noop"})
        return str(started.json()["runId"]) if started.is_success else None

    def _await_meaning(self, target: Target) -> None:
        """Waits until the owner finds by meaning what was stored, where the server offers that."""
        self._finds = "search" in _ok(self._owner.get("/.well-known/openwop")).json()["memory"]
        body = {"memoryRef": target.ref, "query": "crossing", "mode": "semantic"}
        deadline = time.monotonic() + PATIENCE_S
        while self._finds and time.monotonic() < deadline:
            found = self._owner.post("/v1/memory/search", json=body)
            if found.is_success and len(found.json()["entries"]) == 1 + len(target.doomed):
                return
            time.sleep(0.1)

    def _read(self, probe: Probe, target: Target, stranger: Target) -> Verdict:
        seen, unseen = (self._sight(self._owner, probe.ask(t), t) for t in (target, stranger))
        foreign, unknown = self._as_other(probe, target, stranger)
        if target.betrayed_by(foreign[2]):
            return Verdict(door=probe.door, state="leaks", detail="shows another tenant's entry")
        if foreign != unknown:
            return Verdict(door=probe.door, state="tells apart", detail=_difference(foreign, unknown))
        if seen == unseen and not target.betrayed_by(seen[2]):
            if probe.optional and (seen[0] in _ABSENT or not self._finds):
                return Verdict(door=probe.door, state="not served", detail=f"status {seen[0]}")
            return Verdict(door=probe.door, state="unproven", detail="its owner sees nothing either")
        return Verdict(door=probe.door, state="isolated")

    def _listed_secrets(self, target: Target) -> Verdict:
        door, request = "GET /v1/secrets", Request(method="GET", path="/v1/secrets")
        owned, foreign = (self._send(client, request).text for client in (self._owner, self._other))
        if target.secret in foreign:
            return Verdict(door=door, state="leaks", detail="names another tenant's secret")
        if target.secret not in owned:
            return Verdict(door=door, state="unproven", detail="its owner sees nothing either")
        return Verdict(door=door, state="isolated")

    def _remove(self, probe: Probe, target: Target, stranger: Target, before: _Seen) -> Verdict:
        foreign, unknown = self._as_other(probe, target, stranger)
        if self._sight(self._owner, _everything(target), target) != before or not self._has_secret(target):
            return Verdict(door=probe.door, state="leaks", detail="removes what another tenant stored")
        if foreign != unknown:
            return Verdict(door=probe.door, state="tells apart", detail=_difference(foreign, unknown))
        return Verdict(door=probe.door, state="isolated")

    def _write(self, target: Target, before: _Seen) -> Verdict:
        """The other side writes under the owner's ref and id, to succeed it, and removes that again."""
        door = f"POST {_ENTRIES} same names"
        own = {"memoryRef": target.ref, "id": target.id, "content": "Mine.", "supersedes": [*target.doomed]}
        status = self._other.post(_ENTRIES, params={"wait": 30}, json=own).status_code
        listed = self._other.get(_ENTRIES, params={"memoryRef": target.ref}).json()["entries"]
        self._other.delete("/v1/memory", params={"memoryRef": target.ref})
        if self._sight(self._owner, _everything(target), target) != before:
            return Verdict(door=door, state="leaks", detail="changes what another tenant stored")
        if status != httpx.codes.CREATED:
            return Verdict(door=door, state="tells apart", detail=f"status {status}")
        if [entry["content"] for entry in listed] != ["Mine."]:
            return Verdict(door=door, state="leaks", detail="its reader sees more than its own")
        return Verdict(door=door, state="isolated")

    def _control(self, probe: Probe, target: Target, stranger: Target) -> Verdict:
        """A removing door that removes nothing for the owner either has proved nothing."""
        seen, unseen = (self._sight(self._owner, probe.ask(t), t) for t in (target, stranger))
        if seen == unseen:
            return Verdict(door=probe.door, state="unproven", detail="does nothing for its owner either")
        return Verdict(door=probe.door, state="isolated")

    def _has_secret(self, target: Target) -> bool:
        return target.secret in self._owner.get("/v1/secrets").text

    def _as_other(self, probe: Probe, target: Target, stranger: Target) -> tuple[_Seen, _Seen]:
        """What the other side is told; asked again where answers differ, since an embedder may be late."""
        for _ in range(_TRIES):
            foreign, unknown = (self._sight(self._other, probe.ask(t), t) for t in (target, stranger))
            if foreign == unknown:
                break
        return foreign, unknown

    def _sight(self, client: httpx.Client, request: Request, target: Target) -> _Seen:
        answer = self._send(client, request)
        return answer.status_code, frozenset(answer.headers), target.blurred(answer.text)

    def _send(self, client: httpx.Client, request: Request) -> httpx.Response:
        """The answer, once the server's rate lets it through and an embedder that serves has answered."""
        for left in reversed(range(_PATIENT_TRIES)):
            answer = client.request(
                request.method, request.path, params=dict(request.params), json=request.body
            )
            late = self._finds and answer.status_code == httpx.codes.SERVICE_UNAVAILABLE
            if not left or not (late or answer.status_code == httpx.codes.TOO_MANY_REQUESTS):
                break
            time.sleep(min(float(answer.headers.get("Retry-After", "1")), 60.0))
        return answer

    def _clean(self, target: Target) -> None:
        for client in (self._owner, self._other):
            _drop(client, "/v1/memory", memoryRef=target.ref)
        _drop(self._owner, f"/v1/secrets/{target.secret}")
        run = self._owner.get(f"/v1/runs/{target.run}")
        if run.is_success:
            _drop(self._owner, "/v1/memory", memoryRef=run.json()["variables"].get("memoryRef", ""))


def _client(url: str, key: str, transport: httpx.BaseTransport | None) -> httpx.Client:
    headers = {"Authorization": f"Bearer {key}", "Accept": "application/json"}
    return httpx.Client(base_url=url.rstrip("/"), headers=headers, timeout=TIMEOUT_S, transport=transport)


def _everything(target: Target) -> Request:
    return Request(method="GET", path=_ENTRIES, params={"memoryRef": target.ref, "fields": "all"})


def _ok(answer: httpx.Response) -> httpx.Response:
    if not answer.is_success:
        raise Unavailable(f"The server answers {answer.status_code} to what its own tenant may do.")
    return answer


def _difference(foreign: _Seen, unknown: _Seen) -> str:
    if foreign[0] != unknown[0]:
        return f"status {foreign[0]} for a foreign name, {unknown[0]} for an unknown one"
    return "another header" if foreign[1] != unknown[1] else "another body"


def _drop(client: httpx.Client, path: str, **params: str) -> None:
    with contextlib.suppress(httpx.HTTPError):
        client.delete(path, params=params)
