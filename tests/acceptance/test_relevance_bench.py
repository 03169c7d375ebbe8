"""The relevance bench on conversations of one's own, through the product."""

import json
from pathlib import Path
from typing import Any

from bench.product import reached
from bench.relevance import of_conversations
from tests.services import Product

CHATTER = "We talked about the weather for a while, and then about the traffic on the way home. " * 3


def test_conversations_of_ones_own_are_measured(
    running_product: Product, product: dict[str, Any], tmp_path: Path
) -> None:
    """A small budget holds the evidence for whoever searches, and not for whoever takes the newest."""
    said = ["My cello lesson is on Tuesday evenings.", *(f"{CHATTER} {n}" for n in range(6))]
    sample = {
        "sample_id": "bench",
        "conversation": {
            "session_1_date_time": "1:56 pm on 8 May, 2023",
            "session_1": [
                {"speaker": "Ines" if n % 2 == 0 else "Tom", "dia_id": f"D1:{n}", "text": text}
                for n, text in enumerate(said)
            ],
        },
        "qa": [
            {"question": "Which instrument does Ines learn?", "evidence": ["D1:0"], "category": 4},
            {"question": "When is the cello lesson?", "evidence": ["D1:0"], "category": 2},
            {"question": "What does Tom play?", "evidence": ["D1:0"], "category": 5},
        ],
    }
    path = tmp_path / "talks.json"
    path.write_text(json.dumps([sample]), encoding="utf-8")
    found = of_conversations(reached(running_product.data_dir, product), path)
    assert found.title.endswith("1 conversations, 2 questions")
    shown = {row[0]: row[1:] for row in found.rows}
    assert shown["recency"] == ("0.000", "1.000", "1.000", "1.000")
    for way in ("semantic", "hybrid", "recall, at most 1,000"):
        assert shown[way] == ("1.000",) * 4
