"""A tenant of each test's own on the running product."""

from tests.acceptance.conftest import door, foreseen, shim, tenant

__all__ = ["door", "foreseen", "shim", "tenant"]
