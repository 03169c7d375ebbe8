"""Finding the product that runs on this machine."""

import json
import os
from pathlib import Path
from typing import Any

import pytest

from foreword import running
from foreword.client.connection import Connection
from foreword.errors import ConfigurationError

_READY: dict[str, Any] = {
    "url": "http://127.0.0.1:8321",
    "apiKey": "fw_key",
    "tenant": "default",
    "databaseUrl": "postgresql://",
    "redisUrl": "redis://",
    "brokerUrl": "redis://",
    "sealKey": "id:key",
    "pids": {"supervisor": os.getpid()},
}


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A data folder a product runs on, and nothing else known from the environment."""
    for name in ("FOREWORD_URL", "FOREWORD_API_KEY"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("FOREWORD_DATA_DIR", str(tmp_path))
    (tmp_path / "run").mkdir()
    (tmp_path / "run" / "ready.json").write_text(json.dumps(_READY))
    return tmp_path


def _connection(url: str | None = None, api_key: str | None = None) -> Connection:
    return Connection.of(url, api_key, 1.0)


def test_a_running_product_is_found(folder: Path) -> None:
    """With nothing said, a client calls what runs here, with its key."""
    connection = _connection()
    assert (connection.url, connection.api_key) == ("http://127.0.0.1:8321", "fw_key")


def test_its_key_goes_nowhere_else(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Another server never gets the key of the product that runs here; that one does, however it is named."""
    assert _connection("https://elsewhere.example").api_key is None
    monkeypatch.setenv("FOREWORD_URL", "https://elsewhere.example")
    assert _connection().api_key is None
    assert _connection("http://127.0.0.1:8321/").api_key == "fw_key"


def test_arguments_come_before_the_environment(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """An argument wins over a setting, a setting over what runs here."""
    monkeypatch.setenv("FOREWORD_URL", "http://set.example")
    monkeypatch.setenv("FOREWORD_API_KEY", "fw_set")
    assert (_connection().url, _connection().api_key) == ("http://set.example", "fw_set")
    assert _connection("http://argument.example", "fw_argument").api_key == "fw_argument"


@pytest.mark.parametrize(
    "content", ["", "[]", "{}", json.dumps(_READY | {"pids": {"supervisor": 2**22 + 1}})]
)
def test_what_does_not_run_is_not_found(folder: Path, content: str) -> None:
    """A file cut short, or one of a process that is gone, is as none."""
    (folder / "run" / "ready.json").write_text(content)
    assert running.find() is None
    with pytest.raises(ConfigurationError, match="foreword up"):
        _connection()


@pytest.mark.parametrize(
    "url",
    [
        "memory.example",
        "ftp://memory.example",
        "http://",
        "http://a:99999999999999999999",
        "http://\x00",
        "http://a:b",
    ],
)
def test_a_url_is_checked_first(folder: Path, url: str) -> None:
    """What is no http URL is a ConfigurationError when the client is made."""
    with pytest.raises(ConfigurationError):
        _connection(url)


def test_a_key_is_not_shown(folder: Path) -> None:
    """Neither a connection nor what was found shows a key or a password in its text."""
    text = repr(_connection()) + repr(running.find())
    assert "fw_key" not in text
    assert "redis" not in text


@pytest.mark.parametrize("key", ["fw_\n", "fw_é"])
def test_a_key_that_is_no_header_is_refused(folder: Path, key: str) -> None:
    """A key that no header can carry is a ConfigurationError."""
    with pytest.raises(ConfigurationError):
        _connection("http://a.example", key)
