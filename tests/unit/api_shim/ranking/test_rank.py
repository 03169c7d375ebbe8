"""Rank: the laws of the order in which a budget is spent."""

from random import Random

from hypothesis import given
from hypothesis import strategies as st

from api_shim.ranking.candidate import Candidate, Question
from api_shim.ranking.rank import order, rank, settle

ASKED = Question(text="When does the office open in May?", mass=3.0)

CANDIDATES = st.lists(
    st.builds(
        Candidate,
        seq=st.integers(0, 10_000),
        id=st.uuids().map(str),
        cosine=st.none() | st.floats(-1, 1),
        words=st.floats(0, 10),
        speaker=st.sampled_from([None, "Ines", "Tobias"]),
        conversation=st.sampled_from([None, "c1", "c2"]),
        turn=st.none() | st.integers(0, 20),
        observed_at=st.none() | st.integers(0, 2_000_000_000_000),
        content=st.none()
        | st.sampled_from(["The office opens at 8.", "The office opens at 9.", "Now at ten", "Tea."])
        | st.text(max_size=20),
    ),
    max_size=25,
    unique_by=(lambda one: one.seq, lambda one: one.id),
)


@given(CANDIDATES)
def test_every_candidate_is_ranked_or_named_as_a_repeat(candidates: list[Candidate]) -> None:
    """Nothing is lost or sent twice, and a repeat names an entry that is ranked."""
    ranking = rank(ASKED, candidates)
    ranked = [one.candidate.id for one in ranking.ranked]
    assert sorted([*ranked, *ranking.repeated]) == sorted(one.id for one in candidates)
    assert set(ranking.repeated.values()) <= set(ranked)


@given(CANDIDATES, st.randoms(use_true_random=False))
def test_the_order_does_not_depend_on_the_order_of_arrival(
    candidates: list[Candidate], chance: Random
) -> None:
    """The same candidates in any order make the same ranking, best score first."""
    ranking = rank(ASKED, candidates)
    shuffled = list(candidates)
    chance.shuffle(shuffled)
    assert rank(ASKED, shuffled).ranked == ranking.ranked
    scores = [one.score for one in ranking.ranked]
    assert scores == sorted(scores, reverse=True)


def test_a_tie_goes_to_the_newer() -> None:
    """Entries of one score stand newest first, also among equal texts."""
    same = [Candidate(seq=n, id=str(n), cosine=0.5, content="Tea is served at four.") for n in (1, 3, 2)]
    ranking = rank(ASKED, same)
    assert [one.candidate.seq for one in ranking.ranked] == [3]
    assert ranking.repeated == {"2": "3", "1": "3"}


def test_top_keeps_the_best() -> None:
    """A limited order is the beginning of the whole one."""
    candidates = [Candidate(seq=n, id=str(n), cosine=n / 10) for n in range(10)]
    assert order(ASKED, candidates, top=3) == order(ASKED, candidates)[:3]


def test_a_successor_takes_over_the_place_and_the_score() -> None:
    """The newer of two facts is ranked where the older was; the older follows."""
    old = Candidate(seq=1, id="old", cosine=0.9, words=3.0, content="The office opens at 08:00.")
    new = Candidate(
        seq=2, id="new", cosine=0.8, words=2.0, content="From this week the office opens at 07:30."
    )
    other = Candidate(seq=3, id="other", cosine=0.1, content="Tea is served at four.")
    ordered = order(ASKED, [old, new, other])
    assert [one.candidate.id for one in ordered] == ["old", "new", "other"]
    settled = settle(ASKED, ordered).ranked
    assert [one.candidate.id for one in settled] == ["new", "old", "other"]
    assert settled[0].score == ordered[0].score
