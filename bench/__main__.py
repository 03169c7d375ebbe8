"""``python -m bench [NAME ...]``: measures, prints tables, writes ``bench/results/*.json``.

``python -m bench relevance --dataset FILE`` measures evidence recall on conversations of your own, in
LoCoMo's shape (see README.md); ``relevance --latency`` is relevance_latency.
"""

import argparse
import sys
import time
from collections.abc import Callable
from importlib import import_module
from pathlib import Path

from rich.console import Console

from bench.measure import noise
from bench.outcome import Outcome, save, show
from bench.product import Product, running_product, temporary_folder

BENCHES = {
    "recency": "(a) a read in process against a raw GET",
    "flatness": "(b) the same at 1,000 to 1,000,000 entries, and behind 10,000 oversize ones",
    "http": "(c) a read over HTTP against the same server answering constant bytes",
    "naive": "(d) against reading rows and counting tokens at read time",
    "isolation": "a foreign ref against an unknown one, by the clock of who may see neither",
    "writing": "(e) accepted to visible, and entries a second",
    "redaction": "what is hidden, what is changed, and how long a KiB takes",
    "relevance": "evidence within a budget by every way to search, and what each ingredient is worth",
    "relevance_latency": "a relevance read against embedding and a bare pgvector statement",
}


def main(argv: list[str] | None = None) -> int:
    """Runs the benches named, or all; 0 unless one could not run. A missed target is shown, not an error."""
    listed = "\n".join(f"  {name:10} {what}" for name, what in BENCHES.items())
    parser = argparse.ArgumentParser(
        prog="python -m bench",
        description=f"{__doc__}\n\n{listed}",
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument(
        "names", nargs="*", choices=[*BENCHES, []], metavar="NAME", help="all if none is named"
    )
    parser.add_argument(
        "--dataset", type=Path, metavar="FILE", help="of relevance: conversations to measure on"
    )
    parser.add_argument("--latency", action="store_true", help="of relevance: how long it takes instead")
    given = parser.parse_args(argv)
    names = given.names or list(BENCHES)
    if (given.dataset or given.latency) and names != ["relevance"]:
        parser.error("--dataset and --latency belong to relevance")
    if given.latency:
        names = ["relevance_latency"]
    console = Console(width=None if sys.stdout.isatty() else 110)
    met = missed = 0
    for name in names:
        bench = _bench(name, given.dataset)
        started = time.monotonic()
        with temporary_folder() as folder, running_product(folder) as product:
            before = noise()
            found = bench(product)
            after = noise()
        for outcome in (found,) if isinstance(found, Outcome) else found:
            show(console, outcome, before, after)
            path = save(outcome, before, after)
            met += sum(target.met for target in outcome.targets)
            missed += sum(not target.met for target in outcome.targets)
        console.print(f"  {path}, {time.monotonic() - started:.0f} s\n", style="dim", highlight=False)
    console.print(f"{met} targets met, {missed} missed", highlight=False)
    return 0


def _bench(name: str, dataset: Path | None) -> Callable[[Product], Outcome | tuple[Outcome, ...]]:
    module = import_module(f"bench.{name}")
    if dataset is not None:
        return lambda product: module.of_conversations(product, dataset)
    bench: Callable[[Product], Outcome | tuple[Outcome, ...]] = module.bench
    return bench


if __name__ == "__main__":
    raise SystemExit(main())
