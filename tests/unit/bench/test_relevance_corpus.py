"""The corpora of the relevance bench: a file in LoCoMo's shape, and labels that name what is written."""

import json
from pathlib import Path

import pytest

from bench.relevance_corpus import Memory, dialogues, facts, locomo, naming, notes, unlabelled

SAMPLE = {
    "sample_id": "talk",
    "conversation": {
        "speaker_a": "Ines",
        "session_10_date_time": "9:05 am on 1 June, 2023",
        "session_10": [{"speaker": "Ines", "dia_id": "D10:1", "text": "I sold the boat."}],
        "session_2_date_time": "1:56 pm on 8 May, 2023",
        "session_2": [
            {"speaker": "Ines", "dia_id": "D2:1", "text": "Look!", "blip_caption": "a red boat"},
            {"speaker": "Tom", "dia_id": "D2:2", "text": "It is lovely."},
        ],
    },
    "qa": [
        {"question": "What did Ines show, and sell?", "evidence": ["D2:1; D10:1"], "category": 1},
        {"question": "What did Tom never say?", "evidence": ["D2:2"], "category": 5},
        {"question": "What is not in here?", "evidence": ["D7:1"], "category": 4},
        {"question": "What has no evidence?", "category": 4},
        {"question": "When was it lovely?", "evidence": ["D2:2"], "category": 2},
    ],
}


def test_a_file_in_locomos_shape_is_read(tmp_path: Path) -> None:
    """Turns come in the order of sessions, dated and with their speakers; what has no answer is not asked."""
    path = tmp_path / "talks.json"
    path.write_text(json.dumps([SAMPLE, SAMPLE | {"sample_id": "again"}]), encoding="utf-8")
    talk, again = locomo(path)
    assert (talk.name, again.name) == ("talk", "again")
    assert talk.drafts == again.drafts
    assert list(talk.drafts) == [
        {
            "id": "D2:1",
            "content": "Ines: Look! [image: a red boat]",
            "observed_at": "2023-05-08T13:56:00.000Z",
        },
        {"id": "D2:2", "content": "Tom: It is lovely.", "observed_at": "2023-05-08T13:56:00.000Z"},
        {"id": "D10:1", "content": "Ines: I sold the boat.", "observed_at": "2023-06-01T09:05:00.000Z"},
    ]
    assert [(asked.type, asked.evidence) for asked in talk.questions] == [
        ("multi-hop", {"D2:1", "D10:1"}),
        ("temporal", {"D2:2"}),
    ]


@pytest.mark.parametrize(
    "memory",
    [
        *(read(half) for half in ("dev", "confirm") for read in (dialogues, facts)),
        unlabelled(),
        notes(),
        naming(),
    ],
    ids=lambda memory: memory.name,
)
def test_every_label_names_an_entry_of_its_memory(memory: Memory) -> None:
    """What a question takes for evidence is written before it is asked, under an id of its own."""
    ids = [draft["id"] for draft in memory.drafts]
    assert len(set(ids)) == len(ids) > 0
    assert memory.questions
    for asked in memory.questions:
        assert asked.evidence
        assert asked.evidence <= set(ids)
