"""The shape gate against labelled texts: thresholds here, the numbers themselves in the bench."""

import pytest

from tests.unit.worker.redaction.corpus import (
    Sample,
    harmless_samples,
    keyed_samples,
    leaks,
    samples,
    token_samples,
)
from worker.steps.redaction import Redactor

DEV = samples("secrets/dev.jsonl")
SECRET = [sample for sample in DEV if sample.spans]
CLEAN = [sample for sample in DEV if sample.group == "negative"]
REDACTOR = Redactor()


def recall(rows: list[Sample], redactor: Redactor = REDACTOR) -> float:
    return 1 - sum(leaks(row, redactor.redact(row.text).text) for row in rows) / len(rows)


def changed(rows: list[Sample]) -> list[str]:
    return [row.text for row in rows if REDACTOR.redact(row.text).text != row.text]


def test_dev_corpus_is_hidden() -> None:
    """At least .97 of the labelled texts keep no 8 characters of a secret, payment cards (off) included."""
    assert recall(SECRET) >= 0.97


def test_dev_corpus_is_hidden_with_cards_on() -> None:
    """With card numbers chosen as well, nothing labelled survives."""
    assert [row.kind for row in SECRET if leaks(row, Redactor(pii=["card"]).redact(row.text).text)] == []


def test_clean_texts_stay() -> None:
    """At most 1 % of the harmless texts are changed: digests, ids, images, prose about secrets."""
    assert len(changed(CLEAN)) <= len(CLEAN) * 0.01


def test_scanner_near_misses_mostly_stay() -> None:
    """Look-alikes that scanners disagree on: at most a quarter is hidden."""
    near = [row for row in DEV if row.group in ("near-miss", "scanner-false-positive")]
    assert len(changed(near)) <= len(near) * 0.25


@pytest.mark.parametrize("seed", [1, 2, 3])
def test_documented_formats_are_hidden(seed: int) -> None:
    """Random tokens in 205 formats, most of them absent from the corpus and many without a rule: >= .93."""
    assert recall(token_samples(seed)) >= 0.93


@pytest.mark.parametrize("seed", [1, 2, 3])
def test_bare_strings_beside_a_word_are_hidden(seed: int) -> None:
    """Random strings without any shape, told only by key, token, secret nearby: >= .95."""
    assert recall(keyed_samples(seed)) >= 0.95


@pytest.mark.parametrize("seed", [1, 2, 3])
def test_harmless_random_strings_stay(seed: int) -> None:
    """Random digests, ids, links and images in 45 surroundings: at most 1 % is changed."""
    rows = harmless_samples(seed)
    assert len(changed(rows)) <= len(rows) * 0.01


def test_gitleaks_rules_keep_working() -> None:
    """Of one sample for each gitleaks rule, all but the two oddest are hidden."""
    rows = samples("secrets/gitleaks_rule_samples.jsonl")
    missed = {row.kind for row in rows if leaks(row, REDACTOR.redact(row.text).text)}
    assert missed <= {"gitleaks:generic-api-key", "gitleaks:curl-auth-header"}


def test_only_the_secret_goes() -> None:
    """What stands around a secret stays: in nine of ten texts the labelled spans alone are replaced."""
    exact = sum(_outside(row) == _kept(row) for row in SECRET)
    assert exact >= len(SECRET) * 0.9


def _outside(row: Sample) -> str:
    parts, at = [], 0
    for start, end in row.spans:
        parts.append(row.text[at:start])
        at = end
    return "".join([*parts, row.text[at:]])


def _kept(row: Sample) -> str:
    parts, at = [], 0
    for hit in REDACTOR.redact(row.text).hits:
        parts.append(row.text[at : hit.start])
        at = hit.end
    return "".join([*parts, row.text[at:]])
