"""Succession: the newer of two entries about the same thing goes first."""

from api_shim.ranking.candidate import Candidate
from api_shim.ranking.succession import succession


def _of(*contents: str, seqs: tuple[int, ...] | None = None) -> list[Candidate]:
    numbers = seqs or tuple(range(len(contents)))
    return [
        Candidate(seq=seq, id=str(seq), content=text) for seq, text in zip(numbers, contents, strict=True)
    ]


def test_the_same_fact_with_a_newer_value_goes_first() -> None:
    """An entry that holds the question's words as the older does, and is like it, goes in front."""
    ranked = _of("The office opens at 08:00.", "The office opens at 07:30.")
    assert succession("At what time does the office open?", ranked) == [1, 0]
    older_last = _of("The office opens at 07:30.", "The office opens at 08:00.", seqs=(2, 1))
    assert succession("At what time does the office open?", older_last) == [0, 1]


def test_an_announced_change_in_other_words_goes_first() -> None:
    """Vectors tell that two entries speak of the same thing; a word of change tells which one holds."""
    old = Candidate(seq=1, id="1", content="Milan drives a grey car.", vector=(1.0, 0.0))
    new = Candidate(seq=2, id="2", content="Milan sold his vehicle, he takes the tram.", vector=(0.8, 0.6))
    calm = Candidate(seq=2, id="2", content="Milan owns a vehicle and a tram ticket.", vector=(0.5, 0.866))
    assert succession("How does Milan get to work?", [old, new]) == [1, 0]
    assert succession("How does Milan get to work?", [old, calm]) == [0, 1]


def test_a_change_of_something_else_stays_behind() -> None:
    """An announced change goes in front of what it is most like, not of everything it resembles."""
    asked = Candidate(seq=1, id="1", content="Backups run on Sunday.", vector=(1.0, 0.0))
    other = Candidate(seq=2, id="2", content="The sync is on Monday.", vector=(0.5, 0.866))
    change = Candidate(seq=3, id="3", content="The sync moved to Friday.", vector=(0.6, 0.8))
    assert succession("When do backups run?", [asked, other, change]) == [0, 2, 1]


def test_another_subject_is_no_successor() -> None:
    """A newer entry about somebody else, or without the word the question turns on, stays behind."""
    offices = _of("The Porto office opens at nine.", "Since May the Krakow office opens at ten.")
    assert succession("When does the Porto office open?", offices) == [0, 1]
    vans = _of("The red van needs diesel.", "The blue van needs diesel.")
    assert succession("What does the red van need?", vans) == [0, 1]


def test_a_chain_of_changes_ends_with_the_newest_in_front() -> None:
    """Of three values the newest goes first, then the second, then the oldest."""
    ranked = _of("The rent is 900 euros.", "The rent is 950 euros.", "The rent is 990 euros.")
    assert succession("How high is the rent?", ranked) == [2, 1, 0]


def test_turns_of_talk_keep_their_order() -> None:
    """What was said in a conversation takes nothing back; a fact may still succeed what was said."""
    ranked = _of("The office opens at 08:00.", "The office opens at 07:30.")
    question = "At what time does the office open?"
    assert succession(question, ranked, [True, True]) == [0, 1]
    assert succession(question, ranked, [True, False]) == [1, 0]


def test_the_time_of_observation_goes_before_the_order_of_arrival() -> None:
    """A fact that was imported late but observed early is the older one."""
    late = Candidate(seq=9, id="9", content="The office opens at 08:00.", observed_at=1_000)
    early = Candidate(seq=2, id="2", content="The office opens at 07:30.", observed_at=2_000)
    assert succession("When does the office open?", [late, early]) == [1, 0]


def test_without_content_nothing_moves() -> None:
    """Entries whose content is not loaded keep their places."""
    assert succession("anything", [Candidate(seq=n, id=str(n)) for n in range(3)]) == [0, 1, 2]
