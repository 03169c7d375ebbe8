"""SQL and Lua live in files beside their one caller; this reads them.

A ``.sql`` file of queries holds blocks, each under a line ``-- name: the_name``.
"""

import re
from functools import cache
from importlib.resources import files

_NAME = re.compile(r"^-- name: (\w+)\s*$", re.MULTILINE)


@cache
def text(package: str, name: str) -> str:
    """A package file as text."""
    return files(package).joinpath(name).read_text(encoding="utf-8")


@cache
def queries(package: str, name: str) -> dict[str, str]:
    """The named queries of a ``.sql`` file."""
    parts = _NAME.split(text(package, name))
    return dict(zip(parts[1::2], (part.strip() for part in parts[2::2]), strict=True))
