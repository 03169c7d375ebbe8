"""What the worker adds to the shared settings."""

from typing import Annotated

from pydantic import Field, SecretStr
from pydantic_settings import NoDecode

from foreword.settings import StoreSettings


class WorkerSettings(StoreSettings):
    """Settings of worker and beat."""

    seal_keys: Annotated[SecretStr, NoDecode] = Field(
        default=SecretStr(""), description="Opening keys, id:base64, newest first, comma-separated"
    )
    batch: int = Field(default=256, ge=1, le=256, description="Drafts filed in one transaction")
    window_entries: int = Field(default=2000, ge=1, le=100_000, description="Entries a hot window holds")
    window_tokens: int = Field(default=256_000, ge=1, description="o200k_base tokens a hot window holds")
    broker_visibility_timeout: int = Field(
        default=60, ge=30, description="Seconds until a message of a dead worker is delivered again"
    )
    sweep_seconds: float = Field(default=2.0, gt=0, description="How often beat looks for unannounced work")
    expire_seconds: float = Field(default=60.0, gt=0, description="How often expired rows are purged")
    embed_seconds: float = Field(default=5.0, gt=0, description="How often beat looks for unembedded entries")
    receipt_days: int = Field(default=7, ge=1, description="Days a removed id stays taken")
    event_days: int = Field(default=30, ge=1, description="Days an event is kept")
