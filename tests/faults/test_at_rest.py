"""The at-rest scan: a run full of secrets, crashes in between, and then every byte that is left of it."""

import base64
import itertools
import json
import secrets
import string
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import psycopg
import pytest

import foreword
from foreword.draft import parse_draft
from foreword.seal import Sealer
from tests.faults import scan, truth
from tests.faults.calls import client, persist
from tests.faults.harm import WORKER, family, kill, pids, scope_locked, until_waiting
from tests.services import Product, eventually

REF = "canary/cage"


def _random(length: int, alphabet: str = string.ascii_letters + string.digits) -> str:
    return "".join(secrets.choice(alphabet) for _ in range(length))


def _shaped() -> str:
    """A secret nobody registered, of a kind whose shape is known."""
    return "gh" + "p_" + _random(36)


@dataclass
class Canaries:
    """Secrets made for one run. Each is written down here and nowhere else."""

    registered: str = field(default_factory=lambda: f'{_random(14)}"/ü+&={_random(14)}')
    shaped: str = field(default_factory=_shaped)
    cloud: str = field(default_factory=lambda: "AK" + "IA" + _random(16, "ABCDEFGHIJKLMNOPQRSTUVWXYZ234567"))
    queued: str = field(default_factory=_shaped)
    refused: str = field(default_factory=_shaped)
    conflict: str = field(default_factory=_shaped)
    poison: str = field(default_factory=_shaped)
    resolved: str = field(default_factory=lambda: f'{_random(14)}"/é+&={_random(14)}')
    crashed: str = field(default_factory=_shaped)

    def all(self) -> dict[str, str]:
        return dict(vars(self))


@pytest.fixture(scope="module")
def caged(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Product]:
    """A product of these tests alone, so that nothing else is in its files."""
    product = Product(tmp_path_factory.mktemp("cage") / "data", "--port", "0").start()
    try:
        product.wait_ready()
        yield product
    finally:
        product.stop()


@pytest.fixture(scope="module")
def canaries(caged: Product) -> Canaries:
    """What was let loose in it, in every field and on every way in, wanted or refused."""
    made = Canaries()
    told = persist(caged, "PUT", "/v1/secrets/canary", json={"value": made.registered})
    assert told.status_code == 204, told.text
    for number, secret in enumerate((made.registered, made.shaped, made.cloud)):
        drafts = [_everywhere(secret, f"e-{number}"), _everywhere(json.dumps(secret), f"j-{number}")]
        told = persist(
            caged, "POST", "/v1/memory/entries:batch", params={"wait": 30}, json={"entries": drafts}
        )
        assert told.status_code == 201, told.text
    _refuse(caged, made.refused)
    _conflict(caged, made.conflict)
    _queue(caged, made.queued)
    _crash(caged, made.crashed)
    _poison(caged, made.poison)
    _resolve(caged, made.resolved)
    return made


def test_the_scan_sees_what_is_there(caged: Product, canaries: Canaries) -> None:
    """A text that is no secret is found in files, tables and Redis: the scan is not blind."""
    words = {"marker": "the harmless marker of this run"}
    places = scan.found(scan.everywhere(caged), words)
    for part in ("table entries", "redis value fw1:{", "appendonly.aof", "pg_wal"):
        assert any(part in place for place in places), (part, places)
    sample = 'x"/ü+&=y' * 3
    for before, after in itertools.product(range(3), repeat=2):
        whole = base64.b64encode(b"a" * before + sample.encode() + b"z" * after)
        assert scan.found(iter([("sample", whole)]), {"it": sample}), (before, after)
    for how, form in scan.forms(sample).items():
        assert scan.found(iter([("sample", b"\x00" + form + b"\x00")]), {"it": sample}), how


