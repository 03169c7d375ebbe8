"""Duplicates: entries that repeat a better ranked one and would spend the budget twice.

A repeat says the same in the same order, with at most a few words more or less, and none of these is a
number or a negation: ``do X`` and ``do not X``, ``room 14`` and ``room 41`` are two facts. A word replaced
by another is a change, never a repeat.
"""

from collections.abc import Sequence
from typing import Final

from api_shim.ranking.candidate import Candidate
from api_shim.ranking.words import NEGATIONS, NUMBERS, tokens

LIKENESS: Final = 0.9
"""Words in common / all words of both, from which on a text repeats another."""
_TELLING: Final = NEGATIONS | NUMBERS


def repeats(ranked: Sequence[Candidate], near: int = 50) -> list[int | None]:
    """For each candidate the index of the better ranked one that it repeats, or None.

    Equal texts are found among all, near ones among the first ``near``. Entries without content repeat
    nothing, and nobody repeats another speaker.
    """
    result: list[int | None] = [None] * len(ranked)
    exact: dict[tuple[str | None, tuple[str, ...]], int] = {}
    kept: list[tuple[int, str | None, tuple[str, ...]]] = []
    for index, candidate in enumerate(ranked):
        said = tuple(tokens(candidate.content)) if candidate.content is not None else ()
        if not said:
            continue
        first = exact.get((candidate.speaker, said))
        if first is None and index < near:
            first = next(
                (i for i, who, other in kept if who == candidate.speaker and is_repeat(said, other)), None
            )
        if first is not None:
            result[index] = first
            continue
        exact[(candidate.speaker, said)] = index
        if index < near:
            kept.append((index, candidate.speaker, said))
    return result


def is_repeat(one: Sequence[str], other: Sequence[str]) -> bool:
    """Whether the longer of two token lists is the other with a few untelling words put in."""
    short, long = (one, other) if len(one) <= len(other) else (other, one)
    if len(short) < LIKENESS * len(long):
        return False
    added = _added(short, long)
    return added is not None and not any(_is_telling(token) for token in added)


def _added(short: Sequence[str], long: Sequence[str]) -> list[str] | None:
    """What ``long`` holds beside ``short``; None unless ``short`` is in it, in order."""
    added, at = [], 0
    for token in long:
        if at < len(short) and token == short[at]:
            at += 1
        else:
            added.append(token)
    return added if at == len(short) else None


def _is_telling(token: str) -> bool:
    return token in _TELLING or not token.isalpha()
