"""Settings that every process shares; each side adds its own. All are named ``FOREWORD_*`` outside."""

from typing import Literal, TypeVar

from pydantic import Field, SecretStr, ValidationError
from pydantic_settings import BaseSettings, SettingsConfigDict

from foreword.draft import Limits
from foreword.embedders import make_embedder
from foreword.embedding import Embedder
from foreword.errors import ConfigurationError


class StoreSettings(BaseSettings):
    """Where the parts are, and what both sides must agree on."""

    model_config = SettingsConfigDict(env_prefix="FOREWORD_", extra="ignore")

    database_url: SecretStr = Field(description="PostgreSQL, as this process's own role")
    redis_url: SecretStr = Field(description="Valkey or Redis 7+ that holds the hot view")
    broker_url: SecretStr = Field(description="Celery's broker for wake-ups")
    digest_key: SecretStr = Field(description="Key of the digests that tell a repeated Draft from a conflict")
    log_level: str = Field(default="INFO", description="DEBUG, INFO, WARNING or ERROR")

    max_content_bytes: int = Field(default=64 * 1024, ge=1, description="Content of one entry, UTF-8 bytes")
    max_tags: int = Field(default=64, ge=0, description="Tags of one entry")
    max_tag_chars: int = Field(default=256, ge=1, description="Characters of one tag")
    max_metadata_bytes: int = Field(default=16 * 1024, ge=2, description="Metadata of one entry, JSON bytes")

    embedder: Literal["minilm", "openai", "hashing", "none"] = Field(
        default="minilm", description="What makes vectors: minilm (offline), openai (a server), none"
    )
    embedder_url: str = Field(default="", description="Base URL of an OpenAI-compatible server, with /v1")
    embedder_api_key: SecretStr = Field(default=SecretStr(""), description="Key for that server")
    embedder_model: str = Field(default="", description="Model to ask that server for")
    embedder_dimension: int = Field(default=0, ge=0, le=4000, description="Dimensions of that model")
    embedder_timeout: float = Field(default=10.0, gt=0, description="Seconds one call to it may take")
    exact_rows: int = Field(
        default=5_000, ge=1, description="Vectors of a scope searched exactly; beyond, by graph if that pays"
    )

    def make_embedder(self) -> Embedder | None:
        """The embedder these settings name; None when there is none."""
        return make_embedder(
            self.embedder,
            url=self.embedder_url,
            api_key=self.embedder_api_key.get_secret_value(),
            model=self.embedder_model,
            dimension=self.embedder_dimension,
            timeout=self.embedder_timeout,
        )

    def limits(self) -> Limits:
        """Limits of one Draft."""
        return Limits(
            content_bytes=self.max_content_bytes,
            tags=self.max_tags,
            tag_chars=self.max_tag_chars,
            metadata_bytes=self.max_metadata_bytes,
        )


Settings = TypeVar("Settings", bound=StoreSettings)


def load(kind: type[Settings]) -> Settings:
    """Settings from the environment; ConfigurationError names each variable that is missing or wrong."""
    try:
        return kind()  # type: ignore[call-arg] # the environment fills them
    except ValidationError as error:
        names = ", ".join(f"FOREWORD_{str(fault['loc'][0]).upper()}" for fault in error.errors())
        raise ConfigurationError(f"Missing or wrong in the environment: {names}.") from None
