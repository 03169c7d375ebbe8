"""(c) A read over HTTP, against the same server answering the same number of constant bytes.

Beside the shim's pool of connections stands a prototype that sends every read over one pipelined connection.
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
    found: dict[str, _Found] = {}
    for reader in ("pool", "multiplexed"):
        with _server(product, body, reader) as port:
            if _fetch(f"http://127.0.0.1:{port}{_READ}", product.api_key) != body:
                raise AssertionError(f"the {reader} reader answers otherwise than the product")
            paths = {f"constant bytes ({reader})": "/null", f"read ({reader})": _READ}
            found |= _measured(port, paths, product.api_key)
    return _outcome(found, body)


def _outcome(found: dict[str, _Found], body: bytes) -> Outcome:
    null, read = found["constant bytes (pool)"], found["read (pool)"]
    other_null, other = found["constant bytes (multiplexed)"], found["read (multiplexed)"]
    rows = []
    for name, it in found.items():
        base = null if "pool" in name else other_null
        rows.append(
            (
                name,
                f"{it.alone.p50 * 1e3:.3f}",
                f"{it.alone.p50 / base.alone.p50:.2f}x",
                f"{it.rate:,.0f}",
                f"{it.rate / base.rate:.2f}x",
                f"{it.crowd.p99 * 1e3:.1f}",
            )
        )
    return Outcome(
        name="http",
        title=f"(c) Read over HTTP: 1 and {_MANY} kept connections",
        columns=("", "p50 ms at 1", "ratio", f"answers/s at {_MANY}", "ratio", f"p99 ms at {_MANY}"),
        rows=rows,
        targets=[
            Target(claim="latency at 1 / constant bytes", value=read.alone.p50 / null.alone.p50, bound=3.5),
            Target(
                claim=f"throughput at {_MANY} / constant bytes",
                value=read.rate / null.rate,
                bound=0.25,
                most=False,
            ),
        ],
        remarks=[
            f"{len(body):,} bytes an answer; client and server share this machine's cores",
            f"one multiplexed connection instead of the pool: {other.rate / read.rate:.2f}x the answers a "
            f"second, {other.alone.p50 / read.alone.p50:.2f}x the latency at 1 (prototype, in bench only)",
        ],
        details={
            name: {"alone": it.alone.to_json(), "crowd": it.crowd.to_json(), "perSecond": round(it.rate, 1)}
            for name, it in found.items()
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
def _server(product: Product, body: bytes, reader: str) -> Iterator[int]:
    port = ports.free("127.0.0.1")
    constant = product.folder / "constant.json"
    constant.write_bytes(body)
    command = (sys.executable, "-m", "bench.server", str(port), str(constant), reader)
    serves = Address(host="127.0.0.1", port=port).ready
    with child(reader, command, product.shim_environment(), product.folder, serves):
        yield port


def _fetch(url: str, api_key: str) -> bytes:
    with urlopen(Request(url, headers={"Authorization": f"Bearer {api_key}"})) as answer:
        found: bytes = answer.read()
    return found
