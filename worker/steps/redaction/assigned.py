"""Secrets told by the word before them: `password = ...`, `"token": "..."`, `the wifi password is ...`."""

from __future__ import annotations

from dataclasses import dataclass

from worker.steps.redaction.lexicon import LISTS, PASSWORD, RANKS, STRONG, WEAK
from worker.steps.redaction.plausible import (
    is_gibberish,
    is_hex,
    is_identifier_of_things,
    is_passwordlike,
    is_placeholder,
    is_random,
)
from worker.steps.redaction.rule import compiled
from worker.steps.redaction.shadow import Shadow

_IDENTIFIER = b"abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-."
_QUOTES = b"\"'`"

_NOT_A_VALUE = LISTS["not_a_value"]
_NOT_THIS_KEY = LISTS["not_this_key"]
_NOT_THIS_KEY_BYTES = tuple(word.encode() for word in _NOT_THIS_KEY)

_OPERATOR = compiled(
    r"""^([A-Za-z0-9_-]{0,24})(?:\\?["'`\])*}]){0,4}[ \t]{0,20}(=>|:=|\?=|\|\|=?|===?|->|:{1,2}|=|,|>)[ \t]{0,8}(?:\n[ \t]{1,16})?[>{\[( ]{0,3}"""
)
_PROSE = compiled(
    r"""(?i)^[a-z0-9_-]{0,8}["'`*)]{0,3}(?:[ \t]{1,3}\([^)\n]{1,40}\))?(?:[ \t]{1,3}(?:for|of|to|on|at|in|from|with|used|i)\b(?:[ \t]{1,3}[^\s:="]{1,30}){1,6}?)?[ \t]{0,3}(?:(?:is|was|are|be|becomes?|remains?|equals|should be|must be|will be|has been|lautet|ist|es|est|=|:|[ \t](?:\x80|-)[ \t])[ \t]{0,3}\b?(?:[ \t]?(?:now|still|currently|set to|changed to|reset to|updated to|just|called|simply|to|:)[ \t:]{1,2}){0,2}[ \t]{0,3}|(?:changed|set|reset|updated|rotated)[ \t]to[ \t]{1,3})"""
)
_BARE = compiled(r"""(?i)^(?:s|_?[a-z0-9]{0,6})?["'`*)]{0,2}[ \t]{1,4}(?:[A-Z]{8}[ \t])?""")
_TAIL = b".,;:)]}>"
_FIELD = compiled(
    r"""[;&,][ \t]{0,2}[A-Za-z_][\w .-]{0,30}[=:]|</|;(?:\s|$)|,(?:\s|$)|&(?:amp;)?[A-Za-z_][\w.-]{0,30}=|\x81|[\])}]+[,;]?$|%26[A-Za-z_]{1,30}%3D"""
)


@dataclass(frozen=True, slots=True)
class Word:
    """A telling word in the text. `rank` is how much it tells (0: nothing)."""

    start: int
    end: int
    rank: int


def ranked(data: bytes, start: int, end: int, rank: int) -> int:
    """The word's rank once its neighbours are read: `keyboard`, `primary_key`, `token_count` tell nothing."""
    left = data[max(0, start - 24) : start]
    before = left[len(left.rstrip(_IDENTIFIER)) :].lower().decode("latin-1")
    after = data[end : end + 14].decode("latin-1")
    suffix = after[
        : len(after) - len(after.lstrip("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-"))
    ]
    core = suffix.lstrip("_-").lower()
    if core and (
        core.startswith(_NOT_A_VALUE) or (core[0] == "s" and core[1:].lstrip("_-").startswith(_NOT_A_VALUE))
    ):
        return 0
    stem = before.rstrip("_-.")
    if stem.endswith(_NOT_THIS_KEY) or (not stem and left.lower().rstrip(b" ").endswith(_NOT_THIS_KEY_BYTES)):
        return 0
    if rank == WEAK and stem == before and before[-1:].isalpha() and not data[start : start + 1].isupper():
        return 0
    return rank


def named_secret(name: str, value: str) -> str | None:
    """The kind of secret a value is because of the field it is in, or None."""
    label = Shadow(name)
    best = 0
    for word, rank in RANKS.items():
        at = label.lower.rfind(word)
        if at >= 0 and rank > best:
            best = max(best, ranked(label.data, at, at + len(word), rank))
    data = Shadow(value).data
    if not best or len(data) < 4 or not is_secret(data, best, quoted=True, given=True):
        return None
    return "password" if best == PASSWORD else "secret"


