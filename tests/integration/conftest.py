"""What tests on real servers share: one rig a session."""

import asyncio
from collections.abc import Iterator
from typing import Any

import psycopg
import pytest
import uvloop
from hypothesis import HealthCheck, settings

from tests.integration.rig import Rig
from tests.services import Services
from worker.parts import Parts

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


@pytest.fixture(params=[uvloop.new_event_loop, asyncio.new_event_loop], ids=["uvloop", "asyncio"])
def runner(request: pytest.FixtureRequest) -> Any:
    """Runs on the event loop that serves, and on Python's own."""
    with asyncio.Runner(loop_factory=request.param) as made:
        yield made


@pytest.fixture
def tenant(rig: Rig) -> int:
    """A tenant of its own for each test."""
    return rig.tenant()


@pytest.fixture(scope="module")
def parts(rig: Rig) -> Parts:
    """A worker."""
    return rig.parts()


@pytest.fixture(scope="module")
def owner(rig: Rig) -> Iterator[psycopg.Connection[Any]]:
    """The owner's connection, to look and to spoil."""
    with psycopg.connect(rig.services.owner_url, autocommit=True) as conn:
        yield conn


@pytest.fixture(scope="module")
def shim(rig: Rig) -> Iterator[psycopg.Connection[Any]]:
    """A connection with the rights of the shim."""
    with psycopg.connect(rig.services.shim_url, autocommit=True) as conn:
        yield conn
