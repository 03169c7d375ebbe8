"""Commands that move a whole memory out and in, as JSON Lines."""

import json
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, BinaryIO

import click
from rich.console import Console
from rich.progress import BarColumn, Progress, TaskID, TextColumn, TimeRemainingColumn

from foreword.cli import options
from foreword.client.lines import Lines
from foreword.errors import ValidationError

_CHUNK = 1 << 18


@click.command("export")
@options.memory_ref
@click.option(
    "-o",
    "--output",
    "target",
    metavar="FILE",
    type=click.Path(dir_okay=False, path_type=Path),
    help="Where to; default: stdout. The file appears only when it is whole.",
)
@options.url
def export(memory_ref: str, target: Path | None, url: str | None) -> None:
    """Write a memory as JSON Lines, oldest first.

    \b
    Examples
      foreword export -r agent/7 > agent-7.jsonl
      foreword export -r agent/7 -o agent-7.jsonl
    """
    with options.client(url) as client:
        if target is None:
            out = sys.stdout.buffer
            for item in client.export(memory_ref):
                out.write(_line(item))
            out.flush()
            return
        part = target.with_name(f".{target.name}.part")
        try:
            with part.open("wb") as file, _progress(None) as (bar, task):
                for item in client.export(memory_ref):
                    file.write(_line(item))
                    bar.advance(task)
            part.replace(target)
        except OSError as error:
            raise ValidationError.of("output", "cannot be written") from error
        finally:
            part.unlink(missing_ok=True)


@click.command("import")
@click.argument("source", metavar="FILE", type=click.File("rb"))
@click.option(
    "-r", "--memory-ref", metavar="REF", help="Into this memory, instead of the one each line names."
)
@options.url
def import_(source: BinaryIO, memory_ref: str | None, url: str | None) -> None:
    """Take in what 'export' wrote, with its ids, order and times; '-' reads stdin. Needs scope admin.

    Lines that are there already are left as they are, so that a stopped import can be repeated.

    \b
    Examples
      foreword import agent-7.jsonl
      foreword export -r agent/7 | foreword import -r agent/8 -
    """
    with options.client(url) as client, _progress(_size(source)) as (bar, task):
        taken = client.import_(_objects(source, bar, task), memory_ref=memory_ref)
    click.echo(f"accepted {taken.accepted}")


def _objects(source: BinaryIO, bar: Progress, task: TaskID) -> Iterator[dict[str, Any]]:
    lines = Lines(lambda reason: ValidationError([], reason))
    while chunk := source.read(_CHUNK):
        yield from lines.feed(chunk)
        bar.advance(task, len(chunk))
    yield from lines.finish()


def _line(item: dict[str, Any]) -> bytes:
    return json.dumps(item, ensure_ascii=False, separators=(",", ":")).encode() + b"\n"


def _size(source: BinaryIO) -> int | None:
    """Bytes in a file; None for a pipe."""
    try:
        start = source.tell()
        end = source.seek(0, 2)
        source.seek(start)
    except OSError:
        return None
    return end - start


@contextmanager
def _progress(total: int | None) -> Iterator[tuple[Progress, TaskID]]:
    """A bar on stderr, shown only to a person."""
    console = Console(stderr=True)
    columns = (BarColumn(), TextColumn("{task.completed:,.0f}"), TimeRemainingColumn())
    with Progress(*columns, console=console, disable=not console.is_terminal, transient=True) as bar:
        yield bar, bar.add_task("", total=total)


COMMANDS = (export, import_)
