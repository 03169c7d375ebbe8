"""Commands that read one memory: list, get, stats, events."""

import json
import textwrap
from datetime import datetime
from typing import Any

import click

from foreword.cli import options, output


@click.command("list")
@options.memory_ref
@click.option("--token-budget", type=int, metavar="N", help="At most this many tokens of content.")
@click.option("--token-counter", metavar="NAME", help="o200k_base, cl100k_base, chars or host-defined.")
@click.option("--limit", type=int, metavar="N", help="At most this many entries.")
@click.option("--fit", type=click.Choice(["prefix", "strict", "pack"]), help="When one does not fit.")
@click.option("--tag", metavar="TAG", help="Only entries with this tag.")
@click.option("--kind", metavar="KIND", help="Only entries of this kind.")
@click.option("--cursor", metavar="TOKEN", help="Go on where a page ended.")
@click.option("--after", metavar="POSITION", help="Wait until the write of this receipt is there.")
@click.option("--fields", type=click.Choice(["all"]), help="Show kind, costs and the rest too.")
@options.url
@options.as_json
def list_entries(memory_ref: str, url: str | None, as_json: bool, **chosen: Any) -> None:
    """The newest entries that fit, newest first.

    \b
    Examples
      foreword list -r agent/7
      foreword list -r agent/7 --token-budget 800 --json
      foreword list -r agent/7 --token-budget 4000 --token-counter cl100k_base --fit pack
    """
    from foreword.client import answers

    with options.client(url) as client:
        page = client.list(memory_ref, **{name: v for name, v in chosen.items() if v is not None})
    if as_json:
        output.show_json(answers.to_wire(page))
        return
    for entry in page:
        about = "  ".join((_when(entry.created_at), entry.id, *(f"#{tag}" for tag in entry.tags)))
        click.echo(click.style(output.shown(about), dim=True))
        click.echo(textwrap.indent(output.shown(entry.content), "  "))
    if page.budget is not None:
        output.note(_summary(page.budget))
    if page.next_cursor is not None:
        output.note(f"more: --cursor {page.next_cursor}")


@click.command()
@click.argument("entry_id", metavar="ID")
@options.memory_ref
@options.url
@options.as_json
def get(entry_id: str, memory_ref: str, url: str | None, as_json: bool) -> None:
    """Show one entry with everything known of it.

    \b
    Examples
      foreword get -r agent/7 0192f0c1-7d0e-7c4e-8a51-6f1c1f2f9f10
    """
    from foreword.client import answers

    with options.client(url) as client:
        entry = answers.to_wire(client.get(memory_ref, entry_id, fields="all"))
    if as_json:
        output.show_json(entry)
        return
    content = entry.pop("content")
    output.show_table(("", ""), [(name, _cell(value)) for name, value in entry.items()])
    click.echo()
    click.echo(output.shown(content))


@click.command()
@options.memory_ref
@options.url
@options.as_json
def stats(memory_ref: str, url: str | None, as_json: bool) -> None:
    """What a memory holds and costs.

    \b
    Examples
      foreword stats -r agent/7 --json
    """
    from foreword.client import answers

    with options.client(url) as client:
        numbers = answers.to_wire(client.stats(memory_ref))
    if as_json:
        output.show_json(numbers)
    else:
        output.show_table(("", ""), [(name, _cell(value)) for name, value in numbers.items()])


@click.command()
@options.memory_ref
@click.option("--after", metavar="TOKEN", help="Go on behind an earlier answer.")
@click.option("--limit", type=click.IntRange(1, 1000), metavar="N", help="At most this many commits.")
@options.url
@options.as_json
def events(memory_ref: str, after: str | None, limit: int | None, url: str | None, as_json: bool) -> None:
    """What happened in a memory, oldest first: ids only, no content.

    \b
    Examples
      foreword events -r agent/7
      foreword events -r agent/7 --after 1042 --json
    """
    from foreword.client import answers

    with options.client(url) as client:
        found = client.events(memory_ref, after, limit=limit)
    if as_json:
        output.show_json(answers.to_wire(found))
        return
    output.show_table(("at", "type", "id"), [(_when(e.at), e.type, e.memory_id) for e in found])
    output.note(f"more: --after {found.after}")


def _cell(value: object) -> str:
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


def _when(moment: datetime) -> str:
    return moment.strftime("%Y-%m-%d %H:%M:%S")


def _summary(report: Any) -> str:
    left_out = {name: n for name, n in vars(report.omitted).items() if n}
    spent = f"{report.returned} entries, {report.used} {report.counter}"
    if report.token_budget is not None:
        spent += f" of {report.token_budget}"
    if left_out:
        spent += "; left out: " + ", ".join(f"{n} by {name}" for name, n in left_out.items())
    return spent


COMMANDS = (list_entries, get, stats, events)
