"""The examples of the documents work as they stand, on a running product."""

import json
import os
import re
import shlex
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import httpx
import pytest

from tests.services import LIMIT_S, Product, eventually

ROOT = Path(__file__).parents[2]
PLACE = "http://127.0.0.1:8321"


def blocks(name: str, language: str) -> list[str]:
    """The fenced blocks of a document in one language."""
    text = (ROOT / name).read_text(encoding="utf-8")
    return re.findall(rf"^```{language}\n(.*?)^```", text, re.MULTILINE | re.DOTALL)


README = (ROOT / "README.md").read_text(encoding="utf-8")
PYTHON = blocks("README.md", "python")
COMMANDS, (RECALL,) = (
    [line for block in group for line in block.splitlines() if "foreword " in line]
    for group in (blocks("README.md", "sh")[1:2], blocks("README.md", "sh")[3:4])
)
BLOCK = re.findall(r"^```sh\nforeword recall .*\n```\n```\n([^`]*)^```", README, re.MULTILINE)
CALLS = re.findall(
    r"^```sh\n(curl [^`]*)^```\n```json\n([^`]*)^```",
    (ROOT / "docs/api.md").read_text(encoding="utf-8"),
    re.MULTILINE,
)


@pytest.fixture
def environment(running_product: Product) -> dict[str, str]:
    """What a person on the product's machine has."""
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ.get('PATH', '')}"
    return {**os.environ, "FOREWORD_DATA_DIR": str(running_product.data_dir), "PATH": path}


def run(command: list[str], environment: dict[str, str]) -> str:
    """What a command prints; fails with its words when it does."""
    done = subprocess.run(
        command, env=environment, capture_output=True, text=True, timeout=LIMIT_S, check=False
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_there_are_examples() -> None:
    """The documents were taken apart rightly."""
    assert len(PYTHON) == 3
    assert len(COMMANDS) == 5
    assert len(BLOCK) == 1
    assert len(CALLS) >= 5


@pytest.mark.parametrize("code", PYTHON)
def test_python_runs(code: str, environment: dict[str, str]) -> None:
    """README's Python runs with nothing but a running product."""
    run([sys.executable, "-W", "error", "-c", code], environment)


def test_the_commands_give_the_answer(environment: dict[str, str]) -> None:
    """README's commands print the answer that stands below them."""
    printed = ""
    for command in COMMANDS:
        words = shlex.split(command.replace("-r agent/7", "-r readme"))
        printed = run(words, environment)
    told = re.findall(r"^  (.+)$", printed, re.MULTILINE)
    assert told == ["The deploy window is 14:00 UTC.", "Ada: we ship on Thursday, not on Friday."]
    assert all(f"  {line}\n" in (ROOT / "README.md").read_text(encoding="utf-8") for line in told)
    assert "[REDACTED:aws-access-key-id]" in run(["foreword", "list", "-r", "readme"], environment)


def undated(text: str) -> str:
    """Without ids and days."""
    return re.sub(r"fact-\d{6}|\d{4}-\d\d-\d\d", "...", text)


def test_the_block_is_what_a_recall_gives(environment: dict[str, str]) -> None:
    """README's block comes out of the memory that README wrote, but for ids and the day."""
    environment = environment | {"PYTHONWARNINGS": "error"}
    for command in COMMANDS[:-1]:
        run(shlex.split(command.replace("-r agent/7", "-r readme/recall")), environment)
    run(["foreword", "list", "-r", "readme/recall", "--limit", "1"], environment)

    words = shlex.split(RECALL.replace("-r agent/7", "-r readme/recall"))
    rows = BLOCK[0].rpartition("\n")[0].rpartition("\n")[0] + "\n"
    eventually(lambda: undated(run(words, environment)) == undated(rows), "the entries have their vectors")


TOLD = [
    "The deploy window is 14:00 UTC.",
    "Invoices go to the portal by the tenth.",
    "Bo's daughter plays in a recital on the first Friday of March.",
    "From now on we deploy at 16:00 UTC, not at 14:00.",
    "Every deploy needs an approval by Bo.",
    "The customer prefers mornings.",
]


def test_a_conversation_recalls_what_it_has_not_had(
    product: dict[str, Any], environment: dict[str, str]
) -> None:
    """The loop of docs/api.md prints the blocks that stand below it, but for ids and the day."""
    text = (ROOT / "docs/api.md").read_text(encoding="utf-8")
    ((code, printed),) = re.findall(r"^```python\n([^`]*)^```\n```\n([^`]*)^```", text, re.MULTILINE)
    headers = {"Authorization": f"Bearer {product['apiKey']}"}
    entries = [{"memoryRef": "docs/recall", "content": content} for content in TOLD]
    batch = {"entries": entries}
    answer = httpx.post(f"{product['url']}/v1/memory/entries:batch?wait=30", headers=headers, json=batch)
    assert answer.status_code == 201
    command = [sys.executable, "-W", "error", "-c", code.replace("agent/7", "docs/recall")]
    eventually(lambda: undated(run(command, environment)) == undated(printed), "they have their vectors")


def shape(value: Any) -> Any:
    """An answer's names without its values; lists by the names of their first item."""
    if isinstance(value, dict):
        return {name: shape(item) for name, item in value.items()}
    return shape(value[0]) if isinstance(value, list) and value else None


def call(product: dict[str, Any], command: str) -> httpx.Response:
    """Sends what a ``curl`` would."""
    words = iter(shlex.split(command.replace("\\\n", " "))[1:])
    method, url, headers, body = "GET", "", {}, None
    for word in words:
        if word == "-X":
            method = next(words)
        elif word == "-H":
            name, _, value = next(words).partition(": ")
            headers[name] = value.replace("$KEY", product["apiKey"])
        elif word == "-d":
            body = next(words).encode()
        elif word.startswith(PLACE):
            url = word.replace(PLACE, product["url"])
        else:
            pytest.fail(f"an option that this test does not know: {word}")
    return httpx.request(method, url, headers=headers, content=body, timeout=30)


@pytest.fixture(scope="module")
def whole(product: dict[str, Any], shim: Callable[..., str]) -> dict[str, Any]:
    """The product behind a shim that mounts what is off by default too."""
    return product | {"url": shim(FOREWORD_OPENWOP_RUNS="true")}


@pytest.mark.parametrize(("command", "answer"), CALLS)
def test_a_call_answers_in_the_documented_shape(whole: dict[str, Any], command: str, answer: str) -> None:
    """Each call of docs/api.md gives the fields that stand below it."""
    write = {"memoryRef": "agent/7", "content": "Invoices go to Ada.", "tags": ["billing"]}
    headers = {"Authorization": f"Bearer {whole['apiKey']}"}
    for _ in range(6):
        httpx.post(
            f"{whole['url']}/v1/memory/entries?wait=30", headers=headers, json=write
        ).raise_for_status()
    assert shape(call(whole, command).json()) == shape(json.loads(answer))
