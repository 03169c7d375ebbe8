"""What a client install loads."""

import json
import subprocess
import sys

import pytest

_HEAVY = {
    "ahocorasick",
    "celery",
    "kombu",
    "nacl",
    "numpy",
    "onnxruntime",
    "platformdirs",
    "psycopg",
    "pydantic",
    "pydantic_settings",
    "re2",
    "redis",
    "starlette",
    "tiktoken",
    "tokenizers",
    "uvicorn",
}


@pytest.mark.parametrize(
    "program",
    [
        "import foreword; foreword.Client, foreword.AsyncClient, foreword.select",
        "import foreword.cli.root",
    ],
)
def test_the_client_loads_nothing_of_the_server(program: str) -> None:
    """The client, the laws and the command line start without any of the server's libraries."""
    listing = "import sys, json; print(json.dumps([name.partition('.')[0] for name in sys.modules]))"
    done = subprocess.run(
        [sys.executable, "-c", f"{program}; {listing}"], capture_output=True, text=True, check=True
    )
    assert _HEAVY & set(json.loads(done.stdout)) == set()
