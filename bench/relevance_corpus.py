"""Corpora with labelled evidence: what is written, what is asked, and which entries hold the answer."""

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from pathlib import Path
from typing import Any, Final

from bench.corpus import rows
from foreword.client.arguments import DraftBody

DIALOGUES: Final = Path(__file__).parent.parent / "tests" / "data" / "dialogues"
HALVES: Final = ("dev", "confirm")


@dataclass(frozen=True, kw_only=True)
class Asked:
    """A question and the ids of all entries that hold its answer."""

    question: str
    evidence: frozenset[str]
    type: str


@dataclass(frozen=True, kw_only=True)
class Memory:
    """One scope: its Drafts in the order they are written, and what is asked of it."""

    name: str
    drafts: Sequence[DraftBody]
    questions: Sequence[Asked]


def dialogues(half: str) -> Memory:
    """The turns of one half, with their conversations."""
    turns = [turn for turn in _lines("turns") if (turn["dialogue"] <= 3) == (half == "dev")]
    asked = [_asked(row, "evidence") for row in _lines("questions") if row["half"] == half]
    return Memory(name=f"dialogues, {half}", drafts=[_turn(turn) for turn in turns], questions=asked)


def unlabelled() -> Memory:
    """All turns of both halves in one scope, as a runtime writes that knows no conversations."""
    drafts = [_fact(row, "observedAt") for row in _lines("turns")]
    asked = [_asked(row, "evidence") for row in _lines("questions")]
    return Memory(name="dialogues, one scope without labels", drafts=drafts, questions=asked)


def facts(half: str) -> Memory:
    """One-sentence memories of one half, some of which repeat or take the place of others."""
    drafts = [_fact(row, "observedAt") for row in _lines("facts") if row["half"] == half]
    asked = [_asked(row, "relevant") for row in _lines("fact_questions") if row["half"] == half]
    return Memory(name=f"facts, {half}", drafts=drafts, questions=asked)


def notes() -> Memory:
    """416 one-sentence memories and 136 questions; the newer of two facts does not name the older."""
    drafts = [_fact(row, "createdAt") for row in rows("memories.jsonl")]
    asked = [
        Asked(question=row["query"], evidence=frozenset(row["relevant"]), type=row["type"])
        for row in rows("queries.jsonl")
    ]
    return Memory(name="notes", drafts=drafts, questions=asked)


def naming() -> Memory:
    """The same, but the newer of two facts names the older in ``supersedes``."""
    replaced = {row["relevant"][0]: row["stale"] for row in rows("queries.jsonl") if row.get("stale")}
    plain = notes()
    drafts = list(plain.drafts)
    for draft in drafts:
        if draft["id"] in replaced:
            draft["supersedes"] = replaced[draft["id"]]
    return replace(plain, name="notes, newer naming older", drafts=drafts)


def locomo(path: Path) -> list[Memory]:
    """The conversations of a file of LoCoMo's shape, one memory each.

    A list of ``{"sample_id", "conversation", "qa"}``. ``conversation`` holds ``session_N``, a list of turns
    ``{"speaker", "dia_id", "text", "blip_caption"?}``, and ``session_N_date_time`` such as ``1:56 pm on 8
    May, 2023``. ``qa`` holds ``{"question", "evidence": ["D1:3", ...], "category"}``; categories 1 to 4 are
    asked, questions without evidence in the conversation are not.
    """
    samples = json.loads(path.read_text(encoding="utf-8"))
    return [_sample(number, sample) for number, sample in enumerate(samples)]


_CATEGORIES: Final = {1: "multi-hop", 2: "temporal", 3: "open-domain", 4: "single-hop"}


def _sample(number: int, sample: Mapping[str, Any]) -> Memory:
    drafts = list(_said(sample["conversation"]))
    known = {draft["id"] for draft in drafts}
    asked = []
    for row in sample["qa"]:
        evidence = frozenset(re.findall(r"D\d+:\d+", " ".join(row.get("evidence") or ()))) & known
        if row.get("category") in _CATEGORIES and evidence:
            asked.append(
                Asked(question=row["question"], evidence=evidence, type=_CATEGORIES[row["category"]])
            )
    return Memory(name=str(sample.get("sample_id", number)), drafts=drafts, questions=asked)


def _said(conversation: Mapping[str, Any]) -> Iterator[DraftBody]:
    sessions = [name for name in conversation if re.fullmatch(r"session_\d+", name)]
    for name in sorted(sessions, key=lambda each: int(each.removeprefix("session_"))):
        when = datetime.strptime(conversation[f"{name}_date_time"], "%I:%M %p on %d %B, %Y")
        for turn in conversation[name]:
            image = f" [image: {turn['blip_caption']}]" if turn.get("blip_caption") else ""
            yield {
                "id": turn["dia_id"],
                "content": f"{turn['speaker']}: {turn['text']}{image}",
                "observed_at": f"{when.isoformat()}.000Z",
            }


def _lines(name: str) -> list[dict[str, Any]]:
    text = (DIALOGUES / f"{name}.jsonl").read_text(encoding="utf-8")
    return [json.loads(line) for line in text.splitlines()]


def _turn(row: Mapping[str, Any]) -> DraftBody:
    return {
        "id": row["id"],
        "content": row["content"],
        "speaker": row["speaker"],
        "conversation": row["conversation"],
        "observed_at": row["observedAt"],
    }


def _fact(row: Mapping[str, Any], dated: str) -> DraftBody:
    return {"id": row["id"], "content": row["content"], "observed_at": row[dated]}


def _asked(row: Mapping[str, Any], evidence: str) -> Asked:
    return Asked(question=row["question"], evidence=frozenset(row[evidence]), type=row["type"])
