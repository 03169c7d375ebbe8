"""Secrets told by the word before them: `password = ...`, `"token": "..."`, `the wifi password is ...`."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from worker.steps.redaction.lexicon import PASSWORD, STRONG
from worker.steps.redaction.rule import compiled
from worker.steps.redaction.telling import IDENTIFIER, Word
from worker.steps.redaction.worth import is_secret

_WINDOW = 96
_LONGEST = 2048
_QUOTES = b"\"'`"
_QUOTED = (b'"', b"'", b"`")
_ENDING = b";&,<)]}%\x80"
_TAIL = b".,;:)]}>"

_OPERATOR = compiled(
    r"""^[A-Za-z0-9_-]{0,24}(?:\\?["'`\])*}]){0,4}[ \t]{0,20}"""
    r"""(=>|:=|\?=|\|\|=?|===?|->|:{1,2}|=|,|>)[ \t]{0,8}(?:\n[ \t]{1,16})?[>{\[( ]{0,3}"""
)
_ABOUT = r"""(?:[ \t]{1,3}(?:for|of|to|on|at|in|from|with|used|i)\b(?:[ \t]{1,3}[^\s:="]{1,30}){1,6}?)?"""
_VERB = (
    r"""(?:is|was|are|be|becomes?|remains?|equals|should be|must be|will be|has been|lautet|ist|es|est|=|:"""
    r"""|[ \t]-[ \t]|\x80{1,4}:?)[ \t]{0,3}"""
)
_ADVERB = (
    r"""(?:[ \t]?(?:now|still|currently|set to|changed to|reset to|updated to|just|called|simply|to|:)"""
    r"""[ \t:]{1,2}){0,2}[ \t]{0,3}"""
)
_PROSE = compiled(
    rf"""(?i)^[a-z0-9_-]{{0,8}}["'`*)]{{0,3}}(?:[ \t]{{1,3}}\([^)\n]{{1,40}}\))?{_ABOUT}[ \t]{{0,3}}"""
    rf"""(?:{_VERB}{_ADVERB}|(?:changed|set|reset|updated|rotated)[ \t]to[ \t]{{1,3}})"""
)
_BARE = re.compile(rb"""[A-Za-z0-9_]{0,6}["'`*)]{0,2}[ \t]{1,4}(?:[A-Z]{8}[ \t])?""")
_RUN = re.compile(rb"[^\s\"'`\x81]{0,%d}" % _LONGEST)
_NEXT_FIELD = compiled(
    r"""[;&,][ \t]{0,2}[A-Za-z_][\w .-]{0,30}[=:]|</|[;,](?:\s|$)|&(?:amp;)?[A-Za-z_][\w.-]{0,30}="""
    r"""|[\])}]+[,;]?$|%26[A-Za-z_]{1,30}%3D|[.,;]\x80"""
)


def assigned(data: bytes, words: Sequence[Word]) -> Iterator[tuple[int, int, int]]:
    """Extent of every value to hide and the rank of the word that tells it; `words` in order."""
    for at, word in enumerate(words):
        limit = len(data)
        for later in words[at + 1 : at + 4]:
            if later.start >= word.end and data[later.end : later.end + 1] in (b"=", b":"):
                limit = later.start
                break
        found = _told(data, word, limit)
        if found:
            yield *found, word.rank


def _told(data: bytes, word: Word, limit: int) -> tuple[int, int] | None:
    """What an operator gives it, or else what the sentence says it is."""
    window = data[word.end : word.end + _WINDOW]
    match = _OPERATOR.match(window) if window.lstrip(_BEFORE_OPERATOR)[:1] in _OPERATORS else None
    if match is None:
        return _said(data, word, limit) if word.rank >= STRONG else None
    operator, at = match.group(1), word.end + match.end()
    if operator == b">":
        found = _value(data, at, word.rank, limit, given=True)
        return found if found and data[found[1] : found[1] + 2] == b"</" else None
    if operator != b",":
        return _value(data, at, word.rank, limit, given=True)
    if data[at : at + 1] in _QUOTED and data.find(b"\n", word.end, at) < 0:
        return _value(data, at, word.rank, limit, given=word.rank < PASSWORD)
    return _said(data, word, limit) if word.rank >= STRONG else None


def _said(data: bytes, word: Word, limit: int) -> tuple[int, int] | None:
    """What a sentence says it is, or what simply follows it."""
    window = data[word.end : word.end + _WINDOW]
    if window.lstrip(IDENTIFIER)[:1] not in _FOLLOWS:
        return None
    match = _PROSE.match(window) if any(verb in window for verb in _VERBS) else None
    found = match and _value(data, word.end + match.end(), word.rank, limit, given=False)
    if found:
        return found
    bare = _BARE.match(window)
    return _value(data, word.end + bare.end(), word.rank, limit, given=False) if bare else None


_FOLLOWS = frozenset(bytes((b,)) for b in b" \t\"'`*)(:=\x80")
_VERBS = (
    *(b" is", b" was", b" are", b" be", b" to ", b" es", b" ist", b" - ", b"=", b":", b"\x80"),
    *(b"remain", b"become", b"equal", b"lautet"),
)
_OPERATORS = frozenset(bytes((b,)) for b in b"=:>,|?-")
_BEFORE_OPERATOR = IDENTIFIER + b"\\\"'`])*} \t"


def _value(data: bytes, at: int, rank: int, limit: int, *, given: bool) -> tuple[int, int] | None:
    start, end, quoted = _extent(data, at, limit)
    if is_secret(data[start:end], rank, quoted=quoted, given=given):
        return start, end
    return None


def _extent(data: bytes, at: int, limit: int) -> tuple[int, int, bool]:
    """Where a value begins and ends: up to its closing quote, or to a blank, a next field or closing mark."""
    escaped = data[at : at + 1] == b"\\" and data[at + 1 : at + 2] in (b'"', b"'")
    start = at + escaped
    mark = data[start : start + 1]
    if mark and mark in _QUOTES:
        close = data.find(b"\\" + mark if escaped else mark, start + 1, start + 1 + _LONGEST)
        if close > 0 and data.find(b"\n", start + 1, close) < 0:
            return start + 1, close, True
        start += 1
    run = _RUN.match(data, start, max(start, limit))
    value = run.group() if run else b""
    if len(value) > len(value.translate(None, _ENDING)):
        field = _NEXT_FIELD.search(value)
        if field is not None and field.start() > 0:
            value = value[: field.start()]
    if not value.endswith(b"="):
        value = value.rstrip(_TAIL)
    return start, start + len(value.rstrip(b"\\")), False
