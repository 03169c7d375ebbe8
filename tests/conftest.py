"""Fixtures every tier may use: see ``tests/services.py``."""

pytest_plugins = ["tests.services"]
