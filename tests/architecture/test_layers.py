"""The import contracts of pyproject.toml hold, and each of them notices when it does not."""

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PACKAGES = ("foreword", "worker", "api_shim")

BREAKAGES = (
    ("sides", "api_shim/read.py", "import worker.write"),
    ("write", "worker/steps/count.py", "import worker.write"),
    ("write", "worker/spare.py", ""),
    ("read", "api_shim/sources/recent.py", "import api_shim.read"),
    ("read", "api_shim/spare.py", ""),
    ("agreement", "foreword/errors.py", "import foreword.budget"),
    ("agreement", "foreword/spare.py", ""),
    ("pure", "foreword/counters.py", "def hidden():\n    import tiktoken"),
    ("pure", "foreword/page.py", "import foreword.seal"),
    ("client", "foreword/client/calls.py", "import pydantic"),
    ("pure", "foreword/embedding.py", "import numpy"),
    ("client", "foreword/client/answers.py", "import numpy"),
    ("model", "api_shim/search.py", "import onnxruntime"),
    ("model", "worker/embed.py", "import tokenizers"),
    ("tokenizer", "api_shim/options.py", "import tiktoken"),
    ("bell", "api_shim/accept.py", "import foreword.handoff"),
    ("web", "api_shim/read.py", "import starlette"),
    ("drivers", "api_shim/doors/entries.py", "import psycopg"),
    ("web", "api_shim/ranking/fuse.py", "import starlette"),
    ("celery", "worker/write.py", "import celery"),
    ("celery", "worker/embed.py", "import celery"),
    ("storage", "worker/steps/redact.py", "import redis"),
)
"""A contract, a file, and what to append to it so that the contract must object."""


def lint(folder: Path, *contracts: str) -> "subprocess.CompletedProcess[str]":
    """Runs import-linter over the packages in ``folder``; output in ``stdout``."""
    program = "from importlinter.cli import lint_imports_command; lint_imports_command()"
    chosen = [word for contract in contracts for word in ("--contract", contract)]
    return subprocess.run(
        [sys.executable, "-c", program, "--no-cache", *chosen],
        cwd=folder,
        capture_output=True,
        text=True,
        check=False,
    )


def test_the_imports_keep_the_contracts() -> None:
    """Every import of the product runs in the direction that the contracts allow."""
    done = lint(ROOT)
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.fixture(scope="module")
def copy(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The packages and their contracts, to be broken."""
    folder = tmp_path_factory.mktemp("copy")
    for name in PACKAGES:
        shutil.copytree(ROOT / name, folder / name, ignore=shutil.ignore_patterns("__pycache__", "*.gz"))
    shutil.copy(ROOT / "pyproject.toml", folder)
    return folder


@pytest.mark.parametrize(("contract", "file", "added"), BREAKAGES)
def test_a_contract_notices_what_it_forbids(copy: Path, contract: str, file: str, added: str) -> None:
    """One forbidden import, or a module nobody placed, is enough to break the contract that forbids it."""
    path = copy / file
    before = path.read_text(encoding="utf-8") if path.exists() else None
    try:
        path.write_text(f"{before or ''}\n{added}\n", encoding="utf-8")
        done = lint(copy, contract)
        assert done.returncode == 1, done.stdout + done.stderr
        assert "BROKEN" in done.stdout
    finally:
        if before is None:
            path.unlink()
        else:
            path.write_text(before, encoding="utf-8")
