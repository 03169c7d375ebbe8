"""What tests on real servers share: one rig a session."""

from collections.abc import Iterator

import pytest
from hypothesis import HealthCheck, settings

from tests.integration.rig import Rig
from tests.services import Services

settings.register_profile(
    "servers",
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.function_scoped_fixture],
    print_blob=True,
)


@pytest.fixture(scope="session")
def rig(services: Services) -> Iterator[Rig]:
    """One worker and one shim in this process."""
    made = Rig(services)
    yield made
    made.close()
