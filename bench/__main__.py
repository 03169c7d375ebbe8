"""``python -m bench [NAME ...]``: measures, prints tables, writes ``bench/results/*.json``."""

import argparse
import sys
import time
from collections.abc import Callable
from importlib import import_module

from rich.console import Console

from bench.measure import noise
from bench.outcome import Outcome, save, show
from bench.product import Product, running_product, temporary_folder

BENCHES = {
    "recency": "(a) a read in process against a raw GET",
    "flatness": "(b) the same at 1,000 to 1,000,000 entries, and behind 10,000 oversize ones",
    "http": "(c) a read over HTTP against the same server answering constant bytes",
    "naive": "(d) against reading rows and counting tokens at read time",
    "writing": "(e) accepted to visible, and entries a second",
    "redaction": "what is hidden, what is changed, and how long a KiB takes",
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
    names = parser.parse_args(argv).names or list(BENCHES)
    console = Console(width=None if sys.stdout.isatty() else 110)
    met = missed = 0
    for name in names:
        bench: Callable[[Product], Outcome] = import_module(f"bench.{name}").bench
        started = time.monotonic()
        with temporary_folder() as folder, running_product(folder) as product:
            before = noise()
            outcome = bench(product)
            after = noise()
        show(console, outcome, before, after)
        path = save(outcome, before, after)
        console.print(f"  {path}, {time.monotonic() - started:.0f} s\n", style="dim", highlight=False)
        met += sum(target.met for target in outcome.targets)
        missed += sum(not target.met for target in outcome.targets)
    console.print(f"{met} targets met, {missed} missed", highlight=False)
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
