"""Candidate: one entry that a leg of the search brought up, with what the ranking may look at."""

from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True, kw_only=True, slots=True)
class Candidate:
    """One entry, or a neighbour of one. Whatever is not known is None, never guessed.

    ``cosine`` is the raw similarity to the question, None for an entry without a vector or below the
    caller's floor. ``words`` is the sum of BM25 over the question's words, 0 where none occurs. ``turn``
    counts the entries of a conversation in accept order; where ``conversation`` is None it counts those of
    the scope. ``observed_at`` is in milliseconds, ``cost`` in the caller's counter. ``content`` and
    ``vector`` (unit length) are needed of the best few alone: without content an entry is nobody's repeat or
    successor.
    """

    seq: int
    id: str
    cosine: float | None = None
    words: float = 0.0
    speaker: str | None = None
    conversation: str | None = None
    turn: int | None = None
    observed_at: int | None = None
    cost: int = 0
    content: str | None = None
    vector: Sequence[float] | None = None


@dataclass(frozen=True, kw_only=True, slots=True)
class Question:
    """What is asked: the text, the IDF mass of its words, and the speakers of the scope that it names.

    ``mass`` is the BM25 an entry could reach by holding every word of the question: the sum of their IDF in
    the scope, where a word that no entry holds counts as the rarest. 0 switches the lexical leg off.
    ``speakers`` come from :func:`api_shim.ranking.names.named`.
    """

    text: str
    mass: float = 0.0
    speakers: frozenset[str] = frozenset()
