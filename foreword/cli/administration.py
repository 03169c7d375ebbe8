"""Commands for who runs Foreword: the schema, tenants and keys. They talk to the ledger as its owner."""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import click

from foreword import instant, running
from foreword.cli import options, output
from foreword.errors import ConfigurationError, NotFound, Unavailable


@click.command()
@options.database_url
@options.data_dir
def migrate(database_url: str | None, data_dir: Path) -> None:
    """Bring the ledger to this version's schema; 'foreword up' does it by itself.

    The roles foreword_shim and foreword_worker get the passwords in FOREWORD_SHIM_PASSWORD and
    FOREWORD_WORKER_PASSWORD.

    \b
    Examples
      foreword migrate
      FOREWORD_SHIM_PASSWORD=... FOREWORD_WORKER_PASSWORD=... foreword migrate --database-url postgresql://...
    """
    from foreword.ledger.migrate import migrate as apply

    address = options.ledger(database_url, data_dir)
    shim_password, worker_password = _passwords(address, data_dir)
    with ledger_errors():
        applied = apply(address, shim_password=shim_password, worker_password=worker_password)
    for name in applied:
        click.echo(f"applied {name}")
    output.note(f"{len(applied)} migrations applied; the ledger is at this version.")


@click.group()
def tenants() -> None:
    """Who owns memory."""


@tenants.command("create")
@click.argument("name")
@options.database_url
@options.data_dir
def create_tenant(name: str, database_url: str | None, data_dir: Path) -> None:
    """Make a tenant; one that is there stays as it is.

    \b
    Examples
      foreword tenants create acme
    """
    from foreword.ledger.tenants import ensure_tenant

    with ledger_errors():
        ensure_tenant(options.ledger(database_url, data_dir), name)
    click.echo(name)


@tenants.command("list")
@options.as_json
@options.database_url
@options.data_dir
def list_tenants(as_json: bool, database_url: str | None, data_dir: Path) -> None:
    """List all tenants.

    \b
    Examples
      foreword tenants list --json
    """
    from foreword.ledger import tenants as ledger_tenants

    with ledger_errors():
        found = ledger_tenants.list_tenants(options.ledger(database_url, data_dir))
    rows = [{"tenant": t.name, "pii": t.pii, "createdAt": _when(t.created_at)} for t in found]
    _show(rows, as_json)


@tenants.command("pii")
@click.argument("name")
@click.option(
    "--kind",
    "kinds",
    multiple=True,
    type=click.Choice(["email", "phone", "card", "iban"]),
    help="What to redact besides secrets; none given: nothing.",
)
@options.database_url
@options.data_dir
def redact_personal_data(name: str, kinds: tuple[str, ...], database_url: str | None, data_dir: Path) -> None:
    """Choose which personal data is redacted from what a tenant writes from now on; off by default.

    \b
    Examples
      foreword tenants pii acme --kind email --kind phone --kind card --kind iban
      foreword tenants pii acme
    """
    from foreword.ledger.tenants import set_pii

    with ledger_errors():
        known = set_pii(options.ledger(database_url, data_dir), name, list(kinds))
    if not known:
        raise NotFound("There is no tenant of this name.")
    click.echo(f"{name}: {', '.join(sorted(set(kinds))) or 'no personal data is redacted'}")


@click.group()
def keys() -> None:
    """API keys. A key is shown once, when it is made."""


@keys.command("create")
@click.option("--tenant", required=True, metavar="NAME", help="Whose memory it opens.")
@click.option(
    "--scope",
    default="read,write",
    show_default=True,
    metavar="LIST",
    help="What it may do: of read, write, admin, with commas.",
)
@click.option("--ref", "ref_glob", metavar="GLOB", help="Only these memories; others are as if empty.")
@options.database_url
@options.data_dir
def create_key(
    tenant: str, scope: str, ref_glob: str | None, database_url: str | None, data_dir: Path
) -> None:
    """Make a key and print it.

    \b
    Examples
      foreword keys create --tenant acme --scope read,write
      foreword keys create --tenant acme --scope read --ref 'agent/*'
    """
    from foreword.ledger import api_keys

    scopes = [part for part in (part.strip() for part in scope.split(",")) if part]
    with ledger_errors():
        key = api_keys.create_key(options.ledger(database_url, data_dir), tenant, scopes, ref_glob)
    click.echo(key)
    output.note("Keep it now: it is stored hashed and cannot be shown again.")


