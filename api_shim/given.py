"""Given: the query of a request, and everything that is wrong with the request, to be refused at once."""

import re
from collections.abc import Callable, Collection, Iterable, Sequence
from typing import TypeVar
from urllib.parse import parse_qsl

from foreword.budget import MAX_BUDGET
from foreword.errors import Field, ValidationError

T = TypeVar("T")
Default = TypeVar("Default", str, None)

_INTEGER = re.compile(r"0|[1-9][0-9]{0,15}")
_NUMBER = re.compile(r"-?(0|[1-9][0-9]{0,2})(\.[0-9]{1,32})?([eE][+-]?[0-9]{1,3})?")
_TELLABLE = re.compile(r"[A-Za-z_]{1,32}")
_UNSTORABLE = re.compile(r"[\x00\ud800-\udfff]")


def query_pairs(query: bytes) -> list[tuple[str, str]]:
    """Names and values; bytes that are not UTF-8 become lone surrogates, which pass no check."""
    text = query.decode(errors="surrogateescape")
    return parse_qsl(text, keep_blank_values=True, errors="surrogateescape")


class Given:
    """Query values by name. Nothing is refused before ``close`` or ``finish``, which name every bad field."""

    def __init__(self, pairs: Iterable[tuple[str, str]], known: Collection[str]) -> None:
        self.values: dict[str, str] = {}
        self.bad: list[Field] = []
        for name, value in pairs:
            if name not in known:
                shown = name if _TELLABLE.fullmatch(name) else "(unnamed)"
                self.refuse(shown, "is not an option of this call")
            elif name in self.values:
                self.refuse(name, "is given more than once")
            else:
                self.values[name] = value

    def refuse(self, name: str, reason: str) -> None:
        """One more bad field."""
        self.bad.append(Field(name, reason))

    def close(self) -> None:
        """ValidationError if anything was refused."""
        if self.bad:
            raise ValidationError(list(dict.fromkeys(self.bad)))

    def take(self, read: Callable[[], T]) -> T | None:
        """What ``read`` returns; None where it refuses, which is then said with the rest."""
        try:
            return read()
        except ValidationError as error:
            self.bad += error.fields
            return None

    def finish(self, read: Callable[[], T]) -> T:
        """What ``read``, the last check of all, returns; ValidationError if anything was refused."""
        try:
            value = read()
        except ValidationError as error:
            self.bad += error.fields
            raise ValidationError(list(dict.fromkeys(self.bad))) from error
        self.close()
        return value

    def memory_ref(self) -> str:
        """The memoryRef, of any shape: one that no memory can have names an empty memory."""
        if "memoryRef" not in self.values:
            self.refuse("memoryRef", "is required")
        return self.values.get("memoryRef", "")

    def integer(self, name: str, *, least: int, most: int = MAX_BUDGET) -> int | None:
        """A whole number in plain digits."""
        text = self.values.get(name)
        if text is None:
            return None
        if _INTEGER.fullmatch(text) is None or not least <= int(text) <= most:
            shown = "2^53 - 1" if most == MAX_BUDGET else str(most)
            self.refuse(name, f"must be an integer from {least} to {shown}")
            return None
        return int(text)

    def number(self, name: str, *, least: float, most: float) -> float | None:
        """A decimal number as JSON writes one."""
        text = self.values.get(name)
        if text is None:
            return None
        if _NUMBER.fullmatch(text) is None or not least <= float(text) <= most:
            self.refuse(name, f"must be a number from {least:g} to {most:g}")
            return None
        return float(text)

    def text(self, name: str, most: int) -> str | None:
        """Text that the ledger could hold."""
        text = self.values.get(name)
        if text is None:
            return None
        if not 1 <= len(text) <= most or _UNSTORABLE.search(text) is not None:
            self.refuse(name, f"must be 1 to {most} characters of UTF-8 without U+0000")
            return None
        return text

    def choice(self, name: str, known: Sequence[str], default: Default) -> "str | Default":
        """One of a few words."""
        text = self.values.get(name)
        if text is None:
            return default
        if text not in known:
            self.refuse(name, "must be one of " + ", ".join(known))
            return default
        return text
