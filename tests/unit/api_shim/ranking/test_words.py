"""Words: tokens, stems and names of a text."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from api_shim.ranking.words import content_words, names, stem, tokens


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Don't wait, it isn’t 5.50!", ["do", "not", "wait", "it", "is", "not", "5.50"]),
        ("from -5 to 10% on 2023-05-07", ["from", "-5", "to", "10%", "on", "2023", "05", "07"]),
        ("C++ or C#?", ["c", "+", "+", "or", "c", "#", "?"]),
        ("ＦＵＬＬ width", ["full", "width"]),
        ("東京に住む", ["東京に住む"]),
    ],
)
def test_tokens_keep_what_makes_a_difference(text: str, expected: list[str]) -> None:
    """Signs, units, symbols and negations stay; quotes, commas and case go."""
    assert tokens(text) == expected


@pytest.mark.parametrize(
    "forms", [("move", "moves", "moved", "moving"), ("city", "cities"), ("stop", "stopped")]
)
def test_forms_of_a_word_share_a_stem(forms: tuple[str, ...]) -> None:
    """The common endings of English go."""
    assert len({stem(form) for form in forms}) == 1


def test_content_words_and_names_leave_the_frame_words_out() -> None:
    """Stop words say nothing; capitals and numbers name."""
    assert content_words("When does the office open?") == {"offic", "open"}
    assert names("When does Kai's office in Porto open at 9:30?") == {"kai", "porto", "30"}


@given(st.text(max_size=100))
def test_any_text_is_taken(text: str) -> None:
    """No text raises, and every content word has something in it."""
    assert all(content_words(text))
    assert names(text) is not None
