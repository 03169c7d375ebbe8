"""Names: who speaks, and whom a question names."""

import pytest

from api_shim.ranking import names


@pytest.mark.parametrize(
    ("content", "speaker", "body"),
    [
        ("Ines: I adopted a dog.", "Ines", "I adopted a dog."),
        ("Mary Ann O'Neil: hello", "Mary Ann O'Neil", "hello"),
        ("user: my tea is cold\nand sweet", "user", "my tea is cold\nand sweet"),
        ("山田: 元気です", "山田", "元気です"),
    ],
)
def test_a_name_in_front_is_the_speaker(content: str, speaker: str, body: str) -> None:
    """What stands before the first colon is the speaker when it is a name."""
    assert names.spoken(content) == (speaker, body)


@pytest.mark.parametrize(
    "content",
    [
        "Note: the meeting is off.",
        "Open Question: who pays?",
        "the code is: 4711",
        "https://example.org/a",
        "At 10:30 we leave",
        "No colon here",
        "Ines:",
        "",
    ],
)
def test_a_label_is_no_speaker(content: str) -> None:
    """Labels, addresses and times name nobody, and the content stays whole."""
    assert names.spoken(content) == (None, content)


@pytest.mark.parametrize(
    ("question", "expected"),
    [
        ("What did Ines adopt?", {"Ines"}),
        ("What is Ines's dog called?", {"Ines"}),
        ("What do Ines and Tobias like?", {"Ines", "Tobias"}),
        ("where does ines live", {"Ines"}),
        ("What will Ines do?", {"Ines"}),
        ("Where does Will Smith live?", {"Will Smith"}),
        ("Who is Inessa?", set()),
    ],
)
def test_a_question_names_speakers_by_whole_words(question: str, expected: set[str]) -> None:
    """Names match as whole words, and a verb is no name."""
    assert names.named(question, ["Ines", "Tobias", "Will Smith"]) == expected


def test_a_shared_first_name_names_nobody() -> None:
    """A word that two speakers bear names neither; the full name does."""
    speakers = ["Anna Berg", "Anna Tal"]
    assert names.named("Where is Anna?", speakers) == frozenset()
    assert names.named("Where is Anna Tal?", speakers) == {"Anna Tal"}


def test_names_go_out_of_the_question() -> None:
    """The name and its possessive go; other words stay whole."""
    assert names.without("What is Ines's plan for Inesville?", ["Ines"]).split() == [
        "What",
        "is",
        "plan",
        "for",
        "Inesville?",
    ]
    assert names.without("As it is", []) == "As it is"
