"""What the shim adds to the shared settings."""

from typing import Literal

from pydantic import Field

from foreword.settings import StoreSettings

CounterName = Literal["o200k_base", "cl100k_base", "chars", "host-defined"]


class ShimSettings(StoreSettings):
    """Settings of the HTTP server."""

    host: str = Field(default="127.0.0.1", description="Address to listen on")
    port: int = Field(default=8321, ge=0, le=65535, description="Port to listen on")
    seal_public_key: str = Field(description="Public key Drafts are sealed to, id:base64")
    token_counter: CounterName = Field(
        default="o200k_base", description="The advertised counter, used where a request names none"
    )
    max_body_bytes: int = Field(default=8 * 1024 * 1024, ge=1024, description="Largest request body")
    max_batch: int = Field(default=1000, ge=1, description="Most entries in one batch")
    requests_per_minute: int = Field(default=0, ge=0, description="Requests one key may make; 0 = no limit")
    metrics: bool = Field(default=False, description="Serve /metrics")
    inspect: bool = Field(default=False, description="Serve /inspect, the page for people")
    openwop_runs: bool = Field(default=False, description="Serve OpenWOP runs and agents")
    openwop_run_lease: float = Field(
        default=30.0, gt=0, description="Seconds after which a run that nobody renews has failed"
    )
    openwop_seams: bool = Field(default=False, description="Serve OpenWOP's test seams")
    pool_size: int = Field(default=8, ge=1, description="Connections to the ledger")
    hot_view_connections: int = Field(
        default=1, ge=1, description="Connections to the hot view, each shared by many requests"
    )
    memo_bytes: int = Field(
        default=32 * 1024 * 1024, ge=0, description="Answers kept while their scope is unchanged; 0 = none"
    )
