"""What the demo shows: headings, tables, a histogram. No measuring, no calls."""

import re
from collections.abc import Sequence

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn
from rich.table import Table
from rich.text import Text

from bench.measure import percentile
from foreword.client.answers import Entry, Page

_CONTROL = re.compile(r"[\x00-\x1f\x7f-\x9f\u200e\u200f\u202a-\u202e\u2066-\u2069]+")
_MARKER = re.compile(r"\[REDACTED:[^\]]*\]")
_BARS = " ▁▂▃▄▅▆▇█"
_BUCKETS = 48

COUNTS = {
    "o200k_base": "tokens, GPT-4o and later",
    "cl100k_base": "tokens, GPT-4, GPT-3.5",
    "chars": "characters",
    "host-defined": "a guess, characters / 4",
}


class Screen:
    """A console for a person; plain text where it is piped."""

    def __init__(self, console: Console) -> None:
        self.console = console

    def step(self, number: int, title: str, told: str) -> None:
        """A numbered heading and a sentence or two."""
        self.console.print(f"\n[bold cyan]{number}. {title}[/]", highlight=False)
        self.console.print(told, style="dim", highlight=False)

    def say(self, text: str) -> None:
        """A result in a line."""
        self.console.print(f"[green]✓[/] {text}", highlight=False)

    def progress(self) -> Progress:
        """Bars with counts and times."""
        return Progress(
            TextColumn("  {task.description:<22}"),
            BarColumn(bar_width=40),
            MofNCompleteColumn(),
            TimeElapsedColumn(),
            console=self.console,
        )

    def budgets(self, pages: Sequence[Page]) -> None:
        """One row a counter: what was kept, and why the rest was not."""
        table = Table(header_style="bold", box=None, pad_edge=False)
        for name in ("counted in", "which are"):
            table.add_column(name)
        for name in ("kept", "used", "in o200k tokens", "left out: too large", "left out: no room"):
            table.add_column(name, justify="right")
        for page in pages:
            report = page.budget
            if report is not None:
                tokens = sum((entry.costs or {}).get("o200k_base", 0) for entry in page.entries)
                numbers = (report.returned, report.used, tokens)
                omitted = (report.omitted.oversize, report.omitted.budget)
                table.add_row(report.counter, COUNTS[report.counter], *(f"{n:,}" for n in numbers + omitted))
        self.console.print(table)

    def entries(self, entries: Sequence[Entry], counter: str) -> None:
        """One line an entry, with its cost."""
        table = Table(header_style="bold", box=None, pad_edge=False, expand=True)
        table.add_column("cost", justify="right", min_width=4)
        table.add_column("tags", min_width=11, max_width=11, no_wrap=True)
        table.add_column("text", no_wrap=True, overflow="ellipsis", ratio=1)
        for entry in entries:
            cost = (entry.costs or {}).get(counter, 0)
            table.add_row(str(cost), Text(", ".join(entry.tags)), shown(entry.content))
        self.console.print(table)

    def whole(self, entries: Sequence[Entry]) -> None:
        """Entries in full, what was hidden in them in red."""
        for entry in entries:
            self.console.print(Text("  "), shown(entry.content), sep="", highlight=False)

    def quote(self, text: str) -> None:
        """A text line by line, set in."""
        for line in text.splitlines():
            self.console.print(Text("  "), shown(line), sep="", highlight=False)

    def latencies(self, seconds: Sequence[float]) -> None:
        """A histogram from the fastest to the 99th percentile, and the numbers."""
        taken = tuple(seconds)
        low, p50, p99 = min(taken), percentile(taken, 50), percentile(taken, 99)
        width = max((p99 - low) / _BUCKETS, 1e-9)
        counts = [0] * _BUCKETS
        for value in taken:
            if value <= p99:
                counts[min(int((value - low) / width), _BUCKETS - 1)] += 1
        top = max(counts)
        bars = "".join(_BARS[-(-count * (len(_BARS) - 1) // top)] for count in counts)
        self.console.print(f"  {low * 1e3:.2f} ms [cyan]{bars}[/] {p99 * 1e3:.2f} ms", highlight=False)
        self.console.print(
            f"  half of the reads took at most [bold]{p50 * 1e3:.2f} ms[/] (p50), "
            f"99 of 100 at most [bold]{p99 * 1e3:.2f} ms[/] (p99)",
            highlight=False,
        )


def shown(text: str) -> Text:
    """Stored text as it may be printed: on one line, no control codes, markers in red."""
    line = Text(_CONTROL.sub(" ", text))
    line.highlight_regex(_MARKER, "bold red")
    return line
