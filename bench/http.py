"""(c) A read over HTTP, against the same server answering the same number of constant bytes.

Three servers are measured: the shim as it is, which remembers answers; one that remembers none, so that every
read is a first one; and one that remembers none and keeps a pool of connections instead of the shared one.
"""

import json
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from urllib.request import Request, urlopen

from bench.corpus import Filling, turns
from bench.measure import Series, quietest
from bench.outcome import Outcome, Target
from bench.product import Product, child
from bench.stage import BUDGET, make_scope
from foreword.embedded import ports
from foreword.embedded.readiness import Address

_ROUNDS = 4
_SECONDS = 2.0
_MANY = 32
_REF = "bench:http"
_READ = f"/v1/memory/entries?memoryRef={_REF.replace(':', '%3A')}&tokenBudget={BUDGET}"
_SERVERS = {
    "again": ("shared", None),
    "first": ("shared", "0"),
    "first, pool of 32": ("pooled", "0"),
}
"""Which connection to the hot view, and how many bytes may be remembered."""


@dataclass(frozen=True, kw_only=True)
class _Found:
    """One path under one client, and under many: latencies, and answers a second."""

    alone: Series
    crowd: Series
    rate: float


def bench(product: Product) -> Outcome:
    """The outcome."""
    make_scope(product, _REF, [Filling(pool=turns(1000), number=1000)])
    body = _fetch(product.url + _READ, product.api_key)
    found: dict[str, dict[str, _Found]] = {}
    for name, (reader, memo) in _SERVERS.items():
        with _server(product, body, reader, memo) as port:
            if _fetch(f"http://127.0.0.1:{port}{_READ}", product.api_key) != body:
                raise AssertionError(f"the server of {name!r} answers otherwise than the product")
            found[name] = _measured(port, {"constant": "/null", "read": _READ}, product.api_key)
    return _outcome(found, body)


def _outcome(found: dict[str, dict[str, _Found]], body: bytes) -> Outcome:
    rows, targets = [], []
    for name, paths in found.items():
        base = paths["constant"]
        for path, it in paths.items():
            latency, rate = it.alone.p50 / base.alone.p50, it.rate / base.rate
            label = f"read, {name}" if path == "read" else f"constant bytes ({name})"
            numbers = (f"{it.alone.p50 * 1e3:.3f}", f"{latency:.2f}x", f"{it.rate:,.0f}", f"{rate:.2f}x")
            rows.append((label, *numbers, f"{it.crowd.p99 * 1e3:.1f}"))
        if "pool" not in name:
            targets += [
                Target(claim=f"latency at 1, {name} / constant bytes", value=latency, bound=3.5),
                Target(
                    claim=f"throughput at {_MANY}, {name} / constant bytes",
                    value=rate,
                    bound=0.25,
                    most=False,
                ),
            ]
    shared, pooled = found["first"]["read"], found["first, pool of 32"]["read"]
    return Outcome(
        name="http",
        title=f"(c) Read over HTTP: 1 and {_MANY} kept connections",
        columns=("", "p50 ms at 1", "ratio", f"answers/s at {_MANY}", "ratio", f"p99 ms at {_MANY}"),
        rows=rows,
        targets=targets,
        remarks=[
            f"{len(body):,} bytes an answer; client and server share this machine's cores",
            f"the shared connection instead of a pool: {shared.rate / pooled.rate:.2f}x the answers a "
            f"second, {shared.alone.p50 / pooled.alone.p50:.2f}x the latency at 1, nothing remembered",
        ],
        details={
            f"{path}, {name}": {
                "alone": it.alone.to_json(),
                "crowd": it.crowd.to_json(),
                "perSecond": round(it.rate, 1),
            }
            for name, paths in found.items()
            for path, it in paths.items()
        },
    )


def _measured(port: int, paths: dict[str, str], api_key: str) -> dict[str, _Found]:
    """Paths take turns within every round; the quietest round of each counts."""
    alone: dict[str, list[tuple[float, ...]]] = {name: [] for name in paths}
    crowd: dict[str, list[tuple[float, ...]]] = {name: [] for name in paths}
    rates: dict[str, list[float]] = {name: [] for name in paths}
    for number in range(_ROUNDS):
        for name, path in paths.items():
            one, _ = _load(port, 1, path, api_key, _SECONDS / 2)
            many, rate = _load(port, _MANY, path, api_key, _SECONDS)
            if number == 0 and rate == 0:
                raise AssertionError("nothing was answered")
            alone[name].append(one)
            crowd[name].append(many)
            rates[name].append(rate)
    return {
        name: _Found(alone=quietest(alone[name]), crowd=quietest(crowd[name]), rate=max(rates[name]))
        for name in paths
    }


def _load(
    port: int, connections: int, path: str, api_key: str, seconds: float
) -> tuple[tuple[float, ...], float]:
    command = [sys.executable, "-m", "bench.wire", "127.0.0.1", str(port), str(connections), str(seconds)]
    done = subprocess.run(
        [*command, path, f"Authorization: Bearer {api_key}"],
        stdout=subprocess.PIPE,
        check=True,
        timeout=seconds + 60,
    )
    told = json.loads(done.stdout)
    return tuple(told["latencies"]), len(told["latencies"]) / told["seconds"]


@contextmanager
def _server(product: Product, body: bytes, reader: str, memo: str | None) -> Iterator[int]:
    port = ports.free("127.0.0.1")
    constant = product.folder / "constant.json"
    constant.write_bytes(body)
    command = (sys.executable, "-m", "bench.server", str(port), str(constant), reader)
    serves = Address(host="127.0.0.1", port=port).ready
    environment = product.shim_environment() | ({} if memo is None else {"FOREWORD_MEMO_BYTES": memo})
    with child(f"{reader}-{memo}", command, environment, product.folder, serves):
        yield port


def _fetch(url: str, api_key: str) -> bytes:
    with urlopen(Request(url, headers={"Authorization": f"Bearer {api_key}"})) as answer:
        found: bytes = answer.read()
    return found
