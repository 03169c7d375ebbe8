"""The group of all commands, and what an error looks like: one line on stderr and a code."""

import sys
from typing import Any, NoReturn

import click

from foreword import __version__
from foreword.cli import administration, finding, health, processes, reading, secrets, transfer, writing
from foreword.errors import (
    ConfigurationError,
    Conflict,
    Forbidden,
    ForewordError,
    NotFound,
    RateLimited,
    Unauthenticated,
    Unavailable,
    ValidationError,
)

_EXIT_CODES: dict[type[ForewordError], int] = {
    ValidationError: 2,
    ConfigurationError: 2,
    Unauthenticated: 5,
    Forbidden: 5,
    NotFound: 6,
    Conflict: 7,
    Unavailable: 8,
    RateLimited: 8,
}
_EXTRAS = {
    "psycopg": "shim",
    "celery": "worker",
    "nacl": "worker",
    "tiktoken": "worker",
    "redis": "worker",
    "numpy": "embed",
    "onnxruntime": "embed",
    "tokenizers": "embed",
}


class _Root(click.Group):
    def invoke(self, ctx: click.Context) -> Any:
        try:
            return super().invoke(ctx)
        except ForewordError as error:
            _fail(_words(error), _EXIT_CODES.get(type(error), 1))
        except ModuleNotFoundError as error:
            library = (error.name or "").partition(".")[0]
            if library not in _EXTRAS:
                raise
            _fail(f"This command needs {library}: pip install 'foreword[{_EXTRAS[library]}]'", 2)


def _fail(message: str, code: int) -> NoReturn:
    click.echo(f"foreword: {message}", err=True)
    sys.exit(code)


def _words(error: ForewordError) -> str:
    if isinstance(error, ValidationError) and error.fields:
        return "; ".join(f"{field.field} {field.reason}" for field in error.fields)
    return " ".join(error.message.split())


@click.group(cls=_Root, context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100})
@click.version_option(__version__, prog_name="foreword")
def root() -> None:
    """Agent memory that can never overrun a context window.

    Commands find a server by FOREWORD_URL and FOREWORD_API_KEY, else the 'foreword up' that runs on this
    machine.

    \b
    Exit codes
      0 done                    5 the API key is not accepted
      1 failed                  6 there is no such thing
      2 wrong use or setting    7 the id is taken by another body
      3 data folder in use      8 a server is away or busy: try again
      4 port in use
    """


for _command in (
    *processes.COMMANDS,
    *administration.COMMANDS,
    *writing.COMMANDS,
    *reading.COMMANDS,
    *finding.COMMANDS,
    *transfer.COMMANDS,
    *secrets.COMMANDS,
    *health.COMMANDS,
):
    root.add_command(_command)
