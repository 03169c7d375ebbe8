"""The command line, as far as it goes without a server."""

import json
import os
import re
from collections.abc import Iterator
from pathlib import Path

import click
import pytest
from click.testing import CliRunner, Result

from foreword.cli import output, processes
from foreword.cli.root import root


@pytest.fixture(autouse=True)
def _nothing_known(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """No server is known from the environment or runs here."""
    for name in [name for name in os.environ if name.startswith("FOREWORD_")]:
        monkeypatch.delenv(name)
    monkeypatch.setenv("FOREWORD_DATA_DIR", str(tmp_path))


def _commands(group: click.Group, name: str = "") -> Iterator[tuple[str, click.Command]]:
    for command in group.commands.values():
        path = f"{name} {command.name}".strip()
        if isinstance(command, click.Group):
            yield from _commands(command, path)
        else:
            yield path, command


_ALL = dict(_commands(root))


def _run(*arguments: str, stdin: str | bytes | None = None) -> Result:
    return CliRunner().invoke(root, list(arguments), input=stdin)


@pytest.mark.parametrize("path", _ALL)
def test_help_has_an_example(path: str) -> None:
    """Each command's help shows at least one line that can be typed."""
    shown = _run(*path.split(), "--help")
    assert shown.exit_code == 0
    assert re.search(rf"Examples\n.*foreword {path}\b", shown.stdout, re.DOTALL)


@pytest.mark.parametrize("path", _ALL)
def test_no_secret_is_an_argument(path: str) -> None:
    """No command takes an API key, a password or a secret's value as an argument, where others see it."""
    names = {name for parameter in _ALL[path].params for name in (*parameter.opts, parameter.name or "")}
    assert not {name for name in names if re.search(r"api.?key|password|value", name)}


@pytest.mark.parametrize(
    "arguments",
    [
        ("remember", "-r", "a", "text"),
        ("list", "-r", "a"),
        ("get", "-r", "a", "1"),
        ("delete", "-r", "a", "1"),
        ("forget", "-r", "a", "--yes"),
        ("export", "-r", "a"),
        ("stats", "-r", "a"),
        ("events", "-r", "a"),
        ("receipt", "-r", "a", "1"),
        ("secrets", "list"),
        ("tenants", "list"),
        ("keys", "list"),
        ("migrate",),
        ("recount",),
        ("retry",),
        ("shim",),
        ("worker",),
        ("beat",),
        ("embed",),
        ("reembed",),
        ("search", "-r", "a", "text"),
        ("recall", "-r", "a", "text"),
    ],
)
def test_no_server_is_said_in_one_line(arguments: tuple[str, ...]) -> None:
    """Without a server a command says in one line on stderr what to do, and exits 2."""
    result = _run(*arguments)
    assert result.exit_code == 2
    assert result.stdout == ""
    assert result.stderr.startswith("foreword: ")
    assert result.stderr.count("\n") == 1
    assert "foreword up" in result.stderr


@pytest.mark.parametrize("arguments", [("list",), ("list", "-r", "a", "--fit", "some"), ("nonsense",)])
def test_wrong_use_exits_2(arguments: tuple[str, ...]) -> None:
    """A missing option, a wrong choice or an unknown command is wrong use."""
    assert _run(*arguments).exit_code == 2


def test_a_ledger_that_is_away_is_unavailable() -> None:
    """A ledger nobody serves is said in one line without its address, and exits 8."""
    result = _run("tenants", "list", "--database-url", "postgresql://u:hunter2@127.0.0.1:1/x")
    assert result.exit_code == 8
    assert result.stderr.count("\n") == 1
    assert "hunter2" not in result.output


def test_metadata_must_be_an_object(monkeypatch: pytest.MonkeyPatch) -> None:
    """Metadata that is no JSON object is refused before anything is sent."""
    monkeypatch.setenv("FOREWORD_URL", "http://127.0.0.1:1")
    for wrong in ("[1]", "{", "nope"):
        result = _run("remember", "-r", "a", "--metadata", wrong, "text")
        assert result.exit_code == 2
        assert "metadata" in result.stderr


def test_a_filter_must_be_an_object(monkeypatch: pytest.MonkeyPatch) -> None:
    """A filter that is no JSON object is refused before anything is sent."""
    monkeypatch.setenv("FOREWORD_URL", "http://127.0.0.1:1")
    for wrong in ("[1]", "{", "nope"):
        result = _run("search", "-r", "a", "--filter", wrong, "text")
        assert result.exit_code == 2
        assert "filter" in result.stderr


def test_who_embeds_opens_nothing() -> None:
    """The opening keys are taken out of what an embedding process is told."""
    assert processes._opening_nothing({"FOREWORD_SEAL_KEYS": "x", "PATH": "y"}) == {"PATH": "y"}


def test_forgetting_is_asked_first(monkeypatch: pytest.MonkeyPatch) -> None:
    """``forget`` without --yes does nothing unless a person agrees."""
    monkeypatch.setenv("FOREWORD_URL", "http://127.0.0.1:1")
    result = _run("forget", "-r", "a", stdin="n\n")
    assert result.exit_code == 1
    assert "Remove everything" in result.stderr


def test_stored_text_does_not_steer_a_terminal(capsys: pytest.CaptureFixture[str]) -> None:
    """Escape codes in stored text are shown as text, in tables and in JSON, and JSON still says the same."""
    hostile = "a\x1b[2Jb\x9b31mc\x7fd\r"
    output.show_table(("content",), [(hostile,)])
    output.show_json({"content": hostile})
    table, line = capsys.readouterr().out.split("content", 1)[1].split("\n", 1)
    printed = table + line
    assert not re.search(r"[\x00-\x09\x0b-\x1f\x7f-\x9f]", printed)
    assert json.loads(printed.splitlines()[-1])["content"] == hostile


def test_markup_in_stored_text_is_text(capsys: pytest.CaptureFixture[str]) -> None:
    """What looks like the table's own markup is printed as it is."""
    output.show_table(("content",), [("[bold]x[/bold] :smile:",)])
    assert "[bold]x[/bold] :smile:" in capsys.readouterr().out