def assigned(data: bytes, word: Word) -> tuple[int, int] | None:
    """The value the word is given, when it is one to hide."""
    stop = min(len(data), word.end + 96)
    match = _OPERATOR.match(data[word.end : stop])
    if match is not None:
        found = _value(
            data,
            word.end + match.end(),
            word.rank,
            given=match.group(2) != b">",
            loose=match.group(2) == b",",
        )
        if found:
            return found
    if word.rank < STRONG:
        return None
    match = _PROSE.match(data[word.end : stop])
    if match is not None:
        found = _value(data, word.end + match.end(), word.rank, given=False)
        if found:
            return found
    match = _BARE.match(data[word.end : stop])
    return _value(data, word.end + match.end(), word.rank, given=False) if match is not None else None


def _value(data: bytes, at: int, rank: int, *, given: bool, loose: bool = False) -> tuple[int, int] | None:
    start, end, quoted = _extent(data, at)
    given = given and (quoted or not loose)
    value = data[start:end]
    if len(value) < 4 or not is_secret(value, rank, quoted=quoted, given=given):
        return None
    return start, end


def _extent(data: bytes, at: int) -> tuple[int, int, bool]:
    """Where a value begins and ends: up to its closing quote, or to a blank, a next field or closing mark."""
    escaped = data[at : at + 1] == b"\\" and data[at + 1 : at + 2] in (b'"', b"'")
    start = at + escaped
    mark = data[start : start + 1]
    if mark and mark in _QUOTES:
        close = data.find(b"\\" + mark if escaped else mark, start + 1, start + 513)
        if close > 0 and b"\n" not in data[start + 1 : close]:
            return start + 1, close, True
        start += 1
    end = start
    run = data[start : start + 512]
    for blank in (b" ", b"\n", b"\t", b"\r", b'"', b"'", b"`", b"\x81"):
        cut = run.find(blank)
        if cut >= 0:
            run = run[:cut]
    field = _FIELD.search(run)
    if field is not None and field.start() > 0:
        run = run[: field.start()]
    run = run.rstrip(_TAIL) if not run.endswith(b"=") else run
    end = start + len(run.rstrip(b"\\"))
    return start, end, False


def is_secret(value: bytes, rank: int, *, quoted: bool, given: bool) -> bool:
    """Whether a value beside a telling word is worth hiding; `given` when an operator gives it."""
    if is_placeholder(value) or b"\x81" in value:
        return False
    if rank == PASSWORD:
        return _is_password(value, quoted=quoted, given=given)
    if len(value) < 8 or b" " in value:
        return False
    if is_identifier_of_things(value):
        return rank == STRONG and given
    mixed = is_random(value)
    if rank == STRONG:
        if given:
            return mixed or (is_hex(value) and len(value) >= 16) or _is_made_up(value, quoted=quoted)
        return mixed or (is_hex(value) and len(value) >= 24)
    if not given or _PLAIN.match(value) is None:
        return False
    if is_hex(value) and len(value) in (40, 64) and not quoted:
        return False
    return (mixed and len(value) >= 16) or (quoted and len(value) >= 24 and _is_made_up(value, quoted=True))


_PLAIN = compiled(r"^[\w+/=-]+$")


def _is_made_up(value: bytes, *, quoted: bool) -> bool:
    """Not random enough to be a machine's, but no name either: marks, or cases and digits together."""
    digits = sum(48 <= b <= 57 for b in value)
    lower = any(97 <= b <= 122 for b in value)
    upper = any(65 <= b <= 90 for b in value)
    if any(b in b"!@#$%^&*?~" for b in value) and (lower or upper) and len(value) >= 8:
        return b"/" not in value
    separators = sum(b in b".-/:_" for b in value)
    if digits and lower and upper and len(value) >= 10 and separators * 8 <= len(value):
        return True
    if digits >= 3 and (lower or upper) and len(value) >= 12 and separators == 0:
        return True
    return len(value) >= 16 and separators == 0 and is_gibberish(value)


def _is_password(value: bytes, *, quoted: bool, given: bool) -> bool:
    if b" " in value.strip() and not (quoted and given):
        return False
    if not given:
        return is_passwordlike(value) and (_is_dense(value) or quoted) and not _is_reference(value)
    if is_passwordlike(value):
        return quoted or not _is_reference(value)
    if value.isdigit():
        return len(value) >= 6
    return len(value) >= 6 and quoted


def _is_dense(value: bytes) -> bool:
    """A digit or a mark among letters, not merely words joined by hyphens, dots or slashes."""
    if any(48 <= b <= 57 for b in value):
        return True
    return any(b in b"!@#$%^&*?~+|\\" for b in value) and any(chr(b).isalpha() for b in value)


def _is_reference(value: bytes) -> bool:
    """A name of something rather than a thing: only letters, joined."""
    return all(b < 128 and (chr(b).isalpha() or b in b"_-./:") for b in value)
