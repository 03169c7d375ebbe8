"""JSON Lines from chunks of bytes. Lines end at LF alone: a memory's text may hold U+2028 and its kind."""

import json
from collections.abc import Callable
from typing import Any

from foreword.errors import ForewordError


class Lines:
    """Takes chunks as they come, gives the objects of whole lines; ``refusal`` makes a bad line's error."""

    def __init__(self, refusal: Callable[[str], ForewordError]) -> None:
        self._refusal = refusal
        self._rest = b""
        self._number = 0

    def feed(self, chunk: bytes) -> list[dict[str, Any]]:
        """The objects whose lines this chunk completes."""
        *whole, self._rest = (self._rest + chunk).split(b"\n")
        return [value for line in whole if (value := self._read(line)) is not None]

    def finish(self) -> list[dict[str, Any]]:
        """The object of a last line without an end, if there is one."""
        return self.feed(b"\n")

    def _read(self, line: bytes) -> dict[str, Any] | None:
        self._number += 1
        if not line.strip():
            return None
        try:
            value = json.loads(line)
        except ValueError as error:
            raise self._refusal(f"Line {self._number} is not JSON.") from error
        if not isinstance(value, dict):
            raise self._refusal(f"Line {self._number} is not a JSON object.")
        return value
