"""What a fresh interpreter has loaded after an import: static contracts cannot see a dynamic one."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from foreword import seal

SERVER_LIBRARIES = frozenset(
    {
        *("ahocorasick", "celery", "kombu", "nacl", "numpy", "onnxruntime", "psycopg"),
        *("psycopg_pool", "pydantic", "pydantic_settings", "re2", "redis", "starlette", "tiktoken"),
        *("tokenizers", "uvicorn"),
    }
)

SHIM = {
    "FOREWORD_DATABASE_URL": "postgresql://foreword_shim:none@127.0.0.1:1/none",
    "FOREWORD_REDIS_URL": "redis://127.0.0.1:1/0",
    "FOREWORD_BROKER_URL": "redis://127.0.0.1:1/1",
    "FOREWORD_DIGEST_KEY": "none",
    "FOREWORD_SEAL_PUBLIC_KEY": seal.public_key(seal.new_secret_key()),
}


def loaded(code: str, folder: Path, **settings: str) -> set[str]:
    """The names of all top-level modules a fresh interpreter has after ``code``."""
    told = {"FOREWORD_DATA_DIR": str(folder), "PATH": os.environ.get("PATH", ""), **settings}
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", f"{code}\nimport sys\nprint('\\n'.join(sys.modules))"],
        env=told,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return {name.partition(".")[0] for name in done.stdout.splitlines()}


def test_shim_loads_no_celery(tmp_path: Path) -> None:
    """The HTTP server starts, reads and searches without the task queue, the tokenizer or the redaction."""
    found = loaded("import api_shim.asgi", tmp_path, **SHIM)
    assert {"api_shim", "starlette", "redis", "psycopg"} <= found
    assert not found & {"celery", "kombu", "tiktoken", "ahocorasick", "re2", "worker"}


@pytest.mark.parametrize(
    "code",
    [
        "import foreword",
        "import foreword; foreword.Client",
        "import foreword; foreword.AsyncClient",
        "import foreword; foreword.Client('http://127.0.0.1:1', 'fw_none').close()",
        "import foreword; foreword.select([3, 4], 5); foreword.InjectionBudget().apply([])",
    ],
)
def test_a_runtime_loads_none_of_the_servers_libraries(code: str, tmp_path: Path) -> None:
    """What a runtime imports from Foreword needs httpx alone."""
    assert not loaded(code, tmp_path) & SERVER_LIBRARIES


def test_a_shim_without_an_embedder_loads_no_model(tmp_path: Path) -> None:
    """Where nothing is found by meaning, the model's libraries stay where they are."""
    model = {"numpy", "onnxruntime", "tokenizers"}
    assert not loaded("import api_shim.asgi", tmp_path, **SHIM, FOREWORD_EMBEDDER="none") & model
    assert loaded("import api_shim.asgi", tmp_path, **SHIM) >= model


def test_a_worker_that_files_loads_no_model(tmp_path: Path) -> None:
    """Only the embedding process has the model."""
    found = loaded("import worker.celery", tmp_path, **SHIM)
    assert "celery" in found
    assert not found & {"numpy", "onnxruntime", "tokenizers"}


def test_importing_foreword_loads_no_client(tmp_path: Path) -> None:
    """``import foreword`` costs nothing before a name is used."""
    assert "httpx" not in loaded("import foreword", tmp_path)


def test_enqueue_loads_no_worker_code(tmp_path: Path) -> None:
    """A runtime that queues Drafts needs Celery and the seal, not the worker nor its redaction."""
    found = loaded("import foreword; foreword.enqueue", tmp_path)
    assert {"celery", "nacl"} <= found
    assert not found & {"worker", "api_shim", "psycopg", "starlette", "tiktoken", "pydantic", "re2"}
