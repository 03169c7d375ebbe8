"""What the tests over HTTP stand on: a tenant of their own each, and shims with other settings."""

import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from typing import Any

import httpx
import pytest

from foreword.embedded import ports
from foreword.embedded.credentials import Credentials
from foreword.embedded.environment import as_role
from foreword.embedded.folder import Folder
from tests.acceptance.tenants import Tenant
from tests.services import Product, eventually


@pytest.fixture
def tenant(product: dict[str, Any]) -> Tenant:
    """A tenant of this test's own."""
    return Tenant.fresh(product)


@pytest.fixture
def door(tenant: Tenant) -> Iterator[httpx.Client]:
    """A client that may do everything in it."""
    with tenant.door() as opened:
        yield opened


@pytest.fixture
def foreseen(running_product: Product) -> Iterator[None]:
    """Fails when the shim logs an error that nobody foresaw."""
    log = Folder(running_product.data_dir).log("shim")
    size = log.stat().st_size
    yield
    with log.open("rb") as written:
        written.seek(size)
        told = written.read().decode(errors="replace")
    assert "unforeseen" not in told, told
    assert "Traceback" not in told, told


@pytest.fixture(scope="session")
def shim(running_product: Product) -> Iterator[Callable[..., str]]:
    """Starts one more shim on the product's stores, with settings of one's own; its URL."""
    with ExitStack() as stack:

        def start(**settings: str) -> str:
            port = ports.free()
            process = subprocess.Popen(
                (sys.executable, "-m", "api_shim"),
                env={**os.environ, **environment(running_product, port), **settings},
            )
            stack.callback(process.wait, 20)
            stack.callback(process.terminate)
            url = f"http://127.0.0.1:{port}"
            eventually(lambda: serves(url), "a second shim serves")
            return url

        yield start


def environment(running: Product, port: int) -> dict[str, str]:
    ready = running.wait_ready()
    kept = Credentials.load(Folder(running.data_dir).credentials)
    assert kept is not None
    return {
        "FOREWORD_DATABASE_URL": as_role(ready["databaseUrl"], "foreword_shim", kept.shim_password),
        "FOREWORD_REDIS_URL": ready["redisUrl"],
        "FOREWORD_BROKER_URL": ready["brokerUrl"],
        "FOREWORD_SEAL_PUBLIC_KEY": ready["sealKey"],
        "FOREWORD_DIGEST_KEY": kept.digest_key,
        "FOREWORD_PORT": str(port),
    }


def serves(url: str) -> bool:
    try:
        return httpx.get(f"{url}/readyz").status_code == 200
    except httpx.TransportError:
        return False