def test_no_canary_is_at_rest(caged: Product, canaries: Canaries) -> None:
    """No file, log, table, hot view or broker key holds one: plain, base64, URL, JSON or hex."""
    with client(caged) as asking:
        listed = asking.get("/v1/memory/entries", params={"memoryRef": REF, "fields": "all", "limit": 1000})
    assert len(listed.json()["entries"]) == len(truth.newest(caged, REF)) > 40
    assert "[REDACTED:canary]" in listed.text
    assert "[REDACTED:of-a-run]" in listed.text
    assert scan.found(iter([("an answer", listed.content)]), canaries.all()) == []
    assert scan.found(scan.everywhere(caged), canaries.all()) == []


def test_no_canary_is_left_by_a_stop(caged: Product, canaries: Canaries) -> None:
    """The same after PostgreSQL wrote all its pages and everything stopped and started again."""
    assert caged.stop() == 0
    assert scan.found(scan.files(caged), canaries.all()) == []
    assert scan.found(scan.printed(caged), canaries.all()) == []
    caged.start().wait_ready()
    assert scan.found(scan.everywhere(caged), canaries.all()) == []


def test_the_api_key_is_at_rest_where_it_is_meant_to_be(caged: Product, canaries: Canaries) -> None:
    """The key is in the credentials and the readiness file, both private, and nowhere else."""
    key = {"key": caged.wait_ready()["apiKey"]}
    meant = ("credentials.json", "run/ready.json")
    for name in meant:
        assert (caged.data_dir / name).stat().st_mode & 0o777 == 0o600
        assert scan.found(iter([(name, (caged.data_dir / name).read_bytes())]), key)
    assert scan.found(scan.files(caged, without=meant), key) == []
    assert scan.found(scan.columns(caged), key) == []
    assert scan.found(scan.redis_values(caged), key) == []


def test_a_secret_registered_later_is_swept(caged: Product, canaries: Canaries) -> None:
    """Once the sweep has ended, no column and no Redis value holds it; logs of servers age out."""
    late = {"late": f"{_random(12)} {_random(12)}"}
    told = persist(
        caged, "POST", "/v1/memory/entries", params={"wait": 30}, json=_everywhere(late["late"], "late")
    )
    assert told.status_code == 201, told.text
    assert scan.found(scan.columns(caged), late)
    told = persist(caged, "PUT", "/v1/secrets/late", json={"value": late["late"]})
    assert told.status_code == 204, told.text
    eventually(
        lambda: persist(caged, "GET", told.headers["Location"]).json()["status"] == "succeeded",
        "the sweep ends",
    )
    read = persist(caged, "GET", "/v1/memory/entries", params={"memoryRef": REF, "limit": 1})
    assert "[REDACTED:late]" in read.text
    assert scan.found(scan.columns(caged), late) == []
    assert scan.found(scan.redis_values(caged), late) == []


def _everywhere(secret: str, id_: str) -> dict[str, Any]:
    """A Draft with the secret in every field that holds text."""
    return {
        "memoryRef": REF,
        "id": id_,
        "content": f"the harmless marker of this run; password is {secret}, so use {secret}",
        "tags": ["cage", f"t {secret}"],
        "metadata": {"note": secret, "deep": {"list": [f"x {secret} y"]}, f"key {secret}": 1},
        "source": f"mail with {secret}",
        "speaker": f"Ann {secret}"[:200],
        "conversation": f"c {secret}",
    }


