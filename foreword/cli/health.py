"""``foreword doctor``: is everything as it should be, and what mends what is not."""

import contextlib
import dataclasses
import os
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import click
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn

from foreword import running
from foreword.cli import options, output
from foreword.cli.administration import ledger_errors
from foreword.errors import ConfigurationError

if TYPE_CHECKING:
    from foreword.doctor.isolation import Examination, Pair, Verdict

_MARKS = {"ok": ("ok", "green"), "warning": ("warning", "yellow"), "problem": ("PROBLEM", "red")}


@click.command()
@click.option("--isolation", is_flag=True, help="Ask every door whether it tells one tenant of another.")
@click.option(
    "--other-key",
    metavar="KEY",
    envvar="FOREWORD_OTHER_API_KEY",
    help="With --isolation: a key of a second tenant, the first being FOREWORD_API_KEY's. "
    "Default: two tenants made for this and removed.",
)
@options.url
@options.data_dir
@options.database_url
@options.as_json
def doctor(
    *,
    isolation: bool,
    other_key: str | None,
    url: str | None,
    data_dir: Path,
    database_url: str | None,
    as_json: bool,
) -> None:
    """Examine this machine, the running parts and what is stored; exits 1 when there is a problem.

    Changes nothing. Each finding names what mends it.

    With --isolation it stores as one tenant, asks as another through every door and mode of the running
    server, prints a table, and exits 1 when a door shows anything or answers a foreign name unlike an
    unknown one. What it stores it removes.

    \b
    Examples
      foreword doctor
      foreword doctor --json
      foreword doctor --isolation
      FOREWORD_API_KEY=... FOREWORD_OTHER_API_KEY=... foreword doctor --isolation --url https://memory.example
    """
    if isolation:
        _isolation(_served(url, data_dir), other_key, database_url, data_dir, as_json)
    from foreword.doctor import Place, examine

    place = Place.of(data_dir, database_url, url)
    found = []
    for finding in examine(place):
        found.append(finding)
        if not as_json:
            word, colour = _MARKS[finding.state]
            click.echo(
                f"{click.style(f'{word:<8}', fg=colour)} {finding.check}: {output.shown(finding.message)}"
            )
            if finding.mend:
                click.echo(f"{'':<8}   -> {finding.mend}")
    if as_json:
        output.show_json([dataclasses.asdict(finding) for finding in found])
    sys.exit(any(finding.state == "problem" for finding in found))


def _isolation(
    url: str, other_key: str | None, database_url: str | None, data_dir: Path, as_json: bool
) -> None:
    from foreword.doctor.isolation import Examination

    with _pair(other_key, database_url, data_dir) as pair:
        found = list(_told(Examination(url, pair)))
    bad = [verdict for verdict in found if not verdict.is_good]
    if as_json:
        output.show_json([dataclasses.asdict(verdict) for verdict in found])
    else:
        rows = [(verdict.door, verdict.state, verdict.detail) for verdict in found]
        output.show_table(("door", "verdict", ""), rows)
        output.note(f"{len(found)} doors, {len(bad)} that tell something or prove nothing.")
    sys.exit(bool(bad))


def _told(examination: "Examination") -> "Iterator[Verdict]":
    """Verdicts behind a bar that only a person sees."""
    console = Console(stderr=True)
    columns = (TextColumn("asking"), BarColumn(), MofNCompleteColumn(), TextColumn("{task.description}"))
    with Progress(*columns, console=console, disable=not console.is_terminal, transient=True) as bar:
        task = bar.add_task("", total=examination.doors)
        for verdict in examination.verdicts():
            bar.update(task, advance=1, description=verdict.door)
            yield verdict


@contextlib.contextmanager
def _pair(other_key: str | None, database_url: str | None, data_dir: Path) -> "Iterator[Pair]":
    from foreword.doctor.isolation import given_pair, throwaway_pair

    if other_key is None:
        with ledger_errors(), throwaway_pair(options.ledger(database_url, data_dir)) as pair:
            yield pair
        return
    here = running.find(data_dir)
    owner_key = os.environ.get("FOREWORD_API_KEY") or (here.api_key if here else None)
    if owner_key is None:
        raise ConfigurationError("Set FOREWORD_API_KEY to a key of the first tenant.")
    yield given_pair(owner_key, other_key)


def _served(url: str | None, data_dir: Path) -> str:
    here = running.find(data_dir)
    known = url or (here.url if here else None)
    if known is None:
        raise ConfigurationError("No server is known: pass --url, set FOREWORD_URL, or start 'foreword up'.")
    return known


COMMANDS = (doctor,)
