"""Both gates together: what every redaction keeps to."""

import sys
from concurrent.futures import ThreadPoolExecutor

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.unit.worker.redaction.corpus import keyed_samples, samples, token_samples
from worker.steps.redaction import Redactor
from worker.steps.redaction.redactor import MAX_DEPTH
from worker.steps.redaction.shapes import shapes

VALUES = {"k1": 'S3cr3t value+1/é"\\🔑', "k2": "abcdefgh12345", "odd": "REDACTED", "word": "password"}
REDACTORS = (Redactor(), Redactor(VALUES), Redactor(VALUES, pii=("email", "phone", "card", "iban")))
FRAGMENTS = (
    *(
        "password",
        "token",
        "key",
        "secret",
        "api_key",
        " is ",
        "for the",
        ": ",
        " = ",
        "=",
        ":",
        '"',
        "'",
        " ",
        "\n",
    ),
    *(
        "\\n",
        '\\"',
        "\\",
        "%41",
        "%3D",
        "\\u0041",
        "sk-",
        "ghp_",
        "xoxb-",
        "eyJ",
        ".",
        "-",
        "_",
        "/",
        "://",
        "@",
        "+",
    ),
    *("Bearer ", "Authorization: ", "-----BEGIN PRIVATE KEY-----", "-----END PRIVATE KEY-----", "[REDACTED:"),
    *(
        "[REDACTED:k1]",
        "]",
        "<REDACTED:a>",
        "[BYOK:x1]",
        "密码",
        "：",
        "🔑",
        "é",
        "login ",
        "curl -u ",
        "mysql -p",
    ),
    *(
        ";",
        ",",
        "&",
        "{",
        "}",
        "<",
        ">",
        "(",
        ")",
        "basic ",
        "AKIA",
        "`",
        "|",
        "data:image/png;base64,",
        "sha256:",
    ),
    *("session=", "hunter2", "0x", *VALUES.values()),
)
RUNS = st.text("abcXYZ019kQ7", min_size=4, max_size=48)
TEXTS = st.lists(st.sampled_from(FRAGMENTS) | RUNS, max_size=30).map("".join)


@settings(max_examples=400, deadline=None)
@given(text=TEXTS, redactor=st.sampled_from(REDACTORS))
def test_redaction_is_idempotent(text: str, redactor: Redactor) -> None:
    """Redacting what was redacted changes nothing."""
    once = redactor.redact(text).text
    assert redactor.redact(once).text == once


@settings(max_examples=300, deadline=None)
@given(text=TEXTS | st.text(), redactor=st.sampled_from(REDACTORS))
def test_only_hits_change(text: str, redactor: Redactor) -> None:
    """The result is the text with each hit, in order and disjoint, as its marker: nothing else moves."""
    redacted = redactor.redact(text)
    parts, at = [], 0
    for hit in redacted.hits:
        assert at <= hit.start < hit.end <= len(text)
        parts += (text[at : hit.start], f"[REDACTED:{hit.kind}]")
        at = hit.end
    assert "".join([*parts, text[at:]]) == redacted.text


def test_corpora_are_idempotent() -> None:
    """Real secrets in real surroundings: the second redaction finds nothing."""
    redactor = REDACTORS[0]
    for row in (*samples("secrets/dev.jsonl"), *token_samples(4), *keyed_samples(4)):
        once = redactor.redact(row.text).text
        assert redactor.redact(once).text == once


@given(before=st.text(max_size=12), after=st.text(max_size=12), name=st.from_regex(r"\A[a-z][a-z-]{0,14}\Z"))
def test_markers_are_kept(before: str, after: str, name: str) -> None:
    """A marker that stands in a text is neither hidden again nor grown."""
    marker = f"[REDACTED:{name}]"
    text = f"{before} {marker} {after}"
    assert marker in REDACTORS[0].redact(text).text


def test_a_secret_in_a_marker_is_no_marker() -> None:
    """A token dressed as a marker's id goes."""
    token = "ghp_" + "a1B2c3D4e5" * 4
    assert REDACTORS[0].redact(f"see [REDACTED:{token}]").text == "see [REDACTED:redacted]"


