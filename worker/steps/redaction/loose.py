"""Random-looking strings that no known shape claims: told by a secret-like prefix or a word nearby."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterator, Sequence

from worker.steps.redaction.lexicon import LISTS, STRONG
from worker.steps.redaction.plausible import (
    entropy,
    is_hex,
    is_identifier_of_things,
    is_placeholder,
    is_random,
    is_text,
    restless,
)
from worker.steps.redaction.rule import compiled
from worker.steps.redaction.telling import Word

_CANDIDATE = compiled(r"[A-Za-z0-9][A-Za-z0-9_+/=~.-]{15,}")
_PREFIXED = compiled(
    r"^([A-Za-z][A-Za-z0-9]{1,11}(?:[_-][A-Za-z0-9]{1,10}){0,3}?)[_-]([A-Za-z0-9][A-Za-z0-9_-]{15,255})$"
)
_FILE = compiled(
    r"(?i)^\.(?:png|jpe?g|gif|svg|ico|css|m?js|map|woff2?|html?|webp|mp[34]|pdf|json|xml|txt|md|py|go|tsx?|zip|gz|tar)\b"
)
_TELLING = frozenset(LISTS["telling"])
_NAMES = frozenset(LISTS["names"])
_BLANKED = {marks: bytes(32 if b in marks else b for b in range(256)) for marks in (b"=.", b"/.=~")}
_BASE58 = compiled(r"^[1-9A-HJ-NP-Za-km-z]+$")
_GAP_WORDS = frozenset(word.encode() for word in LISTS["gap"])
_LOOK_BACK = 64


def loose(data: bytes, words: Sequence[Word]) -> Iterator[tuple[str, int, int]]:
    """Kind and extent of every run worth hiding; `words` are the telling words, in order."""
    ends = [word.end for word in words]
    for match in _CANDIDATE.finditer(data):
        reach = -1
        for start, end in _pieces(data, *match.span()):
            if start == reach + 1 and data[reach : reach + 1] == b"." and is_random(data[start:end]):
                yield "token", reach, end
                reach = end
            elif not _FILE.match(data[end : end + 7]) and _is_secret(data, start, end, words, ends):
                yield "token", start, end
                reach = end


def _pieces(data: bytes, start: int, end: int) -> Iterator[tuple[int, int]]:
    """The run itself, or its parts when it is a path, a host or an assignment."""
    run = data[start:end]
    marks = b"=." if b"=" in run.rstrip(b"=") or b"." in run else b""
    if data[max(0, start - 3) : start] == b"://" or run.count(b"/") > max(2, len(run) // 24):
        marks = b"/.=~"
    if not marks:
        yield start, start + len(run.rstrip(b"-_~/"))
        return
    at = start
    for part in run.translate(_BLANKED[marks]).split(b" "):
        if len(part) >= 12:
            yield at, at + len(part)
        at += len(part) + 1


def _is_secret(data: bytes, start: int, end: int, words: Sequence[Word], ends: Sequence[int]) -> bool:
    value = data[start:end]
    if len(value) < 16 or len(set(value)) < 7 or is_placeholder(value):
        return False
    prefix, body = _parted(value)
    if prefix in _NAMES:
        return False
    if prefix and _tells_itself(value, in_url=_in_url(data, start)):
        return True
    near = _near(data, start, words, ends)
    if is_identifier_of_things(value):
        return near is not None and near > STRONG
    if is_hex(value):
        return near is not None and near >= STRONG and len(value) >= 24 and entropy(value) >= 3
    if near is not None and (is_random(value) or (len(body) >= 16 and (is_random(body) or is_hex(body)))):
        return True
    return len(value) >= 40 and data[end : end + 1] != b"=" and not _in_url(data, start) and _is_opaque(value)


def _parted(value: bytes) -> tuple[str, bytes]:
    """What stands before the last joint, in small letters, and the rest."""
    match = _PREFIXED.match(value)
    return (match.group(1).lower().decode("latin-1"), match.group(2)) if match else ("", value)


def _near(data: bytes, start: int, words: Sequence[Word], ends: Sequence[int]) -> int | None:
    """How closely a telling word stands before: its rank plus one when only marks part them, its rank when
    a few small words do, 0 when it is merely near, None when there is none."""
    at = bisect_left(ends, start + 1) - 1
    while at >= 0 and start - ends[at] <= _LOOK_BACK:
        gap = data[ends[at] : start].lower()
        inner = gap.translate(_ALNUM).split()
        if words[at].rank >= STRONG:
            if not inner:
                return words[at].rank + 1
            return words[at].rank if len(gap) <= 40 and all(word in _GAP_WORDS for word in inner) else 0
        if not inner and len(gap) <= 4:
            return STRONG
        at -= 1
    return None


_ALNUM = bytes(b if b < 128 and chr(b).isalnum() else 32 for b in range(256))


def _in_url(data: bytes, start: int) -> bool:
    before = data[max(0, start - 200) : start]
    at = before.rfind(b"://")
    return at >= 0 and not any(blank in before[at:] for blank in (b" ", b"\n", b'"', b"'", b"<", b")", b"`"))


def _tells_itself(value: bytes, *, in_url: bool) -> bool:
    """`prefix_body`: a prefix that speaks of keys with a random body, or any prefix with a body longer than
    the names of things have."""
    match = _PREFIXED.match(value)
    if match is None:
        return False
    prefix, body = match.group(1), match.group(2)
    joint = value[len(prefix) : len(prefix) + 1]
    if prefix.lower() != prefix and prefix.upper() != prefix:
        return False
    parts = prefix.lower().decode("latin-1").replace("-", "_").split("_")
    if (
        parts[0] in _NAMES
        or parts[-1] in _NAMES
        or len(body.translate(None, b"_-")) * 10 < len(body) * 9 - 10
    ):
        return False
    telling = any(
        part in _TELLING or part.endswith(("key", "sk", "pat", "token", "secret", "api")) for part in parts
    )
    if in_url and joint == b"-":
        return False
    if is_hex(body):
        return len(body) >= (24 if telling else 40) and (telling or joint == b"_")
    if not is_random(body):
        return False
    return len(body) >= (20 if telling else 30) and (telling or restless(body) >= 0.4)


def _is_opaque(value: bytes) -> bool:
    """Long, of all three kinds of characters, and neither an address in base 58 nor text in base 64."""
    if restless(value) < 0.45 or not is_random(value) or b"+" in value or b"/" in value or b"=" in value[-1:]:
        return False
    if value.islower() or value.isupper() or is_hex(value[2:]):
        return False
    if 42 <= len(value) <= 46 and _BASE58.match(value):
        return False
    return not is_text(value)
