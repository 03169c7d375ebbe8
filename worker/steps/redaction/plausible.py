"""Does this look made up by a machine, or typed as a password? Judgements on short byte strings."""

from __future__ import annotations

import base64
import binascii
import math
from collections import Counter
from itertools import pairwise, product, repeat
from operator import ne

import re2

from worker.steps.redaction.lexicon import LISTS

_CLASS = bytes(
    ord("a")
    if 97 <= code <= 122
    else ord("A")
    if 65 <= code <= 90
    else ord("0")
    if 48 <= code <= 57
    else ord("-")
    for code in range(256)
)
_LATIN1 = re2.Options()
_LATIN1.encoding = re2.Options.Encoding.LATIN1

_UUID = re2.compile(rb"(?i)^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$", _LATIN1)
_ULID = re2.compile(rb"^[0-7][0-9A-HJKMNP-TV-Z]{25}$", _LATIN1)
_JOINTS = b"_-./"
_HEX_DIGITS = b"0123456789abcdefABCDEF"
_SAMPLES = (b"abc", b"test", b"foo", b"sample", b"fake", b"demo")
_SAYS_SO = (
    b"xxxx",
    b"example",
    b"placeholder",
    b"redacted",
    b"changeme",
    b"changeit",
    b"replace",
    b"dummy",
    b"fixme",
)
_FETCHERS = (
    "self|this|os|process|env|secrets?|vault|config|settings|ctx|req|request|params|props|getenv|import|args|var|data"
    "|local|module|each|options|opts|credentials?|event|response|res|user|session"
)
_CODE = re2.compile(
    (
        r"(?i)^(?:[$%]\{?|<[a-z/]|\{\{|\{[a-z_]*\}$|\$\(|\(|\[|@\w+@$|[|>][+-]?$|(?:https?|file|arn):|\.{1,2}/|\\[bdsw]"
        rf"|(?:{_FETCHERS})\s?[.(\[]|[a-z_][\w.]*\(|\w+(?:\.[a-z_]\w*)*\[|(?:function|lambda|async|await|new)\b)"
    ).encode(),
    _LATIN1,
)
_STAND_INS = (
    "null|none|nil|true|false|undefined|void|empty|string|str|text|number|int|bool(?:ean)?|object|any|bytes?|required"
    "|optional|disabled?|enabled?|hidden|default|unknown|n/?a|tbd|todo|secret|token|key|value|pass|password|passwd"
    "|passphrase|username|user|api[_-]?key|input|field|auto|yes|no|on|off|prompt|ask|bearer|basic"
)
_PLACEHOLDER = re2.compile(
    (
        rf"(?i)(?:^(?:{_STAND_INS}|\[.{{0,40}}\]|[_\W]+)[,;]?$"
        r"|x{4,}|\*{3,}|#{4,}|\.{3,}|_{5,}|-{5,}|\?{3,}|<[^>]*>|\$\{|\{\{"
        r"|example|placeholder|redacted|change[_-]?(?:me|it|this)|replace[_-]?(?:me|with|this)|dummy|fixme"
        r"|your[_ .-]|\bmy[_-](?:secret|token|key|pass|api)|[_ .-]here\b|insert[_ .-]"
        r"|^(?:abc|test|foo|sample|fake|demo)"
        r"(?:[_ .-]?(?:abc|123|test|key|token|secret|value|pass(?:word)?|api|[0-9]{1,4}))*$"
        r"|^[a-z]+(?:[_-][a-z]+)*[_-](?:password|passwd|secret|token|key|pass)$)"
    ).encode(),
    _LATIN1,
)


def entropy(value: bytes) -> float:
    """Shannon entropy in bits a byte."""
    size = len(value)
    return -sum(n / size * math.log2(n / size) for n in Counter(value).values()) if size else 0.0


def is_placeholder(value: bytes) -> bool:
    """Stands for a value, or is code that fetches one, or repeats one character."""
    if len(set(value)) <= 3:
        return True
    if len(value) >= 12 and value.isalnum() and not value.isalpha():
        lower = value.lower()
        if not lower.startswith(_SAMPLES) and not any(word in lower for word in _SAYS_SO):
            return False
    return _CODE.match(value) is not None or _PLACEHOLDER.search(value) is not None


