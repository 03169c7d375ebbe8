"""Gate two: strings shaped like secrets, whether anybody registered them or not."""

from __future__ import annotations

import tomllib
from bisect import bisect_right
from collections.abc import Iterator
from functools import lru_cache
from importlib.resources import files
from typing import Any

import ahocorasick

from worker.steps.redaction.assigned import assigned
from worker.steps.redaction.gitleaks import gitleaks_rules
from worker.steps.redaction.lexicon import LISTS, PASSWORD, RANKS
from worker.steps.redaction.loose import loose
from worker.steps.redaction.plausible import is_random
from worker.steps.redaction.quiet import QUIET_KEYS, quiet
from worker.steps.redaction.rule import CHECKS, Rule, compiled
from worker.steps.redaction.shadow import Shadow
from worker.steps.redaction.span import Hit
from worker.steps.redaction.telling import Word, ranked


class Shapes:
    """All rules behind one keyword automaton. Immutable after building, so any thread may use it."""

    def __init__(self, rules: list[Rule]) -> None:
        self.rules = tuple(rules)
        self.kinds = frozenset(rule.kind for rule in rules) | {"password", "secret", "token", "redacted"}
        self._quiet = 1 << len(self.rules)
        self._automaton = _automaton(self.rules, self._quiet)

    def find(self, text: str, shadow: Shadow) -> Iterator[Hit]:
        """Every hit, in no order, overlapping as it comes."""
        mask, words = self._telling(shadow)
        hits = self._matched(shadow.data, mask)
        still = quiet(shadow.data) if mask & self._quiet else []
        if still:
            hits = (hit for hit in hits if not _lies_in(hit.start, still))
        yield from hits
        if not shadow.plain:
            words = sorted(words + _foreign(text), key=lambda word: word.end)
        for kind, start, end in self._told(shadow.data, words):
            if not _lies_in(start, still):
                yield Hit(kind, start, end)

    def _matched(self, data: bytes, mask: int) -> Iterator[Hit]:
        mask &= self._quiet - 1
        while mask:
            low = mask & -mask
            rule = self.rules[low.bit_length() - 1]
            mask ^= low
            for start, end in rule.spans(data):
                if not rule.whole_token:
                    yield Hit(rule.kind, start, end)
                elif not _inside_blob(data, start):
                    yield Hit(rule.kind, start, _whole(data, end))

    def _told(self, data: bytes, words: list[Word]) -> Iterator[tuple[str, int, int]]:
        for start, end, rank in assigned(data, words):
            yield "password" if rank == PASSWORD else "secret", start, end
        yield from loose(data, words)

    def _telling(self, shadow: Shadow) -> tuple[int, list[Word]]:
        data = shadow.data
        mask = 0
        words: list[Word] = []
        for last, (rules, rank, size) in self._automaton.iter(shadow.lower):
            mask |= rules
            if rank:
                start = last - size + 1
                told = ranked(data, start, last + 1, rank)
                if told:
                    words.append(Word(start, last + 1, told))
        return mask, words


def _lies_in(start: int, still: list[tuple[int, int]]) -> bool:
    at = bisect_right(still, (start, 1 << 62)) - 1
    return at >= 0 and start < still[at][1]


def _inside_blob(data: bytes, start: int) -> bool:
    """Whether a long base64 run leads up to here: then a matching piece of it is chance."""
    left = data[max(0, start - 24) : start]
    return len(left) == 24 and not left.strip(_BASE64_BYTES) and is_random(left)


def _whole(data: bytes, end: int) -> int:
    """The end of the token that a fixed-length rule may have cut short."""
    rest = data[end : end + 256]
    return end + len(rest) - len(rest.lstrip(_TOKEN_BYTES))


_BASE64_BYTES = b"abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789+/"
_TOKEN_BYTES = b"abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-"


def _foreign(text: str) -> list[Word]:
    """Telling words of other scripts; where lowering would move letters they are sought as they stand."""
    lower = text.lower()
    found = _FOREIGN.iter(lower if len(lower) == len(text) else text)
    return [Word(last + 1 - size, last + 1, PASSWORD) for last, size in found]


def _foreign_automaton() -> Any:
    automaton = ahocorasick.Automaton()
    for word in LISTS["foreign"]:
        automaton.add_word(word, len(word))
    automaton.make_automaton()
    return automaton


_FOREIGN = _foreign_automaton()


def _automaton(rules: tuple[Rule, ...], quiet_bit: int) -> Any:
    masks: dict[str, int] = dict.fromkeys(QUIET_KEYS, quiet_bit)
    for at, rule in enumerate(rules):
        for key in rule.keys:
            masks[key] = masks.get(key, 0) | 1 << at
    automaton = ahocorasick.Automaton()
    for key in masks.keys() | RANKS.keys():
        automaton.add_word(key, (masks.get(key, 0), RANKS.get(key, 0), len(key)))
    automaton.make_automaton()
    return automaton


def own_rules() -> list[Rule]:
    """The rules of patterns.toml."""
    tables = tomllib.loads(files("worker.steps.redaction").joinpath("patterns.toml").read_text("utf-8"))
    rules: list[Rule] = []
    for entry in tables["token"]:
        rules.append(_own(entry, rf"\b({entry['shape']})", whole_token=True))
    for entry in tables["place"]:
        rules.append(_own(entry, entry["regex"], whole_token=False))
    return rules


def _own(entry: dict[str, Any], expression: str, *, whole_token: bool) -> Rule:
    check = CHECKS[entry.get("check", "token")]
    pattern = compiled(expression)
    return Rule(
        kind=entry["kind"],
        keys=tuple(entry["keys"]),
        pattern=pattern,
        groups=(1,) if whole_token else tuple(range(1, pattern.groups + 1)),
        accepts=lambda secret, _match: check(secret),
        whole_token=whole_token,
    )


@lru_cache(maxsize=1)
def shapes() -> Shapes:
    """The engine, compiled once a process (about 0.2 s)."""
    return Shapes(own_rules() + gitleaks_rules())
