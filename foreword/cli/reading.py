"""Commands that read one memory: list, get, stats, events."""

import json
import textwrap
from datetime import datetime
from typing import TYPE_CHECKING, Any

import click

from foreword.cli import options, output

if TYPE_CHECKING:
    from foreword.client import Entry, Page, Report


@click.command("list")
@options.memory_ref
@click.option("--token-budget", type=int, metavar="N", help="At most this many tokens of content.")
@click.option("--token-counter", metavar="NAME", help="o200k_base, cl100k_base, chars or host-defined.")
@click.option("--limit", type=int, metavar="N", help="At most this many entries.")
@click.option("--fit", type=click.Choice(["prefix", "strict", "pack"]), help="When one does not fit.")
@click.option("--tag", metavar="TAG", help="Only entries with this tag.")
@click.option("--kind", metavar="KIND", help="Only entries of this kind.")
@click.option("--rank", type=click.Choice(["recency", "relevance"]), help="Newest first, or best first.")
@click.option("--query", metavar="TEXT", help="What is asked, for --rank relevance.")
@click.option("--min-similarity", type=float, metavar="X", help="From -1 to 1, for --rank relevance.")
@click.option("--cursor", metavar="TOKEN", help="Go on where a page ended.")
@click.option("--after", metavar="POSITION", help="Wait until the write of this receipt is there.")
@click.option("--fields", type=click.Choice(["all"]), help="Show kind, costs and the rest too.")
@options.url
@options.as_json
def list_entries(memory_ref: str, url: str | None, as_json: bool, **chosen: Any) -> None:
    """The newest entries that fit, newest first; or the most similar, best first.

    \b
    Examples
      foreword list -r agent/7
      foreword list -r agent/7 --token-budget 800 --json
      foreword list -r agent/7 --token-budget 4000 --token-counter cl100k_base --fit pack
      foreword list -r agent/7 --rank relevance --query "When do we deploy?" --token-budget 800
    """
    with options.client(url) as client:
        page = client.list(memory_ref, **{name: v for name, v in chosen.items() if v is not None})
    show_page(page, as_json=as_json)


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


def show_page(page: "Page", *, as_json: bool) -> None:
    """Entries with what is known of them, and beside them what was spent and left out."""
    if as_json:
        from foreword.client import answers

        output.show_json(answers.to_wire(page))
        return
    for entry in page:
        scores = (f"{name} {value:.3f}" for name, value in _scores(entry))
        about = "  ".join((_when(entry.created_at), entry.id, *scores, *(f"#{tag}" for tag in entry.tags)))
        click.echo(click.style(output.shown(about), dim=True))
        click.echo(textwrap.indent(output.shown(entry.content), "  "))
    if page.budget is not None:
        output.note(summary(page.budget))
    if page.next_cursor is not None:
        output.note(f"more: --cursor {page.next_cursor}")


def _scores(entry: "Entry") -> list[tuple[str, float]]:
    given = (("score", entry.score), ("similarity", entry.similarity))
    return [(name, value) for name, value in given if value is not None]


def _cell(value: object) -> str:
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


def _when(moment: datetime) -> str:
    return moment.strftime("%Y-%m-%d %H:%M:%S")


def summary(report: "Report") -> str:
    """A report in one line."""
    left_out = {name: n for name, n in vars(report.omitted).items() if n}
    spent = f"{report.returned} entries, {report.used} {report.counter}"
    if report.token_budget is not None:
        spent += f" of {report.token_budget}"
    if left_out:
        spent += "; left out: " + ", ".join(f"{n} by {name}" for name, n in left_out.items())
    if report.legs:
        spent += "; searched: " + ", ".join(report.legs)
    return spent


COMMANDS = (list_entries, get, stats, events)
