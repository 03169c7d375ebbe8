"""Fuse: one score from five signals, each of them 0 to about 1.

Similarity (scaled within the candidates of one question), words (BM25 by what the question could reach at
most, so that one word in common does not look certain), the named speaker, the date, the neighbourhood.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from api_shim.ranking.candidate import Candidate, Question
from api_shim.ranking.dates import mentions, nearness
from api_shim.ranking.names import without
from api_shim.ranking.neighbourhood import Place, neighbourhood, places


@dataclass(frozen=True, kw_only=True, slots=True)
class Weights:
    """What each signal is worth, against a similarity of 1. ``around_*`` make the worth of a neighbour.

    The speaker is a bet that the question names the right person, so it stays below .5.
    """

    similarity: float = 1.0
    words: float = 1.2
    speaker: float = 0.45
    date: float = 0.6
    neighbourhood: float = 1.2
    around_similarity: float = 0.5
    around_words: float = 0.85
    around_speaker: float = 0.25
    around_date: float = 0.3


WEIGHTS: Final = Weights()


Pool = tuple[Question, Sequence[Candidate]]
"""What one memory brings up, and the question as that memory takes it: its IDF, its speakers."""


def fuse(question: Question, candidates: Sequence[Candidate], weights: Weights = WEIGHTS) -> list[float]:
    """The score of each candidate, in the order given. Only comparable within one call."""
    return fuse_all([(question, candidates)], weights)


def fuse_all(pools: Sequence[Pool], weights: Weights = WEIGHTS) -> list[float]:
    """The scores of several memories' candidates, one memory after the other: as if all lay in one.

    Words weigh by the IDF of their own memory, and nobody is a neighbour in another one.
    """
    similarity = _similarity([candidate for _, candidates in pools for candidate in candidates])
    words = [value for pool in pools for value in _words(*pool)]
    speaker = [value for pool in pools for value in _speaker(*pool)]
    date = [value for pool in pools for value in _date(*pool)]
    signals = list(zip(similarity, words, speaker, date, strict=True))
    w = weights
    own = [w.similarity * d + w.words * c + w.speaker * p + w.date * t for d, c, p, t in signals]
    if not w.neighbourhood:
        return own
    worth = [
        w.around_similarity * d + w.around_words * c + w.around_speaker * p + w.around_date * t
        for d, c, p, t in signals
    ]
    around = neighbourhood(_stands(pools), worth)
    return [score + w.neighbourhood * near for score, near in zip(own, around, strict=True)]


def _stands(pools: Sequence[Pool]) -> list[Place | None]:
    if len(pools) == 1:
        return places(pools[0][1])
    return [
        None if place is None else (f"{number} {place[0]!r}", place[1])
        for number, (_, candidates) in enumerate(pools)
        for place in places(candidates)
    ]


def _words(question: Question, candidates: Sequence[Candidate]) -> list[float]:
    mass = question.mass
    return [candidate.words / mass if mass > 0 else 0.0 for candidate in candidates]


def _similarity(candidates: Sequence[Candidate]) -> list[float]:
    known = [candidate.cosine for candidate in candidates if candidate.cosine is not None]
    low, high = min(known, default=0.0), max(known, default=0.0)
    span = high - low
    if span <= 0:
        return [float(candidate.cosine is not None) for candidate in candidates]
    return [
        0.0 if (cosine := candidate.cosine) is None else (cosine - low) / span for candidate in candidates
    ]


def _speaker(question: Question, candidates: Sequence[Candidate]) -> list[float]:
    if len(question.speakers) != 1:
        return [0.0] * len(candidates)
    (speaker,) = question.speakers
    return [1.0 if candidate.speaker == speaker else 0.0 for candidate in candidates]


def _date(question: Question, candidates: Sequence[Candidate]) -> list[float]:
    asked = mentions(without(question.text, question.speakers))
    if not asked:
        return [0.0] * len(candidates)
    return nearness(asked, (candidate.observed_at for candidate in candidates))
