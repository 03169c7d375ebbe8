"""Rank: the hybrid ranking, from candidates to the order in which the budget is spent.

Fuse the signals, set repeats aside, let successors go first. Ties go to the newer entry, so the order is
the same every time.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import Final

from api_shim.ranking.candidate import Candidate, Question
from api_shim.ranking.duplicates import repeats
from api_shim.ranking.fuse import WEIGHTS, Pool, Weights, fuse, fuse_all
from api_shim.ranking.neighbourhood import places
from api_shim.ranking.succession import succession


@dataclass(frozen=True, kw_only=True, slots=True)
class Recipe:
    """What makes the ranking. Everything is on; a bench switches one thing off to learn what it is worth."""

    weights: Weights = WEIGHTS
    sets_repeats_aside: bool = True
    prefers_successors: bool = True


RECIPE: Final = Recipe()


@dataclass(frozen=True, kw_only=True, slots=True)
class Ranked:
    """A candidate and its score. A successor has at least the score of what it succeeds."""

    candidate: Candidate
    score: float


@dataclass(frozen=True, kw_only=True, slots=True)
class Ranking:
    """Best first, repeats left out; ``repeated`` maps the id of a repeat to the id that stands for it."""

    ranked: tuple[Ranked, ...]
    repeated: Mapping[str, str]


def order(
    question: Question, candidates: Sequence[Candidate], weights: Weights = WEIGHTS, *, top: int | None = None
) -> list[Ranked]:
    """The ``top`` by fused score alone: these are worth the loading of content, the first of vectors too."""
    scores = fuse(question, candidates, weights)
    best = sorted(
        zip(scores, (candidate.seq for candidate in candidates), range(len(scores)), strict=True),
        reverse=True,
    )
    return [Ranked(candidate=candidates[index], score=score) for score, _, index in best[:top]]


def orders(pools: Sequence[Pool], weights: Weights = WEIGHTS) -> list[list[Ranked]]:
    """The order within each of several memories, by scores that can be compared from one to another."""
    scores = iter(fuse_all(pools, weights))
    return [
        sorted(
            (Ranked(candidate=one, score=score) for one, score in zip(candidates, scores, strict=False)),
            key=lambda ranked: (ranked.score, ranked.candidate.seq),
            reverse=True,
        )
        for _, candidates in pools
    ]


def settle(question: Question, ordered: Sequence[Ranked], recipe: Recipe = RECIPE) -> Ranking:
    """Set repeats aside and let successors go first, among those whose content is loaded."""
    copies = repeats([one.candidate for one in ordered] if recipe.sets_repeats_aside else [])
    copies += [None] * (len(ordered) - len(copies))
    repeated = {
        ordered[index].candidate.id: ordered[first].candidate.id
        for index, first in enumerate(copies)
        if first is not None
    }
    kept = [one for one, first in zip(ordered, copies, strict=True) if first is None]
    if not recipe.prefers_successors:
        return Ranking(ranked=tuple(kept), repeated=MappingProxyType(repeated))
    stands = places([one.candidate for one in kept])
    said = [place is not None and kept[i].candidate.speaker is not None for i, place in enumerate(stands)]
    best = float("-inf")
    ranked = []
    for index in reversed(succession(question.text, [one.candidate for one in kept], said)):
        best = max(best, kept[index].score)
        ranked.append(Ranked(candidate=kept[index].candidate, score=best))
    return Ranking(ranked=tuple(reversed(ranked)), repeated=MappingProxyType(repeated))


def rank(question: Question, candidates: Sequence[Candidate], weights: Weights = WEIGHTS) -> Ranking:
    """:func:`order` and :func:`settle` in one, for candidates that carry their content already."""
    return settle(question, order(question, candidates, weights))