def is_identifier_of_things(value: bytes) -> bool:
    """A UUID or a ULID: names rows, and now and then opens doors."""
    if len(value) == 36:
        return value.count(b"-") == 4 and _UUID.match(value) is not None
    return len(value) == 26 and _ULID.match(value) is not None


def is_hex(value: bytes) -> bool:
    """Hexadecimal digits only."""
    return not value.translate(None, _HEX_DIGITS)


def restless(value: bytes) -> float:
    """Share of neighbours of unlike class (lower, upper, digit, other): .6 in base 62, .45 in hex, .4 in
    base 36, under .3 in what people write."""
    shape = value.translate(_CLASS)
    return sum(map(ne, shape, shape[1:])) / (len(shape) - 1) if len(shape) > 1 else 0.0


def is_random(value: bytes) -> bool:
    """Long enough, letters and digits thoroughly mixed: nobody would type it."""
    plain = value.translate(None, _JOINTS)
    size = len(plain)
    if len(value) < 12 or size < 8 or len(set(plain)) < 7 or (len(value) - size) * 6 > len(value) + 6:
        return False
    shape = plain.translate(_CLASS)
    digits = shape.count(b"0")
    lower, upper = shape.count(b"a"), shape.count(b"A")
    if not lower and not upper:
        return False
    if digits == 0:
        return size >= 20 and min(lower, upper) >= size // 5 and restless(plain) >= 0.4
    if digits > size * 0.85 or (digits < 2 and not (lower and upper)):
        return False
    change = restless(plain)
    if lower and upper:
        return change >= 0.34 and (not _wordy(shape) or is_gibberish(plain))
    return change >= 0.34 or (change >= 0.12 and is_gibberish(plain))


def _wordy(shape: bytes) -> bool:
    """Most of it is long runs of small letters, as in words joined by marks or numbers."""
    runs = shape.replace(b"A", b" ").replace(b"0", b" ").replace(b"-", b" ").split()
    return sum(len(run) for run in runs if len(run) >= 6) > len(shape) * 0.5


_LETTERS = b"abcdefghijklmnopqrstuvwxyz"
_PAIR_VALUE = dict.fromkeys(product(_LETTERS, repeat=2), 0) | {
    (pair.encode()[0], pair.encode()[1]): 1 for pair in LISTS["pairs"]
}


def is_gibberish(value: bytes) -> bool:
    """Its letter pairs are not those of words (English: nearly all common; random letters: a third)."""
    lower = value.lower()
    pairs = list(map(_PAIR_VALUE.get, pairwise(lower), repeat(-1)))
    common = pairs.count(1)
    letters = common + pairs.count(0)
    return letters >= 4 and common < letters * 0.66


def is_passwordlike(value: bytes) -> bool:
    """At least two kinds of characters, as passwords have and plain words have not."""
    shape = value.translate(_CLASS)
    kinds = (
        (b"a" in shape)
        + (b"A" in shape[1:])
        + (b"0" in shape)
        + (b"-" in shape.strip(b"-")[:-1] or shape.endswith(b"-"))
    )
    return kinds >= 2 and (b"a" in shape or b"A" in shape or b"\x80" in value)


def decoded(value: bytes) -> bytes:
    """Base 64 of either alphabet, padded or not, undone; empty when it is none."""
    plain = value.replace(b"-", b"+").replace(b"_", b"/").rstrip(b"=")
    plain = plain[: len(plain) - (len(plain) % 4 == 1)]
    try:
        return base64.b64decode(plain + b"=" * (-len(plain) % 4))
    except (binascii.Error, ValueError):
        return b""


def is_text(value: bytes) -> bool:
    """Base 64 of readable text."""
    plain = decoded(value)
    return len(plain) >= 12 and sum(32 <= b < 127 for b in plain) > len(plain) * 0.95
