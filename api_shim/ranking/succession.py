"""Succession: of two entries that speak of the same thing, the newer goes first.

Two ways to be the successor of an older entry that is ranked above. Either the newer holds every word of
the question that the older holds, and is much like it: the same fact with another value. Or it announces a
change ("moved", "since", "instead"), holds the names that the question and the older share, and of all
older entries is most like this one: the same thing in other words. Nothing is dropped; the older follows.

Two turns of talk never succeed each other: what was said stays said, and people come back to a subject
without taking anything back.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from operator import mul
from typing import Final

from api_shim.ranking.candidate import Candidate
from api_shim.ranking.words import content_words, names, tokens

AMONG: Final = 12
"""How many of the best ranked are compared with each other."""
SAME: Final = 0.6
"""Cosine of two entries from which on they are much alike."""
CHANGED: Final = 0.47
"""Cosine from which on an announced change may be about the other entry."""
SAME_WORDS, CHANGED_WORDS = 0.3, 0.4
"""The same without vectors: content words in common, of both or of the shorter."""
MARGIN: Final = 0.05

_CHANGE_WORDS: Final = """
anymore became become began canceled cancelled changed closed divorced doubled dropped ended gone halved
increased instead joined left lowered married meanwhile migrated moved newly now nowadays opened postponed
promoted quit raised reduced removed renamed replaced rescheduled resigned retired rewrote shut since sold
started stopped switched turned updated upgraded
"""
_CHANGE: Final = frozenset(_CHANGE_WORDS.split())
_CHANGE_PHRASE: Final = re.compile(
    r"\b(?:no longer|any ?more|these days|from (?:now|today|this|next)|as of|used to|gave up|until)\b"
)


@dataclass(frozen=True, kw_only=True, slots=True)
class _Told:
    candidate: Candidate
    words: frozenset[str]
    names: frozenset[str]
    changes: bool
    said: bool


def succession(question: str, ranked: Sequence[Candidate], said: Sequence[bool] = ()) -> list[int]:
    """The order of ``ranked`` (indices into it) with each successor in front of what it succeeds.

    ``said`` tells which of the first ones are turns of talk; what it does not reach is not.
    """
    order = list(range(len(ranked)))
    told = {
        index: _told(candidate, said=index < len(said) and said[index])
        for index, candidate in enumerate(ranked[:AMONG])
        if candidate.content is not None
    }
    asked, asked_names = content_words(question), names(question)
    for newer in sorted(told, key=lambda index: _age(ranked[index])):
        older = [index for index in told if _may_succeed(told[newer], told[index])]
        succeeded = _succeeded(told[newer], [told[index] for index in older], asked, asked_names)
        ahead = [order.index(index) for index, yes in zip(older, succeeded, strict=True) if yes]
        if ahead and min(ahead) < (at := order.index(newer)):
            order.insert(min(ahead), order.pop(at))
    return order


def _succeeded(
    newer: _Told, older: Sequence[_Told], asked: frozenset[str], asked_names: frozenset[str]
) -> list[bool]:
    likenesses = [_likeness(newer, other) for other in older]
    nearest = max((same for same, _ in likenesses), default=0.0) - MARGIN
    result = []
    for other, (same, changed) in zip(older, likenesses, strict=True):
        common = asked & other.words
        updates = same >= 1 and bool(common) and common <= newer.words
        replaces = newer.changes and changed >= 1 and same >= nearest
        result.append(updates or (replaces and asked_names & other.names <= newer.words))
    return result


def _likeness(one: _Told, other: _Told) -> tuple[float, float]:
    """How alike two entries are, as a share of what :data:`SAME` and :data:`CHANGED` ask for."""
    left, right = one.candidate.vector, other.candidate.vector
    if left is not None and right is not None:
        cosine = sum(map(mul, left, right))
        return cosine / SAME, cosine / CHANGED
    common = len(one.words & other.words)
    if not common:
        return 0.0, 0.0
    return (
        common / len(one.words | other.words) / SAME_WORDS,
        common / min(len(one.words), len(other.words)) / CHANGED_WORDS,
    )


def _told(candidate: Candidate, *, said: bool) -> _Told:
    text = candidate.content or ""
    return _Told(
        candidate=candidate,
        words=content_words(text),
        names=names(text),
        changes=not _CHANGE.isdisjoint(tokens(text)) or _CHANGE_PHRASE.search(text.casefold()) is not None,
        said=said,
    )


def _age(candidate: Candidate) -> tuple[int, int]:
    return (candidate.observed_at if candidate.observed_at is not None else 0, candidate.seq)


def _may_succeed(one: _Told, other: _Told) -> bool:
    return not (one.said and other.said) and _is_newer(one.candidate, other.candidate)


def _is_newer(one: Candidate, other: Candidate) -> bool:
    if one.observed_at is not None and other.observed_at is not None and one.observed_at != other.observed_at:
        return one.observed_at > other.observed_at
    return one.seq > other.seq
