"""Fixtures every tier may use: see ``tests/services.py``."""

import signal

pytest_plugins = ["tests.services"]

# A job in the background, or under nohup, starts with these ignored, and so would all that the tests start.
signal.signal(signal.SIGINT, signal.default_int_handler)
signal.signal(signal.SIGHUP, signal.SIG_DFL)
