"""Neighbourhood: an entry is worth more where the turns around it speak of the question too.

Only inside one conversation. An answer often shares no word with the question; the turn before it does.
"""

from collections import defaultdict
from collections.abc import Sequence, Set
from typing import Final

from api_shim.ranking.candidate import Candidate
from api_shim.ranking.dates import MS_PER_DAY

REACH: Final = 4
"""Turns looked at on either side."""
BEST: Final = 3
"""How many of them count. Turns that were not brought up count as 0."""
ALONE: Final = 2 / 3
"""What a worth counts without neighbours: as if the two next best were half as good."""
_NOTHING: Final = (0.0,) * (2 * REACH + 1)

Place = tuple[str | int, int]
"""A conversation, or the day that stands for one, and a turn in it."""


def places(candidates: Sequence[Candidate]) -> list[Place | None]:
    """Where each candidate stands: its conversation and its turn there; None outside of conversations.

    Entries with a speaker but no conversation are taken as one a day, if two people speak on that day.
    """
    days = _days_of_talk(candidates)
    return [_place(candidate, days) for candidate in candidates]


def neighbourhood(stands: Sequence[Place | None], worth: Sequence[float]) -> list[float]:
    """For each candidate 0 to 1: the mean of the best three worths among the turns i-4..i+4, scaled.

    What stands in no conversation counts :data:`ALONE` of its own worth, or it could not hold its own beside
    conversations; where nothing stands in one, all are 0.
    """
    talks: defaultdict[str | int, dict[int, float]] = defaultdict(dict)
    for place, value in zip(stands, worth, strict=True):
        if place is not None:
            talk, turn = talks[place[0]], place[1]
            talk[turn] = max(value, talk.get(turn, value))
    if not talks:
        return [0.0] * len(worth)
    means = [
        ALONE * value if place is None else _mean(talks[place[0]], place[1])
        for place, value in zip(stands, worth, strict=True)
    ]
    low = min(means)
    span = max(means) - low or 1.0
    return [(mean - low) / span for mean in means]


def _mean(talk: dict[int, float], turn: int) -> float:
    around = sorted(map(talk.get, range(turn - REACH, turn + REACH + 1), _NOTHING))
    return sum(around[-BEST:]) / BEST


def _place(candidate: Candidate, days: Set[int]) -> Place | None:
    turn, conversation = candidate.turn, candidate.conversation
    if turn is None:
        return None
    if conversation is not None:
        return conversation, turn
    if candidate.speaker is not None and (day := _day(candidate)) in days:
        return day, turn
    return None


def _days_of_talk(candidates: Sequence[Candidate]) -> set[int]:
    speakers: defaultdict[int, set[str]] = defaultdict(set)
    for candidate in candidates:
        if candidate.conversation is None and candidate.speaker is not None:
            speakers[_day(candidate)].add(candidate.speaker)
    return {day for day, who in speakers.items() if len(who) > 1}


def _day(candidate: Candidate) -> int:
    return -1 if candidate.observed_at is None else candidate.observed_at // MS_PER_DAY
