"""Where calls go, as whom, and in which words for httpx: shared by both clients."""

import os
from dataclasses import dataclass, field
from typing import Any

import httpx

from foreword import running
from foreword.client.calls import Call
from foreword.errors import ConfigurationError

TIMEOUT = 10.0
"""Seconds to connect, and seconds without a byte, before a call fails."""


@dataclass(frozen=True, kw_only=True)
class Connection:
    """One server and one key."""

    url: str
    api_key: str | None = field(repr=False)
    timeout: float

    @classmethod
    def of(cls, url: str | None, api_key: str | None, timeout: float) -> "Connection":
        """From arguments, else the environment, else a product that runs on this machine.

        That product's key goes to that product only.
        """
        url = url or os.environ.get("FOREWORD_URL")
        api_key = api_key or os.environ.get("FOREWORD_API_KEY")
        here = running.find() if url is None or api_key is None else None
        if here is not None:
            url = url or here.url
            if api_key is None and url.rstrip("/") == here.url:
                api_key = here.api_key
        if url is None:
            raise ConfigurationError(
                "No server is known: pass url, set FOREWORD_URL, or start one with 'foreword up'."
            )
        return cls(url=_checked_url(url), api_key=_checked_key(api_key), timeout=timeout)

    def options(self) -> dict[str, Any]:
        """Arguments for an httpx client of either colour."""
        headers = {"User-Agent": "foreword-client", "Accept": "application/json"}
        if self.api_key is not None:
            headers["Authorization"] = f"Bearer {self.api_key}"
        return {"base_url": self.url, "headers": headers, "timeout": self.timeout}

    def request(self, call: Call[Any]) -> dict[str, Any]:
        """Arguments for one request of such a client."""
        typed = {} if call.content is None else {"Content-Type": call.content_type}
        return {
            "method": call.method,
            "url": call.path,
            "params": call.params,
            "content": call.content,
            "headers": {**typed, **call.headers},
            "timeout": httpx.Timeout(self.timeout, read=self.timeout + call.patience),
        }


def _checked_url(url: str) -> str:
    try:
        parsed = httpx.URL(url)
    except httpx.InvalidURL as error:
        raise ConfigurationError("The URL of the server is not a URL.") from error
    if parsed.scheme not in ("http", "https") or not parsed.host:
        raise ConfigurationError("The URL of the server must start with http:// or https://.")
    if parsed.port is not None and not 0 < parsed.port < 1 << 16:
        raise ConfigurationError("The URL of the server has a port that is none.")
    return url.rstrip("/")


def _checked_key(api_key: str | None) -> str | None:
    if api_key is not None and not (api_key.isascii() and api_key.isprintable()):
        raise ConfigurationError("The API key holds characters that no key has.")
    return api_key
