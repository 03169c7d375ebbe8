"""What the conformance tests stand on: a host with its doors for runs mounted, over the product's stores."""

from collections.abc import Callable, Iterator

import pytest

from tests.acceptance.conftest import shim
from tests.acceptance.tenants import Tenant
from tests.conformance.host import Host

__all__ = ["shim"]

DOORS = {"FOREWORD_OPENWOP_RUNS": "true", "FOREWORD_OPENWOP_SEAMS": "true"}


@pytest.fixture(scope="session")
def host_url(shim: Callable[..., str]) -> str:
    """A shim with runs and seams."""
    return shim(**DOORS)


@pytest.fixture
def host(product: dict[str, object], host_url: str) -> Iterator[Host]:
    """A tenant of this test's own on that shim."""
    tenant = Tenant.fresh(product)
    with tenant.door(url=host_url) as door:
        yield Host(tenant=tenant, door=door)


@pytest.fixture
def neighbour(host: Host, host_url: str) -> Iterator[Host]:
    """Another tenant on the same shim."""
    tenant = host.tenant.neighbour()
    with tenant.door(url=host_url) as door:
        yield Host(tenant=tenant, door=door)
