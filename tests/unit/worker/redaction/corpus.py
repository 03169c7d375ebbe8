"""Labelled texts: the two corpora kept in parts, and seeded generators of tokens and harmless look-alikes."""

from __future__ import annotations

import json
import random
import string
from dataclasses import dataclass
from pathlib import Path

DATA = Path(__file__).parents[3] / "data"

_ALPHABETS = {
    "hex": "0123456789abcdef",
    "HEX": "0123456789ABCDEF",
    "alnum": string.ascii_letters + string.digits,
    "lowernum": string.ascii_lowercase + string.digits,
    "uppernum": "ABCDEFGHIJKLMNOPQRSTUVWXYZ234567",
    "word": string.ascii_letters + string.digits + "_-",
    "base64": string.ascii_letters + string.digits + "+/",
    "digit": string.digits,
    "alpha": string.ascii_letters,
}


@dataclass(frozen=True, kw_only=True)
class Sample:
    """A text, and where in it the values to hide are (code points, end exclusive)."""

    text: str
    spans: tuple[tuple[int, int], ...] = ()
    kind: str = ""
    group: str = ""


def samples(name: str) -> list[Sample]:
    """The rows of one corpus file under tests/data, parts joined in memory only."""
    rows = map(json.loads, (DATA / name).read_text("utf-8").splitlines())
    return [
        Sample(
            text="".join(row["text_parts"]),
            spans=tuple((start, end) for start, end in row["spans"]),
            kind=row["kind"],
            group=row["group"],
        )
        for row in rows
    ]


def leaks(sample: Sample, output: str) -> bool:
    """Whether 8 characters in a row of any labelled value (all of a shorter one) are in the output and are
    not also part of what was to stay."""
    stays, at = [], 0
    for start, end in sample.spans:
        stays.append(sample.text[at:start])
        at = end
    rest = "\x00".join([*stays, sample.text[at:]])
    for start, end in sample.spans:
        value = sample.text[start:end]
        windows = [value[i : i + 8] for i in range(max(1, len(value) - 7))]
        if any(window in output and window not in rest for window in windows):
            return True
    return False


def _made(parts: list[str | list[object]], rng: random.Random) -> str:
    return "".join(
        part if isinstance(part, str) else "".join(rng.choices(_ALPHABETS[str(part[0])], k=int(str(part[1]))))
        for part in parts
    )


_AROUND = (
    ("", ""),
    ("the staging one is ", " if you need it"),
    ('{"service": "billing", "credential": "', '", "ttl": 3600}'),
    ("export TOKEN=", ""),
    ("config:\n  endpoint: https://api.example.com\n  token: ", "\n  retries: 3"),
    ("User pasted `", "` into the chat, remember it."),
    ("[2026-03-01T09:14:22Z] WARN call failed with credential ", " (attempt 2/5)"),
    ("| name | value |\n|---|---|\n| prod | ", " |"),
    ("(old: ", "; rotate next week)"),
    ("https://api.example.com/v2/items?limit=20&key=", "&sort=asc"),
    ("os.environ['SERVICE_TOKEN'] = '", "'"),
    ("curl -H 'Authorization: Bearer ", "' https://api.example.com/v1/me"),
    ("请记住令牌：", "。谢谢"),
    ("Here it is: ", "."),
)


def token_samples(seed: int, per_format: int = 7) -> list[Sample]:
    """Random tokens in the documented formats of formats.jsonl, each in another surrounding."""
    rng = random.Random(seed)
    made: list[Sample] = []
    for line in (DATA / "secrets/formats.jsonl").read_text("utf-8").splitlines():
        entry = json.loads(line)
        for before, after in rng.sample(_AROUND, per_format):
            token = _made(entry["parts"], rng)
            made.append(
                Sample(
                    text=before + token + after,
                    spans=((len(before), len(before) + len(token)),),
                    kind=entry["name"],
                    group="format",
                )
            )
    return made


_KEYED = (
    ("{svc} token = '", "'"),
    ("{svc} secret: ", ""),
    ("{svc}_api_key={}", ""),
    ('{{"provider": "{svc}", "apiKey": "', '", "timeout": 30}}'),
    ("[INFO] calling {svc} API\n\t[DEBUG] using API_KEY=", "\n\t[INFO] 200 OK"),
    ("<credential>\n  <id>{svc}</id>\n  <secret>", "</secret>\n</credential>"),
    ("There is a {svc} key ", " in the vault."),
    ("{svc} credentials: ", " (prod)"),
    ('client := {svc}.New("https://example.com", WithToken("', '"))'),
    ("{svc}:\n  auth:\n    secret_key: ", "\n    region: eu"),
    ('req.Header.Set("X-{svc}-Key", "', '")'),
    ("GET https://api.{svc}.example/v1/data?api_key=", "&limit=5"),
)
_SERVICES = ("acmemail", "weatherly", "shipfast", "coinboard", "adtrack", "mapgrid", "voicekit", "paylane")
_BODIES: tuple[list[str | list[object]], ...] = (
    [["hex", 32]],
    [["hex", 40]],
    [["hex", 64]],
    [["lowernum", 20]],
    [["lowernum", 32]],
    [["lowernum", 40]],
    [["alnum", 20]],
    [["alnum", 24]],
    [["alnum", 32]],
    [["alnum", 40]],
    [["alnum", 64]],
    [["word", 43]],
    [["uppernum", 32]],
    [["hex", 8], "-", ["hex", 4], "-", ["hex", 4], "-", ["hex", 4], "-", ["hex", 12]],
)


