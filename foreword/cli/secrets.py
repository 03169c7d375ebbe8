"""Commands for registered secrets. A value comes from stdin or a hidden prompt, never from an argument."""

import sys

import click

from foreword.cli import options, output
from foreword.errors import ValidationError


@click.group()
def secrets() -> None:
    """Values to redact wherever they appear."""


@secrets.command("set")
@click.argument("secret_id", metavar="ID")
@options.url
def set_secret(secret_id: str, url: str | None) -> None:
    """Register a value, read from stdin or asked for; sweeps what is already filed.

    \b
    Examples
      foreword secrets set billing-token
      pass show billing | foreword secrets set billing-token
    """
    value = str(click.prompt("Value", hide_input=True, err=True)) if sys.stdin.isatty() else _piped()
    with options.client(url) as client:
        job_id = client.set_secret(secret_id, value)
    click.echo(f"registered {output.shown(secret_id)}")
    if job_id is not None:
        output.note(f"what is already filed is being swept: job {job_id}")


@secrets.command("list")
@options.url
@options.as_json
def list_secrets(url: str | None, as_json: bool) -> None:
    """List the ids of registered secrets; values never come back.

    \b
    Examples
      foreword secrets list --json
    """
    with options.client(url) as client:
        found = client.secrets()
    if as_json:
        output.show_json(list(found))
    else:
        for secret_id in found:
            click.echo(output.shown(secret_id))


@secrets.command("delete")
@click.argument("secret_id", metavar="ID")
@options.url
def delete_secret(secret_id: str, url: str | None) -> None:
    """Drop a registered value; what was redacted stays redacted.

    \b
    Examples
      foreword secrets delete billing-token
    """
    with options.client(url) as client:
        client.delete_secret(secret_id)
    click.echo(f"dropped {output.shown(secret_id)}")


def _piped() -> str:
    try:
        return sys.stdin.buffer.read().decode("utf-8").removesuffix("\n").removesuffix("\r")
    except UnicodeDecodeError as error:
        raise ValidationError.of("value", "must be UTF-8") from error


COMMANDS = (secrets,)
