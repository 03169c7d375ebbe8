"""(b) The read of 1,024 tokens at 1,000, 100,000 and 1,000,000 entries, and behind 10,000 oversize ones.

Beside the read itself, which the hot view answers, stands what the ledger alone would take: the road of a
scope that is cold, or of a walk that leaves the window.
"""

from collections.abc import Callable

from api_shim.parts import Parts
from api_shim.sources.recent import recent
from bench.corpus import Filling, turns
from bench.measure import Call, Series, in_turns
from bench.outcome import Outcome, Target
from bench.product import Product
from bench.stage import budgeted, make_scope, reading, run
from foreword.instant import now_ms
from foreword.scope import Scope

_SIZES = (1_000, 100_000, 1_000_000)
_OVERSIZE = 10_000


def bench(product: Product) -> Outcome:
    """The outcome."""
    pool = turns(1000)
    scopes = {
        f"{size:,} entries": make_scope(product, f"bench:flat:{size}", [Filling(pool=pool, number=size)])
        for size in _SIZES
    }
    giants = [" ".join(pool[i : i + 40]) for i in range(20)]
    oversize = make_scope(
        product,
        "bench:oversize",
        [Filling(pool=pool, number=1000), Filling(pool=giants, number=_OVERSIZE)],
    )
    return run(_bench(product, scopes, oversize))


async def _bench(product: Product, scopes: dict[str, Scope], oversize: Scope) -> Outcome:
    async with reading(product) as parts, reading(product, remembers=False) as fresh:
        found = await in_turns(_each(scopes, fresh, _read), rounds=7, calls=600)
        ledger = await in_turns(_each(scopes, fresh, _from_ledger), rounds=3, calls=200)
        walked = (await in_turns({"": _from_ledger(fresh, oversize)}, rounds=5, calls=40))[""]
        behind = (await in_turns({"": _read(fresh, oversize)}, rounds=5, calls=40))[""]
        again = (await in_turns({"": _read(parts, oversize)}, rounds=7, calls=600))[""]
    medians = [series.p50 for series in found.values()]
    base, ledger_base = medians[0], next(iter(ledger.values())).p50
    label, repeated = f"1,000 behind {_OVERSIZE:,} oversize, first", "... the same read again"
    rows = [_row(name, series, base, ledger[name]) for name, series in found.items()]
    return Outcome(
        name="flatness",
        title="(b) The same read as the memory grows",
        columns=("", "read p50 ms", "p99 ms", "ratio", "ledger alone p50 ms"),
        rows=[
            *rows,
            _row(label, behind, base, walked),
            (*_row(repeated, again, base, again)[:-1], ""),
        ],
        targets=[
            Target(claim="slowest / fastest size", value=max(medians) / min(medians), bound=1.2),
            Target(claim="behind oversize, first / 1,000 entries", value=behind.p50 / base, bound=12),
            Target(claim="behind oversize, again / 1,000 entries", value=again.p50 / base, bound=12),
        ],
        remarks=[
            "every read of a size is a first one: nothing is remembered",
            "a head counts rows over 1,024 tokens that would fill it; the ledger must walk each of them: "
            f"{walked.p50 / ledger_base:.1f}x of what it takes at 1,000 entries",
        ],
        details={name: series.to_json() for name, series in {**found, label: behind, repeated: again}.items()}
        | {f"ledger, {name}": series.to_json() for name, series in {**ledger, label: walked}.items()},
    )


def _each(scopes: dict[str, Scope], parts: Parts, call: Callable[[Parts, Scope], Call]) -> dict[str, Call]:
    return {name: call(parts, scope) for name, scope in scopes.items()}


def _read(parts: Parts, scope: Scope) -> Call:
    options = budgeted(scope)
    return lambda: parts.reader.list(scope, options, reachable=True)


def _from_ledger(parts: Parts, scope: Scope) -> Call:
    ask = budgeted(scope).ask()
    return lambda: recent(parts.database, scope, ask, now_ms(), full=False)


def _row(name: str, series: Series, base: float, ledger: Series) -> tuple[str, ...]:
    read = (f"{series.p50 * 1e3:.3f}", f"{series.p99 * 1e3:.3f}", f"{series.p50 / base:.2f}x")
    return (name, *read, f"{ledger.p50 * 1e3:.2f}")