def keyed_samples(seed: int, rounds: int = 3) -> list[Sample]:
    """Bare random strings that only a word nearby tells: a service's name and key, token or secret."""
    rng = random.Random(seed)
    made: list[Sample] = []
    for before, after in _KEYED * rounds:
        for body in _BODIES:
            token = _made(body, rng)
            lead = before.replace("{svc}", rng.choice(_SERVICES)).replace("{{", "{").replace("{}", "")
            made.append(
                Sample(
                    text=lead + token + after.replace("}}", "}"),
                    spans=((len(lead), len(lead) + len(token)),),
                    kind=before[:24],
                    group="keyed",
                )
            )
    return made


_HARMLESS: tuple[list[str | list[object]], ...] = (
    ["Fixed in commit ", ["hex", 40], "."],
    ["Merge ", ["hex", 10], " into main, token refresh included"],
    ["sha256:", ["hex", 64]],
    ['"integrity": "sha512-', ["base64", 86], '=="'],
    [
        "order id ",
        ["hex", 8],
        "-",
        ["hex", 4],
        "-4",
        ["hex", 3],
        "-a",
        ["hex", 3],
        "-",
        ["hex", 12],
        " shipped",
    ],
    ['{"id": "msg_01', ["alnum", 22], '", "role": "assistant"}'],
    ["request req_01", ["alnum", 22], " timed out"],
    ["the call call_", ["alnum", 24], " returned 3 rows"],
    ["customer cus_", ["alnum", 14], " paid invoice in_1", ["alnum", 23]],
    ["chatcmpl-", ["alnum", 29], " used 812 tokens"],
    ["see https://docs.google.com/document/d/1", ["word", 43], "/edit for the key points"],
    ["https://www.youtube.com/watch?v=", ["word", 11], " explains tokens"],
    ["https://www.notion.so/team/Access-keys-policy-", ["hex", 32]],
    ["trace_id=", ["hex", 32], " span_id=", ["hex", 16]],
    ["data:image/png;base64,iVBORw0KGgo", ["base64", 300]],
    ["ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAI", ["base64", 43], " dana@laptop"],
    ["pod api-", ["hex", 10], "-", ["lowernum", 5], " restarted"],
    ["main.", ["hex", 8], ".js and vendor-", ["hex", 20], ".css loaded"],
    ["wallet 0x", ["hex", 40], " got 0.5 ETH"],
    ["ULID 01J", ["uppernum", 3], "5S75Y6BB4A71ZGNJSJ9D8", " is the primary key"],
    ['etag: W/"', ["hex", 32], '"'],
    ["image registry.example.com/app@sha256:", ["hex", 64]],
    ["the cache key user:", ["digit", 6], ":profile expires"],
    ["max_tokens=", ["digit", 4], ", token_budget=", ["digit", 5]],
    ["arn:aws:iam::", ["digit", 12], ":role/token-rotator"],
    ["s3://bucket/uploads/", ["hex", 32], ".png uploaded by the key user"],
    ["session lasted ", ["digit", 3], " minutes; the password policy was discussed"],
    ["Tracking number 1Z", ["uppernum", 16], " is on its way"],
    ["gtag('config', 'G-", ["uppernum", 10], "')"],
    ["build ", ["hex", 7], " of auth-service passed in ", ["digit", 2], "s"],
    ["The token bucket refills at ", ["digit", 2], " per second"],
    ["partition key ", ["hex", 32], " is hot"],
    ["git clone https://github.com/acme/app.git && git checkout ", ["hex", 40]],
    ["https://cdn.example.com/assets/", ["hex", 40], "/app.css"],
    ["version 2.", ["digit", 2], ".0-rc.1 of the credential helper"],
    ["public_key: ", ["hex", 64]],
    ["key_id=", ["hex", 20], " algorithm=rs256"],
    ["https://example.com/a?utm_source=news&utm_campaign=", ["alnum", 12], "&ref=", ["alnum", 10]],
    ["epoch ", ["digit", 13], ", invoice INV-2026-", ["digit", 5]],
    ["thread_", ["alnum", 24], " belongs to asst_", ["alnum", 24]],
    ["model claude-sonnet-4-", ["digit", 8], " answered about API keys"],
    ["Bearer authentication is described in RFC ", ["digit", 4], "."],
    ["password: required, at least ", ["digit", 2], " characters"],
    ["payload=", ["base64", 80]],
    [
        "UUID ",
        ["hex", 8],
        "-",
        ["hex", 4],
        "-",
        ["hex", 4],
        "-",
        ["hex", 4],
        "-",
        ["hex", 12],
        " is the tenant key",
    ],
)


def harmless_samples(seed: int, rounds: int = 10) -> list[Sample]:
    """Random-looking text that must stay as it is: digests, ids, links, images, prose about secrets."""
    rng = random.Random(seed)
    return [
        Sample(text=_made(list(parts), rng), kind=str(parts[0])[:24], group="harmless")
        for parts in _HARMLESS * rounds
    ]
