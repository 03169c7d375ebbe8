"""Dates: what a question mentions, and how near an observation lies."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from api_shim.ranking.dates import Mention, mentions, nearness
from foreword.instant import from_wire


def _ms(day: str) -> int:
    return from_wire(f"{day}T12:00:00.000Z")


@pytest.mark.parametrize(
    ("question", "expected"),
    [
        ("What happened on 2023-05-07?", Mention(year=2023, months=(5,), day=7)),
        ("What happened in 2023-05?", Mention(year=2023, months=(5,))),
        ("What happened on 7 May 2023?", Mention(year=2023, months=(5,), day=7)),
        ("What happened on the 7th of May, 2023?", Mention(year=2023, months=(5,), day=7)),
        ("What happened on May 7th?", Mention(months=(5,), day=7)),
        ("What happened in May 2023?", Mention(year=2023, months=(5,))),
        ("What happened in May?", Mention(months=(5,))),
        ("Which trip was planned for Sept. 2024?", Mention(year=2024, months=(9,))),
        ("What changed in autumn 2023?", Mention(year=2023, months=(9, 10, 11))),
        ("What did we earn in Q2 2024?", Mention(year=2024, months=(4, 5, 6))),
        ("Where did she live in 2021?", Mention(year=2021)),
    ],
)
def test_a_date_is_read_as_exactly_as_it_is_written(question: str, expected: Mention) -> None:
    """Days, months, seasons and years are read, with a year or without."""
    assert mentions(question) == (expected,)


@pytest.mark.parametrize(
    "question",
    [
        "May I restart the server?",
        "Who may march on?",
        "Where did they march?",
        "What costs 12023 euros?",
        "Which chart of 1702?",
        "What was said last week?",
        "Where is room 7?",
        "",
    ],
)
def test_what_is_no_date_is_left_alone(question: str) -> None:
    """Verbs, prices, old years and relative dates mention no date."""
    assert mentions(question) == ()


@pytest.mark.parametrize(
    ("question", "day", "expected"),
    [
        ("in May 2023", "2023-05-31", 1.0),
        ("in May 2023", "2023-06-12", 0.5),
        ("in May 2023", "2023-06-13", 0.0),
        ("in May 2023", "2022-05-20", 0.0),
        ("in May", "2022-05-20", 1.0),
        ("in December 2023", "2024-01-05", 0.5),
        ("on 7 May 2023", "2023-05-06", 1.0),
        ("on 7 May 2023", "2023-05-09", 1.0),
        ("on 7 May 2023", "2023-05-17", 0.7),
        ("on 7 May 2023", "2023-05-30", 0.3),
        ("on 7 May 2023", "2023-05-05", 0.3),
        ("on 7 May 2023", "2024-05-07", 0.0),
        ("on 30 December", "2024-01-02", 0.7),
        ("on 31 February 2023", "2023-02-28", 0.3),
        ("in 2023", "2023-12-31", 1.0),
        ("in 2023", "2024-01-01", 0.0),
        ("in March 2022 or May 2023", "2023-05-10", 1.0),
    ],
)
def test_things_are_told_on_the_day_or_some_days_later(question: str, day: str, expected: float) -> None:
    """The nearer an observation follows the date, the more it counts."""
    assert nearness(mentions(question), [_ms(day)]) == [expected]


def test_an_unknown_date_is_near_to_nothing() -> None:
    """Without an observation, or without a date in the question, all is 0."""
    assert nearness(mentions("in May 2023"), [None]) == [0.0]
    assert nearness((), [_ms("2023-05-01")]) == [0.0]


@given(st.text(max_size=200), st.lists(st.none() | st.integers(-(2**62), 2**62), max_size=5))
def test_any_text_and_any_instant_is_taken(text: str, instants: list[int | None]) -> None:
    """No question and no instant raises, and nearness stays between 0 and 1."""
    result = nearness(mentions(text), instants)
    assert len(result) == len(instants)
    assert all(0 <= near <= 1 for near in result)
