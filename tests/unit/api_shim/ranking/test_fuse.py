"""Fuse: each signal lifts what it should, and is silent where it knows nothing."""

from dataclasses import replace

import pytest

from api_shim.ranking.candidate import Candidate, Question
from api_shim.ranking.fuse import WEIGHTS, fuse, fuse_all
from foreword.instant import from_wire

ASKED = Question(text="What did Ines buy in May 2023?", mass=4.0, speakers=frozenset({"Ines"}))


def _one(seq: int, **known: object) -> Candidate:
    return replace(Candidate(seq=seq, id=str(seq), cosine=0.5), **known)  # type: ignore[arg-type]


def test_each_signal_adds_its_weight() -> None:
    """Similarity is scaled within the candidates; words count by the question's mass."""
    may = from_wire("2023-05-20T00:00:00.000Z")
    scores = fuse(
        ASKED,
        [
            _one(0, cosine=0.2),
            _one(1, cosine=0.6),
            _one(2, cosine=0.2, words=2.0),
            _one(3, cosine=0.2, speaker="Ines"),
            _one(4, cosine=0.2, observed_at=may),
        ],
    )
    assert scores == pytest.approx([0, WEIGHTS.similarity, WEIGHTS.words / 2, WEIGHTS.speaker, WEIGHTS.date])


def test_an_entry_without_a_vector_is_found_by_its_words() -> None:
    """No cosine counts as the least similar, and costs nothing else."""
    scores = fuse(ASKED, [_one(0, cosine=None, words=4.0), _one(1, cosine=0.1), _one(2, cosine=0.3)])
    assert scores[0] == pytest.approx(WEIGHTS.words)
    assert scores[0] > scores[2] > scores[1]


def test_two_named_speakers_are_no_bet() -> None:
    """The speaker counts only where the question names exactly one."""
    both = replace(ASKED, speakers=frozenset({"Ines", "Tobias"}))
    assert len(set(fuse(both, [_one(0, speaker="Ines"), _one(1, speaker="Tobias"), _one(2)]))) == 1


def test_the_speakers_name_is_no_month() -> None:
    """A question about April asks for her, not for the fourth month."""
    april = Question(text="What did April 2023 buy?", speakers=frozenset({"April"}))
    spring = from_wire("2023-04-20T00:00:00.000Z")
    autumn = from_wire("2023-10-20T00:00:00.000Z")
    scores = fuse(april, [_one(0, observed_at=spring), _one(1, observed_at=autumn)])
    assert scores[0] == scores[1]


def test_a_neighbour_of_good_turns_goes_before_a_lonely_one() -> None:
    """Of two turns alike, the one in a good neighbourhood scores higher."""
    talk = [_one(n, conversation="c", turn=n, cosine=cosine) for n, cosine in enumerate([0.9, 0.3, 0.8, 0.1])]
    far = _one(9, conversation="c", turn=40, cosine=0.3)
    scores = fuse(ASKED, [*talk, far])
    assert scores[1] > scores[4]


def test_nothing_is_ranked_as_nothing() -> None:
    """No candidates give no scores; an unknown mass switches the words off."""
    assert fuse(ASKED, []) == []
    assert fuse(replace(ASKED, mass=0.0), [_one(0, words=9.0), _one(1)])[0] == fuse(ASKED, [_one(1)])[0]


def test_several_memories_are_scored_as_one() -> None:
    """Scores of two memories are those of one that holds both, though their conversations bear one name."""
    one = [_one(n, cosine=n / 10, words=n, conversation="c", turn=n) for n in range(5)]
    two = [_one(9, cosine=0.9), *(_one(n, cosine=0.05, conversation="c", turn=n - 9) for n in range(10, 14))]
    apart = [replace(candidate, conversation="d") if candidate.turn else candidate for candidate in two]
    assert fuse_all([(ASKED, one), (ASKED, two)]) == pytest.approx(fuse(ASKED, one + apart))


def test_words_weigh_by_their_own_memory() -> None:
    """Half of what a question could reach is half, however rare its words are in another memory."""
    rare, common = replace(ASKED, mass=8.0), replace(ASKED, mass=2.0)
    scores = fuse_all([(rare, [_one(0, words=4.0)]), (common, [_one(1, words=1.0)])])
    assert scores[0] == pytest.approx(scores[1])
