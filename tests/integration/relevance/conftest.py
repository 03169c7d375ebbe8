"""One library a session, and a scope of its own for each test."""

from collections.abc import Iterator

import pytest

from foreword.scope import Scope
from tests.integration.relevance.library import Library
from tests.integration.rig import Rig


@pytest.fixture(scope="session")
def library(rig: Rig) -> Iterator[Library]:
    """Filing, embedding by hashing, and searching."""
    made = Library(rig)
    yield made
    made.close()


@pytest.fixture
def scope(rig: Rig) -> Scope:
    """A memory of a new tenant."""
    return rig.scope(rig.tenant())
