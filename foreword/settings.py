"""Settings that every process shares; each side adds its own. All are environment variables ``FOREWORD_*``."""

from pydantic import Field, SecretStr
from pydantic_settings import BaseSettings, SettingsConfigDict


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
