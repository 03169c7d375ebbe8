"""What the conformance tests stand on: a tenant each, on the running product or on a host that has runs."""

from collections.abc import Callable, Iterator

import pytest

from tests.acceptance.conftest import door, foreseen, shim, tenant
from tests.acceptance.tenants import Tenant
from tests.conformance.host import Host

__all__ = ["door", "foreseen", "shim", "tenant"]

DOORS = {"FOREWORD_OPENWOP_RUNS": "true", "FOREWORD_OPENWOP_SEAMS": "true"}


@pytest.fixture(scope="session")
def host_url(shim: Callable[..., str]) -> str:
    """A shim with runs and seams."""
    return shim(**DOORS)


@pytest.fixture
def host(product: dict[str, object], host_url: str) -> Iterator[Host]:
    """A tenant of this test's own on that shim."""
    own = Tenant.fresh(product)
    with own.door(url=host_url) as opened:
        yield Host(tenant=own, door=opened)


@pytest.fixture
def neighbour(host: Host, host_url: str) -> Iterator[Host]:
    """Another tenant on the same shim."""
    other = host.tenant.neighbour()
    with other.door(url=host_url) as opened:
        yield Host(tenant=other, door=opened)
