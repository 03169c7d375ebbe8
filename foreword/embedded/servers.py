"""The servers a run stands on: embedded ones, or outside ones the caller's settings point at."""

from collections.abc import Mapping
from dataclasses import dataclass

from foreword.embedded import ports
from foreword.embedded.child import Spec
from foreword.embedded.credentials import Credentials
from foreword.embedded.folder import Folder
from foreword.embedded.postgres import Postgres
from foreword.embedded.valkey import Valkey


@dataclass(frozen=True, kw_only=True)
class Servers:
    """Where they are, and those of them that are ours to run. ``database_url`` is the owner's."""

    database_url: str
    redis_url: str
    broker_url: str
    postgres: Postgres | None = None
    valkey: Valkey | None = None

    @classmethod
    def of(
        cls, folder: Folder, credentials: Credentials, caller: Mapping[str, str], *, sync: bool = True
    ) -> "Servers":
        """An outside Redis is the broker too, unless there is an outside broker."""
        database, redis = caller.get("FOREWORD_DATABASE_URL"), caller.get("FOREWORD_REDIS_URL")
        chosen = ports.kept(folder.ports, "postgres", "valkey")
        postgres, valkey = None, None
        if not database:
            postgres = Postgres(
                folder, port=chosen["postgres"], password=credentials.owner_password, sync=sync
            )
            database = postgres.owner_url
        broker = caller.get("FOREWORD_BROKER_URL") or redis
        if not redis:
            valkey = Valkey(folder, port=chosen["valkey"], password=credentials.valkey_password)
            redis = valkey.redis_url
            broker = broker or valkey.broker_url
        return cls(
            database_url=database,
            redis_url=redis,
            broker_url=broker or redis,
            postgres=postgres,
            valkey=valkey,
        )

    def specs(self) -> list[Spec]:
        """What is to be started; makes the cluster first when there is none."""
        if self.postgres:
            self.postgres.initialise()
        return [server.spec() for server in (self.postgres, self.valkey) if server]

    def create_database(self) -> None:
        """An outside database is there already."""
        if self.postgres:
            self.postgres.create_database()

    def remove_borrowed(self) -> None:
        if self.postgres:
            self.postgres.remove_borrowed()