def _refuse(product: Product, secret: str) -> None:
    """Requests no door lets in, with the secret in what is wrong about them."""
    post, path = "POST", "/v1/memory/entries"
    good = {"memoryRef": REF, "content": secret}
    bodies: list[Any] = [
        *({**good, name: secret} for name in ("id ", "kind", "confidence", "expiresAt", "links", secret)),
        *({**good, name: {"deep": secret}} for name in ("id", "tags", "supersedes", "speaker")),
        {**good, "metadata": [secret]},
        {"memoryRef": 5, "content": [secret]},
        {"memoryRef": f"../{secret}", "content": secret},
        {"content": secret + "\x00", "memoryRef": REF},
        [secret],
        secret,
    ]
    asked: list[tuple[str, str, dict[str, Any]]] = [
        *((post, path, {"json": body}) for body in bodies),
        (post, path, {"content": f'{{"content": "{secret}', "headers": {"Content-Type": "application/json"}}),
        (post, path, {"content": secret, "headers": {"Content-Type": "text/plain"}}),
        (post, path, {"json": good, "headers": {"Authorization": f"Bearer {secret}"}}),
        (post, path, {"json": good, "params": {"wait": secret}}),
        (post, "/v1/memory/entries:batch", {"json": {"entries": [good, {**good, "kind": secret}]}}),
        (post, "/v1/memory/import", {"content": secret, "headers": {"Content-Type": "application/x-ndjson"}}),
        ("GET", path, {"params": {"memoryRef": REF, "tokenBudget": secret}}),
        ("GET", path, {"params": {"memoryRef": REF, secret: "1"}}),
        ("GET", path, {"params": {"memoryRef": REF, "cursor": secret, "after": secret}}),
        ("GET", f"{path}/{secret} {secret}", {"params": {"memoryRef": REF}}),
        ("GET", f"/{secret}", {}),
        ("DELETE", f"{path}/{secret}", {"params": {"memoryRef": REF}}),
        ("PUT", f"/v1/secrets/{secret} ", {"json": {"value": secret}}),
        ("PUT", "/v1/secrets/bad", {"json": {"value": [secret]}}),
        (post, path, {"json": {"memoryRef": REF, "content": secret + "x" * 70_000}}),
        ("GET", path, {"params": {"memoryRef": secret, "tag": secret}}),
    ]
    for method, where, told in asked:
        answer = persist(product, method, where, **told)
        if method == "GET" and answer.status_code == 200:
            assert answer.json()["entries"] == []
        else:
            assert 400 <= answer.status_code < 500, (method, answer.status_code, answer.text)
            assert secret not in answer.text


def _conflict(product: Product, secret: str) -> None:
    """Another body under a taken id."""
    draft = {"memoryRef": REF, "id": "taken", "content": "first"}
    assert persist(product, "POST", "/v1/memory/entries", json=draft).status_code == 202
    draft["content"] = f"second with {secret}"
    assert persist(product, "POST", "/v1/memory/entries", json=draft).status_code == 409


def _queue(product: Product, secret: str) -> None:
    """Drafts straight through Celery: some filed, one refused by the worker, one nobody can open."""
    ready = product.wait_ready()
    told = {"api_key": ready["apiKey"], "broker_url": ready["brokerUrl"], "seal_key": ready["sealKey"]}
    foreign = foreword.enqueue(
        _everywhere(secret, "foreign"), **(told | {"api_key": f"{ready['apiKey'][:-43]}{'x' * 43}"})
    )
    conflicting = foreword.enqueue(_everywhere(secret, "taken"), **told)
    ids = [foreword.enqueue(_everywhere(secret, f"q-{number}"), **told) for number in range(3)]
    eventually(lambda: {*ids} <= {*truth.newest(product, REF)}, "queued Drafts are filed")
    assert foreign not in truth.newest(product, REF)
    assert conflicting in truth.newest(product, REF)


def _crash(product: Product, secret: str) -> None:
    """Workers, then ledger and hot view, die with opened Drafts in their hands."""
    with scope_locked(product, REF):
        for number in range(40):
            draft = _everywhere(secret, f"c-{number}")
            assert persist(product, "POST", "/v1/memory/entries", json=draft).status_code == 202
        until_waiting(product, "Lock", WORKER)
        kill(*pids(product, "worker"))
        kill(*family(*pids(product, "postgres")), *pids(product, "valkey", "shim"))
    eventually(lambda: truth.pending(product, REF) == 0, "what was accepted is filed")


