"""Commands that change one memory: remember, delete, forget, and how far a write has come."""

import json
import sys
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


COMMANDS = (remember, receipt, delete, forget)
