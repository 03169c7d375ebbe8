"""The opt-in layer of personal data."""

import json

import pytest

from tests.unit.worker.redaction.corpus import DATA, Sample, leaks
from worker.steps.redaction import Redactor

KINDS = {"email": "email", "phone": "phone", "credit_card": "card", "iban": "iban"}
ROWS = [json.loads(line) for line in (DATA / "pii/dev.jsonl").read_text("utf-8").splitlines()]


@pytest.mark.parametrize("kind", KINDS)
def test_positions_are_found(kind: str) -> None:
    """Every labelled address, number, card and account of the corpus is hidden once chosen."""
    redactor = Redactor(pii=[KINDS[kind]])
    rows = [row for row in ROWS if row["kind"] == kind and row["label"] == "pii"]
    assert rows
    for row in rows:
        sample = Sample(text="".join(row["text_parts"]), spans=tuple(map(tuple, row["spans"])))
        assert not leaks(sample, redactor.redact(sample.text).text), sample.text


@pytest.mark.parametrize("kind", KINDS)
def test_near_misses_stay(kind: str) -> None:
    """Wrong check digits, wrong lengths and halves of an address are not personal data."""
    redactor = Redactor(pii=[KINDS[kind]])
    for row in ROWS:
        if row["kind"] == kind and row["label"] == "clean":
            text = "".join(row["text_parts"])
            assert [hit for hit in redactor.redact(text).hits if hit.kind == KINDS[kind]] == [], text


@pytest.mark.parametrize(
    ("text", "kind", "kept"),
    [
        ("write to dana.o'neil+x@mail.example.org, please", "email", "write to [REDACTED:email], please"),
        ("call +49 30 1234-5678 or (030) 1234 5678.", "phone", "call [REDACTED:phone] or [REDACTED:phone]."),
        ("pay 4111 1111 1111 1111 now", "card", "pay [REDACTED:card] now"),
        ("to DE89 3704 0044 0532 0130 00 today", "iban", "to [REDACTED:iban] today"),
    ],
)
def test_only_the_chosen_kind_goes(text: str, kind: str, kept: str) -> None:
    """Off by default; chosen, exactly the datum goes; another kind chosen, it stays."""
    assert Redactor().redact(text).text == text
    assert Redactor(pii=[kind]).redact(text).text == kept
    assert Redactor(pii=["iban" if kind != "iban" else "email"]).redact(text).text == text


@pytest.mark.parametrize(
    "text",
    [
        "4111 1111 1111 1112",
        "epoch 1895694861164",
        "git@github.com:acme/app.git",
        "DE89 3704 0044 0532 0130 01",
    ],
)
def test_look_alikes_stay(text: str) -> None:
    """A failed check digit, a time stamp, a clone address: none is personal data."""
    assert Redactor(pii=["email", "card", "iban"]).redact(text).text == text


def test_unknown_kinds_are_refused() -> None:
    """A misspelt kind is an error, not silence."""
    with pytest.raises(ValueError, match="ipan"):
        Redactor(pii=["ipan"])
