"""Commands on one memory: write, read, remove, ask."""

import json
import sys
from datetime import datetime
from typing import Any

import click

from foreword.cli import options, output
from foreword.errors import ValidationError


@click.command()
@click.argument("content", required=False)
@options.memory_ref
@click.option("--id", "entry_id", metavar="ID", help="Idempotency key; one is made when absent.")
@click.option("--tag", "tags", multiple=True, metavar="TAG", help="May be repeated.")
@click.option("--kind", metavar="KIND", help="axiom, core, preference, insight, event, fact, note, identity.")
@click.option("--confidence", type=float, metavar="0..1", help="How sure it is.")
@click.option("--pinned", is_flag=True, default=None, help="Keep it in front.")
@click.option("--metadata", metavar="JSON", help="A JSON object kept beside it.")
@click.option("--source", metavar="TEXT", help="Where it comes from.")
@click.option("--speaker", metavar="NAME", help="Who said it.")
@click.option("--conversation", metavar="NAME", help="Which consecutive entries belong together.")
@click.option("--observed-at", metavar="INSTANT", help="When it was said or seen (RFC 3339).")
@click.option("--expires-at", metavar="INSTANT", help="When it is to be gone (RFC 3339).")
@click.option("--link", "links", multiple=True, metavar="ID", help="A related entry; may be repeated.")
@click.option("--supersedes", multiple=True, metavar="ID", help="An entry it replaces; may be repeated.")
@click.option("--wait", type=click.FloatRange(0, 30), metavar="SECONDS", help="Wait until it can be read.")
@options.url
@options.as_json
def remember(
    *,
    content: str | None,
    memory_ref: str,
    url: str | None,
    as_json: bool,
    entry_id: str | None,
    wait: float | None,
    metadata: str | None,
    **fields: Any,
) -> None:
    """Write one thing to remember; its text comes from stdin when it is absent or '-'.

    \b
    Examples
      foreword remember -r agent/7 "The customer prefers mornings."
      foreword remember -r agent/7 --tag billing --wait 5 "Invoices go to Ada."
      git log -1 | foreword remember -r project/x --kind event
    """
    from foreword.client import answers

    text = _stdin() if content in (None, "-") else content
    draft = {name: value for name, value in fields.items() if value not in (None, ())}
    if metadata is not None:
        draft["metadata"] = _object(metadata)
    if entry_id is not None:
        draft["id"] = entry_id
    with options.client(url) as client:
        receipt = client.remember(memory_ref, text or "", wait=wait, **draft)
    if as_json:
        output.show_json(answers.to_wire(receipt))
    else:
        click.echo(f"{receipt.id} {receipt.status}")
    if receipt.status == "failed":
        output.note(f"foreword: {output.shown(receipt.reason or 'the Draft failed')}")
        sys.exit(1)


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
    rows = [(_when(e.created_at), e.id, ",".join(e.tags), e.content) for e in page]
    output.show_table(("created", "id", "tags", "content"), rows)
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
@click.argument("entry_ids", metavar="ID...", nargs=-1, required=True)
@options.memory_ref
@options.url
def delete(entry_ids: tuple[str, ...], memory_ref: str, url: str | None) -> None:
    """Remove entries, filed or not; once it is done no read has them.

    \b
    Examples
      foreword delete -r agent/7 0192f0c1-7d0e-7c4e-8a51-6f1c1f2f9f10
    """
    with options.client(url) as client:
        for entry_id in entry_ids:
            client.delete(memory_ref, entry_id)
            click.echo(f"removed {output.shown(entry_id)}")


@click.command()
@options.memory_ref
@click.option("--tag", metavar="TAG", help="Only entries with this tag.")
@click.option("--before", metavar="INSTANT", help="Only entries older than this (RFC 3339).")
@click.option("--yes", is_flag=True, help="Do not ask.")
@options.url
def forget(memory_ref: str, tag: str | None, before: str | None, yes: bool, url: str | None) -> None:
    """Remove a whole memory, or what of it has a tag or is old.

    \b
    Examples
      foreword forget -r agent/7 --before 2026-01-01T00:00:00Z
      foreword forget -r agent/7 --yes
    """
    part = "what is chosen" if tag or before else "everything"
    if not yes:
        click.confirm(f"Remove {part} in {output.shown(memory_ref)}?", abort=True, err=True)
    with options.client(url) as client:
        click.echo(f"removed {client.forget(memory_ref, tag=tag, before=before)}")


@click.command()
@click.argument("entry_id", metavar="ID")
@options.memory_ref
@options.url
@options.as_json
def receipt(entry_id: str, memory_ref: str, url: str | None, as_json: bool) -> None:
    """How far a write has come: accepted, filed or failed.

    \b
    Examples
      foreword receipt -r agent/7 0192f0c1-7d0e-7c4e-8a51-6f1c1f2f9f10
    """
    from foreword.client import answers

    with options.client(url) as client:
        found = client.receipt(memory_ref, entry_id)
    if as_json:
        output.show_json(answers.to_wire(found))
    else:
        click.echo(found.status if found.reason is None else f"{found.status}: {output.shown(found.reason)}")


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
@click.option("--after", metavar="CURSOR", help="Only what happened after this event.")
@options.url
@options.as_json
def events(memory_ref: str, after: str | None, url: str | None, as_json: bool) -> None:
    """What happened in a memory, oldest first: ids only, no content.

    \b
    Examples
      foreword events -r agent/7
      foreword events -r agent/7 --after 1042 --json
    """
    from foreword.client import answers

    with options.client(url) as client:
        found = client.events(memory_ref, after)
    if as_json:
        output.show_json([answers.to_wire(event) for event in found])
    else:
        rows = [(_when(e.at), e.cursor, e.type, " ".join(e.ids)) for e in found]
        output.show_table(("at", "cursor", "type", "ids"), rows)


def _stdin() -> str:
    try:
        return sys.stdin.buffer.read().decode("utf-8").removesuffix("\n")
    except UnicodeDecodeError as error:
        raise ValidationError.of("content", "must be UTF-8") from error


def _object(text: str) -> dict[str, Any]:
    try:
        value = json.loads(text)
    except ValueError as error:
        raise ValidationError.of("metadata", "must be JSON") from error
    if not isinstance(value, dict):
        raise ValidationError.of("metadata", "must be a JSON object")
    return value


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


COMMANDS = (remember, list_entries, get, delete, forget, receipt, stats, events)
