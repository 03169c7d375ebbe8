"""(e) How soon an accepted write can be read, and entries a second end to end.

End to end is everything from the request to the answer of a read that waits for the last of them; beside it
stands the tokenizing of the same texts alone, in one process, which no writer that counts can beat.
"""

import time
from statistics import median

from bench.corpus import turns
from bench.outcome import Outcome
from bench.product import Product
from foreword.client import Client
from foreword.counters import counter

_WRITES = 60
_PAUSE = 0.05
_RUNS = 3
_RUN = 3000
_BATCH = 250


def bench(product: Product) -> Outcome:
    """The outcome."""
    with Client(product.url, product.api_key) as client:
        accepted, visible = _latencies(client)
        rates = _rates(client)
    alone = _tokenizing()
    best = max(rates)
    return Outcome(
        name="writing",
        title="(e) Writing: accepted, visible, entries a second",
        columns=("", "p50", "best", "worst"),
        rows=[
            ("write accepted (202 after commit), ms", *_ms(accepted)),
            ("written to visible, idle, ms", *_ms(visible)),
            (
                "entries/s end to end, one worker",
                f"{median(rates):,.0f}",
                f"{best:,.0f}",
                f"{min(rates):,.0f}",
            ),
            (
                "texts/s, tokenizing alone",
                f"{median(alone):,.0f}",
                f"{max(alone):,.0f}",
                f"{min(alone):,.0f}",
            ),
        ],
        remarks=[
            f"end to end reaches {best / max(alone):.2f}x of tokenizing alone (both encodings, content only; "
            "a write also counts the rendered row, seals, redacts, commits and builds the hot view)",
            "visible: the write's own position given to a read, which waits for it",
        ],
        details={
            "acceptedMs": [round(value * 1e3, 3) for value in accepted],
            "visibleMs": [round(value * 1e3, 3) for value in visible],
            "entriesPerSecond": [round(rate, 1) for rate in rates],
            "textsPerSecondTokenizing": [round(rate, 1) for rate in alone],
        },
    )


def _latencies(client: Client) -> tuple[list[float], list[float]]:
    """Seconds from sending one write to its receipt, and to the answer that holds it."""
    accepted, visible = [], []
    for number, text in enumerate(turns(_WRITES + 5)):
        time.sleep(_PAUSE)
        started = time.perf_counter()
        receipt = client.remember("bench:idle", text)
        received = time.perf_counter()
        page = client.list("bench:idle", after=receipt.position or "", limit=1)
        read = time.perf_counter()
        if page.entries[0].id != receipt.id:
            raise AssertionError("a read after a write did not return it")
        if number >= 5:
            accepted.append(received - started)
            visible.append(read - started)
    return accepted, visible


def _rates(client: Client) -> list[float]:
    """Entries a second, a run at a time: batches follow each other, so that accepting and filing overlap."""
    texts = turns(_RUN)
    rates = []
    for number in range(_RUNS):
        memory_ref, position = f"bench:run:{number}", ""
        started = time.perf_counter()
        for start in range(0, _RUN, _BATCH):
            position = client.remember_many(memory_ref, texts[start : start + _BATCH])[-1].position or ""
        while client.stats(memory_ref).pending:
            time.sleep(0.02)
        client.list(memory_ref, after=position, limit=1)
        rates.append(_RUN / (time.perf_counter() - started))
    return rates


def _tokenizing() -> list[float]:
    texts = turns(_RUN)
    counters = [counter("o200k_base"), counter("cl100k_base")]
    rates = []
    for _ in range(5):
        started = time.perf_counter()
        for each in counters:
            each.count_batch(texts)
        rates.append(len(texts) / (time.perf_counter() - started))
    return rates


def _ms(seconds: list[float]) -> tuple[str, str, str]:
    return (f"{median(seconds) * 1e3:.1f}", f"{min(seconds) * 1e3:.1f}", f"{max(seconds) * 1e3:.1f}")
