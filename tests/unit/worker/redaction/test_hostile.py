"""Texts made to be slow: the work grows with the length, counted in calls and not in seconds."""

import random
import sys

import pytest

from worker.steps.redaction import Redactor

LETTERS = "abcdefABCDEF0123456789ghijGHIJ"
REPEATED = (
    *(
        " ",
        "a",
        '"',
        "\\",
        "\x00",
        "key=",
        "key ",
        "password ",
        "password is ",
        'token: "',
        "secret_",
        "://",
        "http://a:",
    ),
    *(
        "a@",
        "eyJ",
        "eyJaaaaaaaaaaaa.",
        "ghp_",
        "sk-a1B-",
        "xoxb-1-",
        "密码：",
        "🔑token ",
        "%41",
        "%2541",
        "\\u0041",
        "\\n",
    ),
    *(
        "[REDACTED:k]",
        "[REDACTED:",
        "<REDACTED:ab>",
        "[BYOK:x]",
        "-----BEGIN PRIVATE KEY-----\n",
        "curl -u ",
        "mysql -p",
    ),
    *(
        "login x password ",
        "session=",
        "data:a/b,",
        "bearer ",
        "authorization:",
        "a:1:",
        "a/",
        "a=b",
        "password for the ",
    ),
)
SIZE = 4_000


def _calls(redactor: Redactor, text: str) -> int:
    """Python and C calls one redaction makes."""
    count = 0

    def counting(_frame: object, event: str, _argument: object) -> None:
        nonlocal count
        count += event in ("call", "c_call")

    redactor.redact("warm")
    sys.setprofile(counting)
    try:
        redactor.redact(text)
    finally:
        sys.setprofile(None)
    return count


@pytest.mark.parametrize("piece", REPEATED, ids=repr)
def test_work_is_linear(piece: str) -> None:
    """Four times the text is at most five times the calls, and never more than 60 a character."""
    redactor = Redactor({"k": "a value of 20 letters"}, pii=("email", "phone", "card", "iban"))
    small = _calls(redactor, (piece * SIZE)[:SIZE])
    large = _calls(redactor, (piece * SIZE)[: SIZE * 4])
    assert large <= small * 5 + 1_000
    assert large <= SIZE * 4 * 60


def test_random_tokens_cost_linear_work() -> None:
    """A text of nothing but secrets is no worse."""
    rng = random.Random(1)
    lines = ["token=" + "".join(rng.choices(LETTERS, k=14)) for _ in range(800)]
    small, large = _calls(Redactor(), "\n".join(lines[:200])), _calls(Redactor(), "\n".join(lines))
    assert large <= small * 5


def test_long_runs_end() -> None:
    """Twenty thousand characters without a blank, of every alphabet, are read to the end."""
    rng = random.Random(2)
    for alphabet in ("0123456789abcdef", "0123456789", LETTERS, LETTERS + "+/", "().[]{}"):
        Redactor().redact("".join(rng.choices(alphabet, k=20_000)))
