"""Gate one: registered values, as they are and encoded."""

import base64
import json
from urllib.parse import quote, quote_plus

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from tests.unit.worker.redaction.corpus import DATA
from worker.steps.redaction import Redactor
from worker.steps.redaction.registered import Registered

VECTORS = [json.loads(line) for line in (DATA / "openwop/sr1_cases.jsonl").read_text("utf-8").splitlines()]
ENCODED_TOO = {
    "sr017": '{"v": "[REDACTED:k]"}',
    "sr018": "https://u:[REDACTED:k]@h/ and [REDACTED:k]",
}
VALUE = 'S3cr3t vålue+1/?"\\🔑'


@pytest.mark.parametrize("vector", VECTORS, ids=lambda v: v["id"] + " " + v["name"])
def test_openwop_vectors(vector: dict) -> None:
    """SR-1 holds exactly, except that a value in JSON or URL escapes is hidden as well."""
    redactor = Redactor({name: "".join(parts) for name, parts in vector["registry"].items()})
    expected = ENCODED_TOO.get(vector["id"], "".join(vector["expected_parts"]))
    assert redactor.redact("".join(vector["content_parts"])).text == expected


def _percent_all(value: str) -> str:
    return "".join(f"%{byte:02x}" for byte in value.encode())


SPELLINGS = {
    "plain": lambda v: v,
    "url": lambda v: quote(v, safe=""),
    "url, small hex": lambda v: "".join(
        c.lower() if c.startswith("%") else c for c in _pieces(quote(v, safe=""))
    ),
    "url, slashes kept": quote,
    "form": quote_plus,
    "url, every byte": _percent_all,
    "url twice": lambda v: quote(quote(v, safe=""), safe=""),
    "json": lambda v: json.dumps(v)[1:-1],
    "json, not ascii": lambda v: json.dumps(v, ensure_ascii=False)[1:-1],
    "json, slash escaped": lambda v: json.dumps(v)[1:-1].replace("/", "\\/"),
    "json in json": lambda v: json.dumps(json.dumps(v)[1:-1])[1:-1],
    "json of url": lambda v: json.dumps(quote(v))[1:-1],
    "hex": lambda v: v.encode().hex(),
    "HEX": lambda v: v.encode().hex().upper(),
}


def _pieces(text: str) -> list[str]:
    return [text[i : i + 3] if text[i] == "%" else text[i] for i in _starts(text)]


def _starts(text: str) -> list[int]:
    found, at = [], 0
    while at < len(text):
        found.append(at)
        at += 3 if text[at] == "%" else 1
    return found


@pytest.mark.parametrize("spelling", SPELLINGS)
def test_spellings_are_found(spelling: str) -> None:
    """Each common way to write a value becomes one marker, and nothing around it is touched."""
    text = f"前 {SPELLINGS[spelling](VALUE)} after"
    assert Redactor({"k": VALUE}).redact(text).text == "前 [REDACTED:k] after"


@given(
    value=st.text(st.characters(codec="utf-8"), min_size=8, max_size=40),
    before=st.binary(max_size=5),
    after=st.binary(max_size=5),
    url_safe=st.booleans(),
    padded=st.booleans(),
)
@example(value="abcdefgh", before=b"", after=b"", url_safe=False, padded=True)
def test_base64_is_found_at_every_alignment(
    value: str, before: bytes, after: bytes, url_safe: bool, padded: bool
) -> None:
    """Base 64 of a text that holds the value decodes to nothing of it once redacted."""
    encode = base64.urlsafe_b64encode if url_safe else base64.b64encode
    coded = encode(before + value.encode() + after).decode()
    text = coded if padded else coded.rstrip("=")
    hits = Registered([("k", value)]).find(text)
    assert hits
    lead, rest = text[: hits[0].start], text[hits[-1].end :]
    assert len(lead) <= (len(before) * 8 + 5) // 6
    assert len(rest.rstrip("=")) <= (len(after) * 8 + 5) // 6


@given(
    value=st.text(st.characters(codec="utf-8", exclude_categories=["Cs"]), min_size=8, max_size=30),
    around=st.tuples(st.text(max_size=20), st.text(max_size=20)),
    spelling=st.sampled_from(sorted(SPELLINGS)),
)
def test_no_spelling_survives(value: str, around: tuple[str, str], spelling: str) -> None:
    """Whatever the value and whatever surrounds it, its spelling is not in what is kept."""
    written = SPELLINGS[spelling](value)
    kept = Redactor({"id": value}).redact(around[0] + written + around[1]).text
    for part in kept.replace("[REDACTED:id]", "\x00").split("\x00"):
        assert written not in part


@pytest.mark.parametrize(
    ("value", "text"),
    [
        ('r3solved "by"', '\\r3solved \\"by\\"'),
        ("ab solved/by", "%ab%20solved%2Fby"),
        ('\\new "value"', '\\\\\\new \\"value\\"'),
        ('u00e9 "value"', '\\u00e9 \\"value\\"'),
    ],
)
def test_a_stray_escape_before_a_value_hides_nothing(value: str, text: str) -> None:
    """A backslash or per cent sign right before a spelled value does not take its first characters along."""
    kept = Redactor({"id": value}).redact(text).text
    assert kept.replace("[REDACTED:id]", "") in ("", "\\", "%")


def test_longest_wins_and_order_does_not_matter() -> None:
    """A value within another is hidden by the longer one's marker, however they were registered."""
    values = {"short": "abcdefgh", "long": "xxabcdefghyy"}
    for names in (["short", "long"], ["long", "short"]):
        redactor = Redactor({name: values[name] for name in names})
        assert redactor.redact("1 xxabcdefghyy 2 abcdefgh").text == "1 [REDACTED:long] 2 [REDACTED:short]"


def test_short_values_are_left_alone() -> None:
    """Under eight characters nothing is registered: it would hide ordinary words."""
    assert Redactor({"k": "seven77"}).redact("seven77 stays").text == "seven77 stays"


def test_a_marker_is_no_hiding_place() -> None:
    """A registered value written as a marker's id is hidden; a marker with an id we know is kept."""
    redactor = Redactor({"openai-1": "openai-1-value-xyz", "other": "openai-1"})
    text = "[REDACTED:openai-1-value-xyz] [REDACTED:openai-1]"
    assert redactor.redact(text).text == "[REDACTED:openai-1] [REDACTED:openai-1]"