@pytest.mark.parametrize(
    ("text", "gone"),
    [
        ("note sk-canary-rfc0062-do-not-leak-qrs456 end", "sk-canary-rfc0062-do-not-leak-qrs456"),
        ("note [BYOK:hk_live_canary_42] end", "[BYOK:hk_live_canary_42]"),
        ("note <REDACTED:db-prod-creds> end", "<REDACTED:db-prod-creds>"),
        ("note sk-canary-all-letters end", "sk-canary-all-letters"),
        ("note SK_CANARY_LOUD end", "SK_CANARY_LOUD"),
        ("note <redacted:a label> end", "<redacted:a label>"),
    ],
)
def test_openwop_canaries_vanish(text: str, gone: str) -> None:
    """Strings nobody registered that a conformant host must not keep become our own marker."""
    kept = REDACTORS[0].redact(text).text
    assert gone not in kept
    assert "[REDACTED:" in kept
    assert kept.startswith("note ")
    assert kept.endswith(" end")


@pytest.mark.parametrize("before", ["", "é", "密码在这里 ", "🔑🔑 ", "\u3000", "a\u0301 ", "\ud800 "])
def test_offsets_are_code_points(before: str) -> None:
    """Whatever alphabet comes before, a hit begins at the token and ends with it."""
    token = "ghp_" + "a1B2c3D4e5" * 4
    (hit,) = REDACTORS[0].redact(f"{before}{token}。后").hits
    assert (hit.start, hit.end) == (len(before), len(before) + len(token))


@pytest.mark.parametrize(
    "text",
    ["пароль: Щука2024!", "密码是 hunter22!", "パスワード：nekoNeko99!", "la contraseña es gato-99-X!"],
)
def test_other_languages_have_passwords(text: str) -> None:
    """The word for password in another language tells as well."""
    assert "99" not in REDACTORS[0].redact(text).text
    assert REDACTORS[0].redact(text).hits


def test_json_is_redacted_throughout() -> None:
    """Values, keys and lists; a telling key is enough for a value that would not stand out by itself."""
    token = "ghp_" + "a1B2c3D4e5" * 4
    value = {
        "password": "hunter22x",
        "keys": [token, 5, None, True],
        token: {"apiKey": ["Zx81kLmQ0p"]},
        "n": "plain",
    }
    assert REDACTORS[0].redact_value(value) == {
        "password": "[REDACTED:password]",
        "keys": ["[REDACTED:github-token]", 5, None, True],
        "[REDACTED:github-token]": {"apiKey": ["[REDACTED:secret]"]},
        "n": "plain",
    }


def test_json_keys_stay_apart() -> None:
    """Two keys that redact to the same marker both keep their value."""
    one, two = "ghp_" + "a1B2c3D4e5" * 4, "ghp_" + "f6G7h8I9j0" * 4
    assert REDACTORS[0].redact_value({one: 1, two: 2}) == {
        "[REDACTED:github-token]": 1,
        "[REDACTED:github-token]#2": 2,
    }


def test_json_deeper_than_allowed_goes_whole() -> None:
    """Nesting cannot exhaust the stack: below the last level a marker stands for the rest."""
    value: object = "x"
    for _ in range(sys.getrecursionlimit() * 2):
        value = [value]
    redacted = REDACTORS[0].redact_value(value)  # type: ignore[arg-type]
    for _ in range(MAX_DEPTH):
        assert isinstance(redacted, list)
        (redacted,) = redacted
    assert redacted == "[REDACTED:too-deep]"


def test_hits_carry_no_value() -> None:
    """What is returned for counting shows kinds and places only."""
    redacted = REDACTORS[1].redact("x abcdefgh12345 y")
    assert "abcdefgh" not in repr(redacted)
    assert [hit.kind for hit in redacted.hits] == ["k2"]


def test_the_engine_is_shared() -> None:
    """The rules compile once a process, whatever the number of tenants."""
    assert shapes() is shapes()


def test_threads_agree() -> None:
    """One redactor used from many threads answers as it does from one."""
    texts = [row.text for row in token_samples(5, per_format=1)]
    alone = [REDACTORS[1].redact(text).text for text in texts]
    with ThreadPoolExecutor(8) as pool:
        together = list(pool.map(lambda text: REDACTORS[1].redact(text).text, texts))
    assert together == alone
