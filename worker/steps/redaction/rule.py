"""One expression, what must be near before it is tried, and what its catch must look like."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import re2

from worker.steps.redaction.plausible import (
    decoded,
    entropy,
    is_hex,
    is_passwordlike,
    is_placeholder,
    is_random,
)

Check = Callable[[bytes], bool]


def compiled(pattern: str) -> Any:
    """An RE2 expression over Latin-1 bytes: one byte is one code point of the text."""
    options = re2.Options()
    options.encoding = re2.Options.Encoding.LATIN1
    options.log_errors = False
    return re2.compile(pattern.encode("latin-1"), options)


@dataclass(frozen=True, kw_only=True, slots=True)
class Rule:
    """`accepts` gets what would be hidden and the whole match."""

    kind: str
    keys: tuple[str, ...]
    pattern: Any
    groups: tuple[int, ...]
    accepts: Callable[[bytes, bytes], bool]
    whole_token: bool

    def spans(self, data: bytes) -> Iterator[tuple[int, int]]:
        """Where its secrets are in the data."""
        for match in self.pattern.finditer(data):
            group = next((g for g in self.groups if match.start(g) >= 0), 0)
            start, end = match.span(group)
            if start < end and self.accepts(data[start:end], match.group()):
                yield start, end


def _token(value: bytes) -> bool:
    return entropy(value) >= 2.8 and not is_placeholder(value)


def _random(value: bytes) -> bool:
    body = value.replace(b"-", b"_").rpartition(b"_")[2]
    return not is_placeholder(value) and (
        is_random(value) or (len(body) >= 16 and (is_random(body) or is_hex(body)))
    )


def _password(value: bytes) -> bool:
    return not is_placeholder(value) and is_passwordlike(value)


def _word(value: bytes) -> bool:
    return not is_placeholder(value)


def _url(value: bytes) -> bool:
    if value[:1] in b"$<{*[%" or b"${" in value or b"***" in value:
        return False
    return b"/" not in value or not value.partition(b"/")[0].isdigit()


def _bearer(value: bytes) -> bool:
    return not is_placeholder(value) and len(set(value)) >= 6 and any(48 <= b <= 57 for b in value)


def _slack(value: bytes) -> bool:
    digits = sum(48 <= b <= 57 for b in value)
    return digits >= 6 and not is_placeholder(value) and entropy(value) >= 2.8


def _awsid(value: bytes) -> bool:
    return not value.endswith(b"EXAMPLE") and entropy(value) >= 3.0 and any(48 <= b <= 57 for b in value[4:])


def _basic(value: bytes) -> bool:
    plain = decoded(value)
    return b":" in plain and all(b >= 32 for b in plain)


def _pem(value: bytes) -> bool:
    return len(value) >= 60


def _pem64(value: bytes) -> bool:
    return b"PRIVATE KEY" in decoded(value[:120])


def _k8s(value: bytes) -> bool:
    return is_random(value) or (len(value) % 4 == 0 and is_passwordlike(value) and not is_placeholder(value))


CHECKS: dict[str, Check] = {
    "token": _token,
    "random": _random,
    "password": _password,
    "word": _word,
    "url": _url,
    "bearer": _bearer,
    "slack": _slack,
    "awsid": _awsid,
    "basic": _basic,
    "pem": _pem,
    "pem64": _pem64,
    "k8s": _k8s,
    "any": bool,
}
