"""Duplicates: repeats are found, changes are not taken for repeats."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from api_shim.ranking.candidate import Candidate
from api_shim.ranking.duplicates import repeats


def _of(*contents: str | None, speaker: str | None = None) -> list[Candidate]:
    return [Candidate(seq=n, id=str(n), content=text, speaker=speaker) for n, text in enumerate(contents)]


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("The key is in the drawer.", "The key is in the drawer."),
        ("The key is in the drawer.", "  the KEY is in the drawer!"),
        ("Beans come from Ghent, five kilos at a time.", "Beans come from Ghent - five kilos at a time"),
        ("It’s “open” all day", 'It\'s "open" all day'),
        (
            "The spare key for the workshop is taped under the second drawer of the desk",
            "The spare key for the workshop is really taped under the second drawer of the desk",
        ),
    ],
)
def test_the_same_in_the_same_order_is_a_repeat(one: str, other: str) -> None:
    """Case, punctuation and a stray word do not make a new fact."""
    assert repeats(_of(one, other)) == [None, 0]
    assert repeats(_of(other, one)) == [None, 0]


LONG = "in the small room behind the kitchen of the old house by the river near the mill"


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (f"Do restart the server {LONG}", f"Do not restart the server {LONG}"),
        (f"You can smoke {LONG}", f"You can't smoke {LONG}"),
        (f"You do smoke {LONG}", f"You don't smoke {LONG}"),
        (f"Dogs sleep {LONG}", f"Dogs never sleep {LONG}"),
        (f"Room 14 is {LONG}", f"Room 41 is {LONG}"),
        (f"We keep -5 degrees {LONG}", f"We keep 5 degrees {LONG}"),
        (f"It weighs 1.5 kilos {LONG}", f"It weighs 15 kilos {LONG}"),
        (f"We meet on Monday {LONG}", f"We meet on Tuesday {LONG}"),
        (f"We keep three cats {LONG}", f"We keep cats {LONG}"),
        (f"Anna called Bert {LONG}", f"Bert called Anna {LONG}"),
        (f"The door is locked {LONG}", f"The door is locked {LONG}?"),
        ("We write C", "We write C++"),
        ("The office opens at nine.", "The office opens at ten."),
        ("a < b", "a > b"),
    ],
)
def test_a_change_is_not_a_repeat(one: str, other: str) -> None:
    """A negation, a number, another word or another order is another fact."""
    assert repeats(_of(one, other)) == [None, None]
    assert repeats(_of(other, one)) == [None, None]


def test_repeats_point_to_the_best_ranked() -> None:
    """Every repeat names the first of its kind; what has no content or another speaker repeats nothing."""
    assert repeats(_of("tea", None, "Tea.", "coffee", "tea!", "")) == [None, None, 0, None, 0, None]
    assert repeats([*_of("Yes", speaker="A"), *_of("Yes", speaker="B")]) == [None, None]


def test_equal_texts_are_found_far_down() -> None:
    """Near ones are looked for among the first only, equal ones everywhere."""
    many = _of("first words", *(f"filler number {n}" for n in range(80)), "First words")
    assert repeats(many, near=10)[-1] == 0


@given(st.lists(st.text(max_size=30), max_size=8))
def test_a_repeat_never_points_to_a_repeat(texts: list[str]) -> None:
    """Any texts are taken; what stands for a repeat stays itself, and is ranked better."""
    found = repeats(_of(*texts))
    assert all(first is None or (first < index and found[first] is None) for index, first in enumerate(found))