@keys.command("list")
@click.option("--tenant", metavar="NAME", help="Only this tenant's.")
@options.as_json
@options.database_url
@options.data_dir
def list_keys(tenant: str | None, as_json: bool, database_url: str | None, data_dir: Path) -> None:
    """List keys, revoked ones too; never the keys themselves.

    \b
    Examples
      foreword keys list
      foreword keys list --tenant acme --json
    """
    from foreword.ledger import api_keys

    with ledger_errors():
        found = api_keys.list_keys(options.ledger(database_url, data_dir), tenant)
    rows = [
        {
            "keyId": key.key_id,
            "tenant": key.tenant,
            "scopes": key.scopes,
            "ref": key.ref_glob,
            "createdAt": _when(key.created_at),
            "revokedAt": _when(key.revoked_at) if key.revoked_at else None,
        }
        for key in found
    ]
    _show(rows, as_json)


@keys.command("revoke")
@click.argument("key_id")
@options.database_url
@options.data_dir
def revoke_key(key_id: str, database_url: str | None, data_dir: Path) -> None:
    """Revoke a key by its id (see 'keys list'); it stops working within 5 s.

    \b
    Examples
      foreword keys revoke 5f0c2d1e
    """
    from foreword.ledger import api_keys

    with ledger_errors():
        revoked = api_keys.revoke_key(options.ledger(database_url, data_dir), key_id)
    if not revoked:
        raise NotFound("There is no living key of this id; see 'foreword keys list'.")
    click.echo(f"revoked {key_id}")


def _passwords(address: str, data_dir: Path) -> tuple[str, str]:
    shim, worker = os.environ.get("FOREWORD_SHIM_PASSWORD"), os.environ.get("FOREWORD_WORKER_PASSWORD")
    if shim and worker:
        return shim, worker
    here = running.find(data_dir)
    if here is not None and here.database_url == address:
        from foreword.embedded.credentials import Credentials
        from foreword.embedded.folder import Folder

        kept = Credentials.load(Folder(data_dir).credentials)
        if kept is not None:
            return kept.shim_password, kept.worker_password
    raise ConfigurationError("Set FOREWORD_SHIM_PASSWORD and FOREWORD_WORKER_PASSWORD.")


@contextmanager
def ledger_errors() -> Iterator[None]:
    """The driver's errors in our words; its own may hold addresses and statements."""
    import psycopg

    try:
        yield
    except psycopg.errors.UndefinedTable as error:
        raise ConfigurationError("The ledger has no schema yet: run 'foreword migrate'.") from error
    except (psycopg.errors.InsufficientPrivilege, psycopg.errors.InvalidAuthorizationSpecification) as error:
        raise ConfigurationError("The database URL must be the ledger owner's.") from error
    except psycopg.ProgrammingError as error:
        raise ConfigurationError("The database URL does not lead to a Foreword ledger.") from error
    except psycopg.Error as error:
        raise Unavailable("The ledger does not answer.") from error


def _when(moment: Any) -> str:
    return instant.to_wire(instant.from_datetime(moment))


def _show(rows: list[dict[str, Any]], as_json: bool) -> None:
    if as_json:
        output.show_json(rows)
        return
    columns = list(rows[0]) if rows else []
    output.show_table(
        columns, [[",".join(c) if isinstance(c, list) else c for c in row.values()] for row in rows]
    )


COMMANDS = (migrate, tenants, keys)
