"""No secret past the write (OpenWOP agent-memory SR-1): registered or only shaped like one, at every door."""

import base64
import json
from urllib.parse import quote

import httpx

from tests.acceptance.tenants import filed, page
from tests.conformance import checks
from tests.services import eventually

HOST = "/v1/host/foreword/memory"
VALUE = 'otter "marble"/teapot+9 é'
"""Nothing about its shape tells that it is a secret."""
LONGER = f"{VALUE} and its suffix"
UNREGISTERED = [
    "sk-canary-rfc0062-do-not-leak-qrs456",
    "[BYOK:hk_live_canary_42]",
    "<REDACTED:db-prod-creds>",
]
"""The three strings of the public suite that nobody registers."""


def register(door: httpx.Client, secret_id: str, value: str) -> None:
    """Registers a value; its return is what SR-1 counts from."""
    assert door.put(f"/v1/secrets/{secret_id}", json={"value": value}).status_code == 204


def everywhere(door: httpx.Client, entry_id: str) -> dict[str, str]:
    """What each door says of memory ``a``, whole."""
    asked = {"memoryRef": "a"}
    question = {"memoryRef": "a", "query": "otter teapot notes"}
    answers = {
        "list": door.get("/v1/memory/entries", params=asked | {"fields": "all"}),
        "get": door.get(f"/v1/memory/entries/{entry_id}", params=asked),
        "host list": door.get(HOST, params=asked),
        "host get": door.get(f"{HOST}/{entry_id}", params=asked),
        "search": door.post("/v1/memory/search", json=question | {"mode": "lexical", "fields": "all"}),
        "recall": door.post("/v1/memory/recall", json=question),
        "export": door.get("/v1/memory/export", params=asked),
        "events": door.get("/v1/memory/events", params=asked),
    }
    assert {name: answer.status_code for name, answer in answers.items()} == dict.fromkeys(answers, 200)
    return {name: answer.text for name, answer in answers.items()}


def test_what_was_registered_is_at_no_door(door: httpx.Client) -> None:
    """SR-1: once registered a value is ``[REDACTED:<secretId>]``, in content and tags, at every door."""
    register(door, "vault.1", VALUE)
    spellings = [
        VALUE,
        base64.b64encode(VALUE.encode()).decode(),
        quote(VALUE, safe=""),
        json.dumps(VALUE)[1:-1],
    ]
    receipt = filed(
        door, "a", f"otter teapot notes {' | '.join(spellings)}", tags=[f"t {VALUE}"], metadata={"k": VALUE}
    )
    (entry,) = page(door, "a")["entries"]
    assert entry["content"] == "otter teapot notes " + " | ".join(["[REDACTED:vault.1]"] * 4)
    assert entry["tags"] == ["t [REDACTED:vault.1]"]
    for name, text in everywhere(door, receipt["id"]).items():
        assert not any(json.dumps(spelled)[1:-1] in text for spelled in spellings), name
        assert not any(spelled in text for spelled in spellings), name
        assert ("[REDACTED:vault.1]" in text) == (name != "events"), name


def test_the_longest_value_goes_first(door: httpx.Client) -> None:
    """SR-1: of two registered values, one within the other, the longer is replaced whole."""
    register(door, "short", VALUE)
    register(door, "long", LONGER)
    filed(door, "a", f"{LONGER}; {VALUE}")
    assert page(door, "a")["entries"][0]["content"] == "[REDACTED:long]; [REDACTED:short]"


def test_values_under_eight_characters_are_not_taken(door: httpx.Client) -> None:
    """SR-1: so short a value would hide ordinary words; it is refused where it is registered."""
    answer = door.put("/v1/secrets/tiny", json={"value": "seven77"})
    assert answer.status_code == 400
    checks.check_error(answer.json(), "validation_error")


def test_strings_nobody_registered_vanish(door: httpx.Client) -> None:
    """The shape gate: each string of the suite is gone from every door, and a marker stands in its place."""
    for secret in UNREGISTERED:
        receipt = filed(
            door, "a", f"otter teapot notes {secret} end", tags=[secret], source=secret, speaker=secret
        )
        entry = page(door, "a")["entries"][0]
        checks.check_redacted(entry["content"], secret)
        checks.check_redacted(entry["tags"][0], secret)
        assert (entry["content"][:19], entry["content"][-4:]) == ("otter teapot notes ", " end")
    for name, text in everywhere(door, receipt["id"]).items():
        assert [secret for secret in UNREGISTERED if secret in text] == [], name


def test_markers_pass_unchanged(door: httpx.Client) -> None:
    """SR-1 is idempotent: what was redacted is kept as it is when it is written again."""
    register(door, "vault.1", VALUE)
    filed(door, "a", f"{VALUE} {' '.join(UNREGISTERED)} [REDACTED:another-vault]")
    first = page(door, "a")["entries"][0]["content"]
    filed(door, "b", first)
    assert page(door, "b")["entries"][0]["content"] == first
    assert "[REDACTED:another-vault]" in first


def test_what_was_filed_before_is_swept(door: httpx.Client) -> None:
    """A value registered after a write is at no door once its sweep has ended."""
    receipt = filed(door, "a", f"otter teapot notes {VALUE}", tags=[VALUE])
    assert VALUE in page(door, "a")["entries"][0]["content"]
    location = door.put("/v1/secrets/late", json={"value": VALUE}).headers["Location"]
    eventually(lambda: door.get(location).json()["status"] == "succeeded", "the sweep ends")
    for name, text in everywhere(door, receipt["id"]).items():
        assert VALUE not in text, name
        assert json.dumps(VALUE)[1:-1] not in text, name
