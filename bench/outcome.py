"""Outcome: what a bench found, as a table for people and as JSON for machines."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from rich.console import Console
from rich.table import Table

from bench.measure import Noise

RESULTS = Path(__file__).parent / "results"


@dataclass(frozen=True, kw_only=True)
class Target:
    """A claim with its number and its unit. ``most``: at most so much; else at least so much."""

    claim: str
    value: float
    bound: float
    most: bool = True
    unit: str = "x"

    @property
    def met(self) -> bool:
        """Whether the claim holds."""
        return self.value <= self.bound if self.most else self.value >= self.bound

    def __str__(self) -> str:
        sign = "<=" if self.most else ">="
        digits = 2 if self.unit == "x" else 3
        return f"{self.claim}: {self.value:.{digits}f}{self.unit} (target {sign} {self.bound:g}{self.unit})"


@dataclass(frozen=True, kw_only=True)
class Outcome:
    """One bench's result. ``details`` go to the file only."""

    name: str
    title: str
    columns: Sequence[str]
    rows: Sequence[Sequence[str]]
    targets: Sequence[Target] = ()
    remarks: Sequence[str] = ()
    details: Mapping[str, object] = field(default_factory=dict)


def show(console: Console, outcome: Outcome, before: Noise, after: Noise) -> None:
    """Prints the table, what it says of the targets, and how noisy the machine was."""
    table = Table(title=outcome.title, title_justify="left", title_style="bold", header_style="dim")
    for index, name in enumerate(outcome.columns):
        table.add_column(name, justify="left" if index == 0 else "right")
    for row in outcome.rows:
        table.add_row(*row)
    console.print(table)
    for target in outcome.targets:
        verdict = "[green]met[/]   " if target.met else "[red]missed[/]"
        console.print(f"  {verdict} {target}", highlight=False)
    for remark in outcome.remarks:
        console.print(f"  {remark}", style="dim", highlight=False)
    console.print(f"  noise before: {before}; after: {after}\n", style="dim", highlight=False)


def save(outcome: Outcome, before: Noise, after: Noise) -> Path:
    """Writes ``results/<name>.json``."""
    RESULTS.mkdir(exist_ok=True)
    path = RESULTS / f"{outcome.name}.json"
    kept = {
        "bench": outcome.name,
        "title": outcome.title,
        "columns": list(outcome.columns),
        "rows": [list(row) for row in outcome.rows],
        "targets": [
            {"claim": t.claim, "value": round(t.value, 4), "bound": t.bound, "most": t.most, "met": t.met}
            for t in outcome.targets
        ],
        "remarks": list(outcome.remarks),
        "details": outcome.details,
        "noise": {"before": vars(before), "after": vars(after)},
    }
    path.write_text(json.dumps(kept, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
    return path
