"""The words that tell of a secret, and whether their neighbours take that back."""

from __future__ import annotations

from dataclasses import dataclass

from worker.steps.redaction.lexicon import LISTS, RANKS, WEAK
from worker.steps.redaction.shadow import Shadow

IDENTIFIER = b"abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-."
_SHORT = 4
_AFTER = tuple(word.encode() for word in LISTS["not_a_value"])
_BEFORE = tuple(word.encode() for word in LISTS["not_this_key"])


@dataclass(frozen=True, slots=True)
class Word:
    """A telling word in the text. `rank` is how much it tells (see lexicon.py)."""

    start: int
    end: int
    rank: int


def ranked(data: bytes, start: int, end: int, rank: int) -> int:
    """The rank of a word where it stands, 0 in `keyboard`, `primary_key`, `token_count` and their like."""
    after = data[end : end + 16]
    suffix = after[: len(after) - len(after.lstrip(IDENTIFIER))].lower().lstrip(b"_-.")
    if suffix and (
        suffix.startswith(_AFTER) or (suffix[:1] == b"s" and suffix[1:].lstrip(b"_-.").startswith(_AFTER))
    ):
        return 0
    if (
        end - start <= _SHORT
        and suffix
        and data[end : end + 1].islower()
        and suffix[:2] not in (b"s", b"s_", b"s-")
    ):
        return 0
    left = data[max(0, start - 24) : start]
    before = left[len(left.rstrip(IDENTIFIER)) :].lower()
    stem = before.rstrip(b"_-.")
    if stem.endswith(_BEFORE) or (not stem and left.lower().rstrip(b" ").endswith(_BEFORE)):
        return 0
    joined = rank == WEAK and stem == before and before[-1:].isalpha()
    return 0 if joined and not data[start : start + 1].isupper() else rank


def rank_of_name(name: str) -> int:
    """How much the name of a field tells of its value."""
    label = Shadow(name)
    best = 0
    for word, rank in RANKS.items():
        at = label.lower.rfind(word)
        if at >= 0 and rank > best:
            best = max(best, ranked(label.data, at, at + len(word), rank))
    return best
