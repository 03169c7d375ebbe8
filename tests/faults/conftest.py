"""A product that is meant to be hurt, and traffic that goes on meanwhile."""

import secrets
import uuid
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager

import pytest

from tests.faults import scan
from tests.faults.traffic import Traffic
from tests.services import Product

SHORTEST_VISIBILITY = "30"
"""Seconds until a broker hands out again what a dead worker held; the least the settings allow."""


@pytest.fixture(scope="session")
def hurt(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Product]:
    """A product with two workers that these tests share; each leaves it running.

    Its vectors are hashes: what is hurt is how they are kept, and a model would take the time of the writes.
    """
    folder = tmp_path_factory.mktemp("hurt") / "data"
    settings = {"FOREWORD_BROKER_VISIBILITY_TIMEOUT": SHORTEST_VISIBILITY, "FOREWORD_EMBEDDER": "hashing"}
    product = Product(folder, "--port", "0", "--workers", "2", **settings).start()
    try:
        product.wait_ready()
        yield product
    finally:
        product.stop()


Storm = Callable[..., AbstractContextManager[Traffic]]


@pytest.fixture
def storm() -> Storm:
    """Traffic on a memory of its own: harm is done inside the block, and judged when it ends.

    Each write holds a secret of a known shape. Afterwards every 202 is filed exactly once, nothing removed
    is served by any path, and no file, table or Redis value holds the secret.
    """

    @contextmanager
    def blow(product: Product, *, total: int = 1000) -> Iterator[Traffic]:
        canary = "ghp_" + secrets.token_hex(18)
        ref = f"storm/{uuid.uuid4()}"
        with Traffic(
            product, ref, lambda n: f"Build {n} is green; the token is {canary}.", total=total
        ).under_way() as traffic:
            yield traffic
        traffic.settle()
        assert scan.found(scan.everywhere(product), {"canary": canary}) == []

    return blow
