"""Commands that ask a memory a question: search, recall."""

import json
import sys
from typing import Any

import click

from foreword.cli import options, output
from foreword.cli.reading import show_page, summary


@click.command()
@click.argument("query", required=False)
@options.memory_ref
@click.option(
    "--mode", type=click.Choice(["hybrid", "semantic", "lexical", "filter"]), help="How; default: hybrid."
)
@click.option("--filter", "conditions", metavar="JSON", help="Only entries that meet these conditions.")
@click.option("--top-k", type=int, metavar="N", help="At most this many entries; default: 10.")
@click.option("--min-similarity", type=float, metavar="X", help="From -1 to 1; for what is found by meaning.")
@click.option("--token-budget", type=int, metavar="N", help="At most this many tokens of content.")
@click.option("--token-counter", metavar="NAME", help="o200k_base, cl100k_base, chars or host-defined.")
@click.option("--fit", type=click.Choice(["prefix", "strict", "pack"]), help="When one does not fit.")
@click.option("--fields", type=click.Choice(["all"]), help="Show kind, costs and the rest too.")
@options.url
@options.as_json
def search(
    query: str | None, memory_ref: str, conditions: str | None, url: str | None, as_json: bool, **chosen: Any
) -> None:
    """What bears on a question, best first.

    \b
    Examples
      foreword search -r agent/7 "When do we deploy?"
      foreword search -r agent/7 "When do we deploy?" --mode semantic --token-budget 800 --json
      foreword search -r agent/7 --mode filter --filter '{"tags": "billing", "confidence": {"gte": 0.5}}'
    """
    asked = {name: value for name, value in chosen.items() if value is not None}
    if conditions is not None:
        asked["filter"] = _object(conditions)
    with options.client(url) as client:
        page = client.search(memory_ref, query, **asked)
    show_page(page, as_json=as_json)


@click.command()
@click.argument("query", metavar="PROMPT")
@click.option(
    *("-r", "--memory-ref", "memory_refs"),
    required=True,
    multiple=True,
    metavar="REF",
    envvar="FOREWORD_MEMORY_REF",
    help="Which memory; given again, they share the budget.",
)
@click.option("--token-budget", type=int, metavar="N", help="What the block may cost; default: 1024.")
@click.option("--token-counter", metavar="NAME", help="o200k_base, cl100k_base, chars or host-defined.")
@click.option("--top-k", type=int, metavar="N", help="At most this many entries; default: 10.")
@click.option("--min-similarity", type=float, metavar="X", help="From -1 to 1; default: 0.3.")
@click.option("--format", metavar="NAME", help="markdown-prompt, xml or json; default: markdown-prompt.")
@click.option("--exclude", multiple=True, metavar="ID", help="Not this entry; may be given again.")
@click.option("--session", metavar="TOKEN", help="Nothing that the recall with this token has sent.")
@options.url
@options.as_json
def recall(query: str, memory_refs: tuple[str, ...], url: str | None, as_json: bool, **chosen: Any) -> None:
    """A block for a prompt of what bears on it: the block alone, or all about it with --json.

    Empty when nothing bears on it or fits; stderr says why.

    \b
    Examples
      foreword recall -r agent/7 "When do we deploy?"
      foreword recall -r agent/7 "When do we deploy?" --token-budget 1024 --format markdown-prompt
      foreword recall -r agent/7 -r team/ops "When do we deploy?" --json
    """
    from foreword.client import answers

    asked = {name: value for name, value in chosen.items() if value not in (None, ())}
    refs = memory_refs[0] if len(memory_refs) == 1 else memory_refs
    with options.client(url) as client:
        found = client.recall(refs, query, **asked)
    if as_json:
        output.show_json(answers.to_wire(found))
        return
    click.echo(output.shown(found.text) if sys.stdout.isatty() else found.text, nl=False)
    output.note(summary(found.budget))


def _object(text: str) -> dict[str, Any]:
    try:
        value = json.loads(text)
    except ValueError as error:
        raise click.BadParameter("is not JSON.", param_hint="--filter") from error
    if not isinstance(value, dict):
        raise click.BadParameter("is not a JSON object.", param_hint="--filter")
    return value


COMMANDS = (search, recall)
