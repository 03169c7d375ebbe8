"""How long a foreign ref takes against an unknown one, through list, get and search, over HTTP.

Asked is a tenant that has none of it. The same unknown ref under two names says how much two equal things
differ on this machine, so that a difference means something only beyond it.
"""

import http.client
import json
import random
import time
from collections.abc import Callable, Mapping
from statistics import median
from urllib.parse import quote, urlsplit

from bench.corpus import Filling, turns
from bench.measure import quietest
from bench.outcome import Outcome, Target
from bench.product import Product
from bench.stage import make_scope
from foreword.ledger.api_keys import create_key
from foreword.ledger.tenants import ensure_tenant

_ROUNDS, _LAPS = 8, 100
_FOREIGN = "foreign, 1,000 entries"
_OWNED = "bench:isolation"
_REFS = {
    _FOREIGN: _OWNED,
    "unknown": "bench:nobody-one",
    "unknown, another": "bench:nobody-two",
    "own, emptied": "bench:emptied",
}
_ID = "00000000-0000-7000-8000-000000000000"


Call = Callable[[], None]


class _Asker:
    """One kept connection with one key."""

    def __init__(self, url: str, key: str) -> None:
        where = urlsplit(url)
        self._connection = http.client.HTTPConnection(where.hostname or "", where.port, timeout=40)
        self._headers = {"Authorization": f"Bearer {key}", "Content-Type": "application/json"}

    def ask(self, method: str, path: str, body: object = None) -> tuple[int, bytes]:
        """Status and body."""
        content = None if body is None else json.dumps(body)
        self._connection.request(method, path, content, self._headers)
        answer = self._connection.getresponse()
        return answer.status, answer.read()


def bench(product: Product) -> Outcome:
    """The outcome."""
    make_scope(product, _OWNED, [Filling(pool=turns(1000), number=1000)])
    owner = _Asker(product.url, product.api_key)
    foreign_id = json.loads(owner.ask("GET", _listed(_OWNED))[1])["entries"][0]["id"]
    ensure_tenant(product.owner_url, "stranger")
    asker = _Asker(product.url, create_key(product.owner_url, "stranger", ["read", "write"]))
    _emptied(asker)
    doors: dict[str, dict[str, Call]] = {
        "list": {name: _call(asker, "GET", _listed(ref)) for name, ref in _REFS.items()},
        "get": {
            name: _call(asker, "GET", _one(ref, foreign_id if ref == _OWNED else _ID))
            for name, ref in _REFS.items()
        },
        "search": {
            name: _call(
                asker, "POST", "/v1/memory/search", {"memoryRef": ref, "query": "plans", "mode": "lexical"}
            )
            for name, ref in _REFS.items()
        },
    }
    return _outcome({door: _measured(calls) for door, calls in doors.items()})


def _measured(calls: Mapping[str, Call]) -> dict[str, list[tuple[float, ...]]]:
    """Latencies of each variant, round by round; within a round every variant has its turn in every lap."""
    taken: dict[str, list[tuple[float, ...]]] = {name: [] for name in calls}
    for number in range(_ROUNDS + 1):
        laps: dict[str, list[float]] = {name: [] for name in calls}
        for _ in range(_LAPS):
            for name in random.sample(list(calls), len(calls)):
                started = time.perf_counter()
                calls[name]()
                laps[name].append(time.perf_counter() - started)
        if number:  # the first is for warming
            for name, latencies in laps.items():
                taken[name].append(tuple(latencies))
    return taken


def _listed(ref: str) -> str:
    return f"/v1/memory/entries?memoryRef={quote(ref)}&tokenBudget=1024"


def _one(ref: str, entry_id: str) -> str:
    return f"/v1/memory/entries/{entry_id}?memoryRef={quote(ref)}"


def _emptied(asker: _Asker) -> None:
    ref = _REFS["own, emptied"]
    asker.ask("POST", "/v1/memory/entries?wait=30", {"memoryRef": ref, "content": "gone"})
    asker.ask("DELETE", f"/v1/memory?memoryRef={quote(ref)}")


def _call(asker: _Asker, method: str, path: str, body: object = None) -> Call:
    expected = asker.ask(method, path, body)[0]

    def call() -> None:
        status, _ = asker.ask(method, path, body)
        if status != expected:
            raise AssertionError(f"{method} answered {status} after {expected}")

    return call


def _outcome(found: dict[str, dict[str, list[tuple[float, ...]]]]) -> Outcome:
    rows, targets = [], []
    for door, taken in found.items():
        ratios = {name: _ratios(rounds, taken["unknown"]) for name, rounds in taken.items()}
        for name, rounds in taken.items():
            best = quietest(rounds)
            told = (f"{median(ratios[name]):.3f}x", f"{min(ratios[name]):.2f} to {max(ratios[name]):.2f}")
            rows.append((f"{door}, {name}", f"{best.p50 * 1e3:.3f}", f"{best.p99 * 1e3:.3f}", *told))
        alike, foreign = (abs(median(ratios[name]) - 1) for name in ("unknown, another", _FOREIGN))
        claim = f"{door}: foreign off unknown, beyond what one unknown is off another"
        targets.append(Target(claim=claim, value=1 + max(foreign - alike, 0), bound=1.05))
    return Outcome(
        name="isolation",
        title="What a stranger can time: foreign, unknown and emptied memories over HTTP",
        columns=("asked by a tenant that has none of it", "p50 ms", "p99 ms", "/ unknown", "in the rounds"),
        rows=rows,
        targets=targets,
        remarks=(
            f"One kept connection; in each of {_LAPS} laps a round every variant has a turn, at random.",
        ),
        details={door: {n: quietest(r).to_json() for n, r in taken.items()} for door, taken in found.items()},
    )


def _ratios(rounds: list[tuple[float, ...]], base: list[tuple[float, ...]]) -> list[float]:
    """Median over median, round by round, so that what slows a round slows both."""
    return [median(one) / median(other) for one, other in zip(rounds, base, strict=True)]
