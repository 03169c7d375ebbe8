"""Options that several commands share, and where a command finds what it talks to."""

from pathlib import Path
from typing import TYPE_CHECKING

import click

from foreword import running
from foreword.errors import ConfigurationError

if TYPE_CHECKING:
    from foreword.client import Client

memory_ref = click.option(
    "-r", "--memory-ref", required=True, metavar="REF", envvar="FOREWORD_MEMORY_REF", help="Which memory."
)
url = click.option(
    "--url", metavar="URL", envvar="FOREWORD_URL", help="The server, instead of the one running here."
)
as_json = click.option("--json", "as_json", is_flag=True, help="Print JSON.")
data_dir = click.option(
    "--data-dir",
    metavar="DIR",
    envvar="FOREWORD_DATA_DIR",
    type=click.Path(file_okay=False, path_type=Path),
    default=running.default_folder,
    show_default=str(running.default_folder()),
    help="The data folder of 'foreword up'.",
)
database_url = click.option(
    "--database-url",
    metavar="URL",
    envvar="FOREWORD_DATABASE_URL",
    help="The ledger, as its owner; default: the one of the 'foreword up' that runs here.",
)


def client(url: str | None) -> "Client":
    """A client of that server, else of the one known from the environment or running here."""
    from foreword.client import Client

    return Client(url)


def ledger(database_url: str | None, data_dir: Path) -> str:
    """The owner's database URL: the one given, else that of the product running on the data folder."""
    if database_url:
        return database_url
    here = running.find(data_dir)
    if here is None:
        raise ConfigurationError(
            "No ledger is known: pass --database-url, set FOREWORD_DATABASE_URL, or start 'foreword up'."
        )
    return here.database_url
