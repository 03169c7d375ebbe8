"""Foreword broken on purpose, while a runtime goes on writing."""

import pytest

pytest.register_assert_rewrite("tests.faults.traffic", "tests.faults.calls")
