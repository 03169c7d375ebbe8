"""Random-looking strings that no known shape claims: told by a secret-like prefix or a word nearby."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterator, Sequence

from worker.steps.redaction.assigned import STRONG, Word
from worker.steps.redaction.plausible import (
    entropy,
    is_hex,
    is_identifier_of_things,
    is_placeholder,
    is_random,
)
from worker.steps.redaction.rule import compiled

_CANDIDATE = compiled(r"[A-Za-z0-9][A-Za-z0-9_+/=~.-]{15,}")
_PREFIXED = compiled(
    r"^([A-Za-z][A-Za-z0-9]{1,11}(?:[_-][A-Za-z0-9]{1,10}){0,3}?)[_-]([A-Za-z0-9][A-Za-z0-9_-]{15,255})$"
)
_FILE = compiled(
    r"(?i)^\.(?:png|jpe?g|gif|svg|ico|css|m?js|map|woff2?|html?|webp|mp[34]|pdf|json|xml|txt|md|py|go|tsx?|zip|gz|tar)\b"
)
_TELLING = frozenset(
    "sk rk key apikey api pat token tok secret live prod test dev auth access refresh bot svc svcacct admin pw pass "
    "oauth session sess webhook wh hook priv pri private client cli user personal service ingest deploy master license".split()
)
_NAMES = frozenset(
    "msg req request call run file org cus pi ch evt sub in price acct usr tx thread chatcmpl resp toolu batch trace span "
    "build job task img image sha sha1 sha256 sha384 sha512 md5 blob node pod vol subnet vpc ami eni snap arn uuid guid "
    "id hash commit ref tag branch rev release version v main app bundle chunk vendor index style asset doc page note conv "
    "conversation item obj object txn inv invoice order ord prod product plan seti pm card src tok_visa ba cs evt we ii il "
    "si txr fee dp po tr py re ses mem memory asst vs step ft ftjob modelcmpl cmpl gen img embd plan team proj project "
    "workspace space channel chan room event session_id ip host srv server db table col row idx seg shard part partition "
    "gen sess_id gclid fbclid etag nonce boundary webkitformboundary container layer digest checksum integrity fingerprint".split()
)
_GAP_WORDS = frozenset(
    b"is was are be for of the a an to it this that value prod production staging stage live test dev new old current my our "
    b"api key token secret as equals using with header and in named called here ends starts x".split()
)
_LOOK_BACK = 64


def loose(data: bytes, words: Sequence[Word]) -> Iterator[tuple[str, int, int]]:
    """Kind and extent of every run worth hiding; `words` are the telling words, in order."""
    ends = [word.end for word in words]
    for match in _CANDIDATE.finditer(data):
        start, end = match.span()
        for s, e in _pieces(data, start, end):
            if _FILE.match(data[e : e + 7]):
                continue
            kind = _judged(data, s, e, words, ends)
            if kind:
                yield kind, s, e


def _pieces(data: bytes, start: int, end: int) -> Iterator[tuple[int, int]]:
    """The run itself, or its parts when it is a path, a host or an assignment."""
    run = data[start:end]
    if (
        data[max(0, start - 3) : start] == b"://"
        or b"/" in run[:1]
        or run.count(b"/") > max(2, len(run) // 24)
    ):
        yield from _split(start, run, b"/.=~")
        return
    if b"=" in run.rstrip(b"=") or b"." in run:
        yield from _split(start, run, b"=.")
        return
    yield start, start + len(run.rstrip(b".-_~/"))


def _split(start: int, run: bytes, marks: bytes) -> Iterator[tuple[int, int]]:
    flat = run.translate(bytes(32 if b in marks else b for b in range(256)))
    at = 0
    for part in flat.split(b" "):
        if len(part) >= 16:
            yield start + at, start + at + len(part)
        at += len(part) + 1


def _judged(data: bytes, start: int, end: int, words: Sequence[Word], ends: Sequence[int]) -> str | None:
    value = data[start:end]
    near = _near(data, start, words, ends)
    if near is None:
        return "token" if _tells_itself(value) else None
    if is_identifier_of_things(value) or is_placeholder(value):
        return None
    if is_hex(value):
        return "token" if near and len(value) >= 24 and entropy(value) >= 3 else None
    body = value.replace(b"-", b"_").rpartition(b"_")[2]
    prefix = value[: len(value) - len(body)].rstrip(b"_-").lower()
    if prefix.decode("latin-1") in _NAMES:
        return None
    return "token" if is_random(value) or (len(body) >= 16 and (is_random(body) or is_hex(body))) else None


def _near(data: bytes, start: int, words: Sequence[Word], ends: Sequence[int]) -> bool | None:
    """True when a telling word stands right before, False when merely near, None when none is."""
    at = bisect_left(ends, start + 1) - 1
    while at >= 0 and start - ends[at] <= _LOOK_BACK:
        if words[at].rank >= STRONG:
            gap = data[ends[at] : start].lower()
            return _is_short(gap)
        at -= 1
    return None


def _is_short(gap: bytes) -> bool:
    words = gap.translate(bytes(b if chr(b).isalnum() and b < 128 else 32 for b in range(256))).split()
    return len(gap) <= 40 and all(word in _GAP_WORDS for word in words)


def _tells_itself(value: bytes) -> bool:
    match = _PREFIXED.match(value)
    if match is None or is_placeholder(value):
        return False
    parts = match.group(1).lower().decode("latin-1").replace("-", "_").split("_")
    body = match.group(2)
    if not any(part in _TELLING for part in parts) or parts[0] in _NAMES:
        return False
    return len(body) >= 20 and (is_random(body) or (is_hex(body) and len(body) >= 24))
