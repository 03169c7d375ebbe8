"""Commands that become a process: the whole product, or one part of it."""

import os
import sys
from pathlib import Path

import click

from foreword import running
from foreword.cli import options
from foreword.errors import ConfigurationError

_NEEDED_BY_ALL = (
    "FOREWORD_DATABASE_URL",
    "FOREWORD_REDIS_URL",
    "FOREWORD_BROKER_URL",
    "FOREWORD_DIGEST_KEY",
)
_SHIM_NEEDS = ("FOREWORD_SEAL_PUBLIC_KEY",)
_WORKER_NEEDS = ("FOREWORD_SEAL_KEYS",)
_PASSED_ON = {"ignore_unknown_options": True, "allow_interspersed_args": False}


@click.command()
@click.option(
    "--host", default="127.0.0.1", show_default=True, envvar="FOREWORD_HOST", help="Where to listen."
)
@click.option(
    "--port",
    default=8321,
    show_default=True,
    envvar="FOREWORD_PORT",
    type=click.IntRange(0, 65535),
    help="Where to listen; 0 picks a free port.",
)
@options.data_dir
@click.option(
    "--ready-file",
    metavar="FILE",
    type=click.Path(dir_okay=False, path_type=Path),
    help="Written once all is ready to serve: addresses, key and process ids as JSON.",
)
@click.option(
    "--workers",
    default=1,
    show_default=True,
    envvar="FOREWORD_WORKERS",
    type=click.IntRange(1, 64),
    help="How many worker processes.",
)
def up(host: str, port: int, data_dir: Path, ready_file: Path | None, workers: int) -> None:
    """Start everything on this machine; Ctrl-C stops it.

    \b
    Examples
      foreword up
      foreword up --port 0 --data-dir ./memory --ready-file ./memory.json
    """
    from foreword.embedded.up import UpOptions, run

    sys.exit(
        run(
            UpOptions(
                output=click.echo,
                host=host,
                port=port,
                data_dir=data_dir,
                ready_file=ready_file,
                workers=workers,
            )
        )
    )


def _become(*command: str, needs: tuple[str, ...], environment: dict[str, str]) -> None:
    missing = [name for name in (*_NEEDED_BY_ALL, *needs) if not environment.get(name)]
    if missing:
        raise ConfigurationError(f"Set {', '.join(missing)}, or start 'foreword up'.")
    sys.stdout.flush()
    os.execve(sys.executable, [sys.executable, "-P", "-m", *command], environment)  # noqa: S606


def _worker_environment(data_dir: Path | None = None) -> dict[str, str]:
    """The settings of a worker of the product on the data folder, unless the caller names another ledger."""
    data_dir = data_dir or running.default_folder()
    here = running.find(data_dir)
    if here is None or os.environ.get("FOREWORD_DATABASE_URL") not in (None, "", here.database_url):
        return dict(os.environ)
    from foreword.embedded.credentials import Credentials
    from foreword.embedded.environment import Environment
    from foreword.embedded.folder import Folder
    from foreword.embedded.servers import Servers

    credentials = Credentials.load(Folder(data_dir).credentials)
    if credentials is None:
        return dict(os.environ)
    servers = Servers(database_url=here.database_url, redis_url=here.redis_url, broker_url=here.broker_url)
    return Environment(caller=dict(os.environ), credentials=credentials, servers=servers).worker()


def _opening_nothing(environment: dict[str, str]) -> dict[str, str]:
    """Without the opening keys: vectors are made of what is filed, so who makes them opens no seal."""
    return {name: value for name, value in environment.items() if name != "FOREWORD_SEAL_KEYS"}


@click.command(context_settings=_PASSED_ON)
@click.argument("args", nargs=-1, type=click.UNPROCESSED)
def shim(args: tuple[str, ...]) -> None:
    """Run the HTTP server alone ('python -m api_shim').

    \b
    Examples
      foreword shim
      FOREWORD_PORT=8080 foreword shim
    """
    _become("api_shim", *args, needs=_SHIM_NEEDS, environment=dict(os.environ))


@click.command(context_settings=_PASSED_ON)
@click.argument("args", nargs=-1, type=click.UNPROCESSED)
def worker(args: tuple[str, ...]) -> None:
    """Run one worker alone ('python -m worker run'); one more, where 'foreword up' runs.

    \b
    Examples
      foreword worker
      foreword worker -- --help    (its own options; all are passed on)
    """
    _become("worker", "run", *args, needs=_WORKER_NEEDS, environment=_worker_environment())


@click.command(context_settings=_PASSED_ON)
@click.argument("args", nargs=-1, type=click.UNPROCESSED)
def beat(args: tuple[str, ...]) -> None:
    """Run the scheduler alone ('python -m worker beat'); one for all workers.

    \b
    Examples
      foreword beat
    """
    _become("worker", "beat", *args, needs=(), environment=_worker_environment())


@click.command(context_settings=_PASSED_ON)
@click.argument("args", nargs=-1, type=click.UNPROCESSED)
def embed(args: tuple[str, ...]) -> None:
    """Run one embedding worker alone ('python -m worker embed'): it makes the vectors of what is filed.

    \b
    Examples
      foreword embed
    """
    _become("worker", "embed", *args, needs=(), environment=_opening_nothing(_worker_environment()))


@click.command()
@click.option("--failed", is_flag=True, help="Only try again what got no vector in five attempts.")
@options.data_dir
def reembed(failed: bool, data_dir: Path) -> None:
    """Make every vector anew with the model that is configured; resumes where it was stopped.

    The old model serves until the new one has all; then restart the shims with the new setting.

    \b
    Examples
      FOREWORD_EMBEDDER=openai FOREWORD_EMBEDDER_MODEL=... foreword reembed
      foreword reembed --failed
    """
    arguments = ["--failed"] if failed else []
    environment = _opening_nothing(_worker_environment(data_dir))
    _become("worker", "reembed", *arguments, needs=(), environment=environment)


@click.command()
@click.option("--all", "everything", is_flag=True, help="Count complete entries again too.")
@options.database_url
@options.data_dir
def recount(everything: bool, database_url: str | None, data_dir: Path) -> None:
    """Count what is filed in counters that are new; resumes where it was stopped.

    Reads go on meanwhile and refuse a new counter until it is complete.

    \b
    Examples
      foreword recount
      foreword recount --all
    """
    owner = options.ledger(database_url, data_dir)
    environment = _worker_environment(data_dir) | {"FOREWORD_OWNER_URL": owner}
    arguments = ["--all"] if everything else []
    _become("worker", "recount", *arguments, needs=_WORKER_NEEDS, environment=environment)


@click.command()
@options.data_dir
def retry(data_dir: Path) -> None:
    """Give Drafts that failed to a worker again.

    \b
    Examples
      foreword retry
    """
    _become("worker", "retry", needs=_WORKER_NEEDS, environment=_worker_environment(data_dir))


COMMANDS = (up, shim, worker, embed, beat, recount, reembed, retry)
