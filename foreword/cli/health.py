"""``foreword doctor``: is everything as it should be, and what mends what is not."""

import dataclasses
import sys
from pathlib import Path

import click

from foreword.cli import options, output

_MARKS = {"ok": ("ok", "green"), "warning": ("warning", "yellow"), "problem": ("PROBLEM", "red")}


@click.command()
@options.data_dir
@options.database_url
@options.as_json
def doctor(data_dir: Path, database_url: str | None, as_json: bool) -> None:
    """Examine this machine, the running parts and what is stored; exits 1 when there is a problem.

    Changes nothing. Each finding names what mends it.

    \b
    Examples
      foreword doctor
      foreword doctor --json
    """
    from foreword.doctor import Place, examine

    place = Place.of(data_dir, database_url)
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


COMMANDS = (doctor,)
