"""Neighbourhood: turns lift each other, inside one conversation."""

import pytest

from api_shim.ranking.candidate import Candidate
from api_shim.ranking.neighbourhood import ALONE, neighbourhood, places

DAY = 86_400_000


def _turn(
    seq: int, *, conversation: str | None = None, speaker: str | None = None, day: int = 0
) -> Candidate:
    return Candidate(
        seq=seq, id=str(seq), turn=seq, conversation=conversation, speaker=speaker, observed_at=day * DAY
    )


def test_a_conversation_is_where_its_turns_stand() -> None:
    """The label and the turn make the place; an entry without a turn has none."""
    assert places([_turn(3, conversation="c"), Candidate(seq=1, id="1", conversation="c")]) == [
        ("c", 3),
        None,
    ]


def test_a_day_on_which_two_people_speak_stands_for_a_conversation() -> None:
    """Unlabelled turns of two speakers on one day are a conversation; a monologue and plain facts are not."""
    talk = [_turn(1, speaker="A", day=5), _turn(2, speaker="B", day=5)]
    alone = [_turn(3, speaker="A", day=6), _turn(4, speaker="A", day=6)]
    facts = [_turn(5, day=5), _turn(6, day=5)]
    assert places(talk + alone + facts) == [(5, 1), (5, 2), None, None, None, None]


def test_a_turn_is_lifted_by_good_turns_around_it() -> None:
    """The best three of the turns i-4..i+4 count; what is farther or elsewhere does not."""
    stands = [("c", 1), ("c", 4), ("c", 5), ("c", 9), ("d", 5)]
    near = neighbourhood(stands, [0.0, 0.9, 0.9, 0.0, 0.0])
    assert near[0] == near[1] == near[2] == 1.0
    assert near[3] == pytest.approx(0.5)
    assert near[4] == 0.0


def test_facts_hold_their_own_beside_conversations() -> None:
    """An entry without neighbours counts as if they were half as good; among facts alone nothing counts."""
    assert neighbourhood([("c", 1), None], [0.6, 0.9]) == [0.0, 1.0]
    assert ALONE * 0.9 > 0.6 / 3
    assert neighbourhood([None, None], [0.2, 0.9]) == [0.0, 0.0]
