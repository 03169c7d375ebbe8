"""The sift: what a head holds where large rows would fill it.

A head of a few large rows answers hardly any read: the usual budget passes over them, and all that would fit
lies behind. Such a head holds the newest rows that are not large, and of the large ones between them only
their number and their least costs, which is all that a report says of them.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final

from foreword.counters import COUNTERS
from foreword.head import Row, Run, Summary

LARGE: Final = 1024
"""Tokens of the first counter, as many as the usual budget: a row of more is large."""
MOST_ROWS: Final = 96
"""Rows a sifted head holds at most."""
MOST_LOOKED_AT: Final = 20_000
"""Newest rows among which these are looked for."""

LEAST: Final = ", ".join(f"coalesce(min(coalesce(costs[{i + 1}], 0)), 0)" for i in range(len(COUNTERS)))
"""The least costs of a group of rows, by counter; 0 where a row has none yet: no read relies on it."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Sifted:
    """The rows a head holds, newest first, and the runs of large ones between them."""

    rows: Sequence[Row]
    runs: Sequence[Run]


def wanted(newest: Sequence[Row], summary: Summary, *, large: int, room: int) -> bool:
    """Whether a head of ``room`` bytes has large rows, and too few small ones to fill the usual budget."""
    tokens, any_large = 0, False
    for row in newest:
        room -= len(row.fragment) + 1
        if row.costs[0] > large:
            any_large = True
        elif room >= 0:
            tokens += row.costs[0]
        if room < 0:
            return any_large and tokens <= large
    return any_large and tokens <= large and len(newest) < summary.total


def sifted(found: Sequence[tuple[dict[str, Any], Row | None]], summary: Summary) -> Sifted | None:
    """From the rows of the query ``sifted``; None where they say no more than a head of the newest rows."""
    rows: list[Row] = []
    runs: list[Run] = []
    for gap, row in found:
        if gap["number"]:
            runs.append(Run(len(rows), gap["number"], gap["oldest"], tuple(gap["least"])))
        if row is not None:
            rows.append(row)
    whole = len(rows) + sum(run.number for run in runs) == summary.total
    return Sifted(rows=rows, runs=runs) if rows or whole else None
