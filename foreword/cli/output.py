"""What commands print: tables for people, JSON for programs, never control codes out of stored text."""

import json
import re
import sys
from collections.abc import Iterable, Sequence
from typing import Any

import click
from rich.console import Console
from rich.table import Table
from rich.text import Text

_CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f]")
_CONTROL_IN_JSON = re.compile(r"[\x7f-\x9f]")
_WIDE = 10_000


def show_json(value: Any) -> None:
    """One JSON value on one line."""
    text = json.dumps(value, ensure_ascii=False)
    click.echo(_CONTROL_IN_JSON.sub(lambda found: f"\\u{ord(found[0]):04x}", text))


def show_table(columns: Sequence[str], rows: Iterable[Sequence[object]]) -> None:
    """Rows under their column names; folded to the terminal's width, whole when piped."""
    terminal = sys.stdout.isatty()
    table = Table(box=None, pad_edge=False, header_style="bold", show_header=any(columns))
    for index, name in enumerate(columns):
        last = index == len(columns) - 1
        table.add_column(
            name, no_wrap=not (terminal and last), overflow="fold" if terminal and last else "ignore"
        )
    for row in rows:
        table.add_row(*(Text(shown("" if cell is None else str(cell))) for cell in row))
    # with a height too: rich takes any dumb terminal for 80 columns unless it is told both
    console = Console() if terminal else Console(width=_WIDE, height=25)
    with console.capture() as printed:
        console.print(table)
    for line in printed.get().rstrip("\n").split("\n"):
        click.echo(line.rstrip())


def shown(text: str) -> str:
    """Text as it may be shown in a terminal: control codes as ``\\x1b`` and their kind."""
    return _CONTROL.sub(lambda found: f"\\x{ord(found[0]):02x}", text)


def note(text: str) -> None:
    """A remark beside the result, on stderr."""
    click.echo(text, err=True)
