"""Fixtures every tier may use: see ``tests/services.py``."""

import signal

pytest_plugins = ["tests.services"]

# A job in the background starts with SIGINT ignored, and so would every process the tests stop with it.
signal.signal(signal.SIGINT, signal.default_int_handler)