def _poison(product: Product, secret: str) -> None:
    """Drafts in the inbox that open and make no sense, or do not open at all."""
    ready = product.wait_ready()
    sealer = Sealer(ready["sealKey"])
    bodies = [{"content": secret}, {**_everywhere(secret, "p"), "memory_ref": REF}, [secret], secret]
    sealed = [sealer.seal(json.dumps(body).encode()) for body in bodies]
    sealed.append(sealer.seal(f"{{{secret}".encode()))
    sealed.append(b"no seal")
    with psycopg.connect(ready["databaseUrl"]) as conn:
        tenant = conn.execute("SELECT tenant_id FROM scopes WHERE memory_ref = %s", [REF]).fetchone()
        conn.execute("SELECT set_config('foreword.tenant', %s, true)", [str(tenant and tenant[0])])
        conn.execute(
            "SELECT accept_drafts(%s::text[], %s::text[], %s::bytea[], %s::bytea[], %s::timestamptz[])",
            [
                [REF] * len(sealed),
                [f"poison-{number}" for number in range(len(sealed))],
                [b"digest"] * len(sealed),
                sealed,
                [None] * len(sealed),
            ],
        )

    def states() -> list[str]:
        receipts = (
            persist(product, "GET", f"/v1/memory/receipts/poison-{number}", params={"memoryRef": REF})
            for number in range(len(sealed))
        )
        return [receipt.json()["status"] for receipt in receipts]

    eventually(lambda: states() == ["failed"] * len(sealed), "poisonous Drafts fail")


def _resolve(product: Product, secret: str) -> None:
    """A run resolves a secret that nobody registered and no shape tells, and writes it everywhere."""
    ready = product.wait_ready()
    sealer = Sealer(ready["sealKey"])
    drafts = [
        replace(parse_draft(_everywhere(json.dumps(secret)[1:-1] + secret, f"r-{number}")), run="caged")
        for number in range(3)
    ]
    with psycopg.connect(ready["databaseUrl"]) as conn:
        tenant = conn.execute("SELECT tenant_id FROM scopes WHERE memory_ref = %s", [REF]).fetchone()
        conn.execute("SELECT set_config('foreword.tenant', %s, true)", [str(tenant and tenant[0])])
        conn.execute(
            """INSERT INTO runs (tenant_id, run_id, workflow_id, status, lease_until)
               VALUES (current_tenant(), 'caged', 'flow', 'running', now() + interval '1 hour')"""
        )
        registered = conn.execute(
            "SELECT register_run_secrets('caged', '{of-a-run}', ARRAY[%s]::bytea[])",
            [sealer.seal(secret.encode())],
        ).fetchone()
        assert registered == (True,)
        conn.execute(
            "SELECT accept_drafts(%s, %s, %s::bytea[], %s::bytea[], %s::timestamptz[], %s)",
            [
                [REF] * 3,
                [draft.id for draft in drafts],
                [b"digest"] * 3,
                [sealer.seal(draft.to_bytes()) for draft in drafts],
                [None] * 3,
                ["caged"] * 3,
            ],
        )
    eventually(lambda: {"r-0", "r-1", "r-2"} <= {*truth.newest(product, REF)}, "a run's Drafts are filed")
    with psycopg.connect(ready["databaseUrl"]) as conn:
        told = conn.execute("SELECT payload->>'memoryId' FROM run_events WHERE run_id = 'caged' ORDER BY seq")
        assert told.fetchall() == [("r-0",), ("r-1",), ("r-2",)]


def test_the_data_folder_is_scanned_whole(caged: Product, canaries: Canaries) -> None:
    """The scan reads append-only file, write-ahead log, tables, logs and credentials, not a part of them."""
    seen = {Path(name).parts[0] for name, _ in scan.files(caged)}
    assert {"postgres", "valkey", "log", "run", "credentials.json"} <= seen
    assert scan.size(caged.data_dir) > 10_000_000
