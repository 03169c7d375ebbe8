"""CTI-1: one memoryRef is one tenant's, at every door; and the examination that users run can fail."""

import json
import os
import re
import subprocess
import sys
from collections.abc import Iterator

import httpx
import pytest

from api_shim.doors.routes import ROUTES, RUNS
from foreword.doctor.isolation import Examination, Pair, given_pair
from foreword.doctor.isolation.probes import READS, REMOVALS
from foreword.doctor.isolation.target import Target
from foreword.errors import ValidationError
from foreword.ledger.tenants import list_tenants
from tests.acceptance.tenants import Tenant, filed, filed_all
from tests.conformance import checks
from tests.services import Product, eventually

LIST, HOST = "/v1/memory/entries", "/v1/host/foreword/memory"
REF = "mem://shared/name"
ASKED_BY_FLOW = {
    "GET /v1/secrets",
    "PUT /v1/secrets/{secretId}",
    "POST /v1/memory/entries",
    "POST /v1/memory/entries:batch",
    "POST /v1/runs",
}
"""Doors that the examination takes to store, and then looks at what the other side sees of it."""
OF_NO_MEMORY = {
    "GET /v1/seal-key",
    "POST /v1/memory/import",
    "GET /v1/agents",
    "GET /v1/workflows/{workflowId}",
}
"""One public key; a write into one's own tenant like any other; a list that is the same to all."""


@pytest.fixture
def neighbour(tenant: Tenant) -> Iterator[httpx.Client]:
    """A client of another tenant."""
    with tenant.neighbour().door() as door:
        yield door


@pytest.fixture
def pair(tenant: Tenant) -> Pair:
    """Keys of two tenants."""
    return Pair(owner_key=tenant.key(), other_key=tenant.neighbour().key())


@pytest.fixture
def whole_host(host_url: str) -> str:
    """A server with every door, once it finds by meaning."""
    eventually(lambda: _finds(host_url), "the model serves")
    return host_url


def _finds(url: str) -> bool:
    return "search" in httpx.get(f"{url}/.well-known/openwop").json()["memory"]


def states(url: str, pair: Pair, transport: httpx.BaseTransport | None = None) -> dict[str, str]:
    """The state of each door."""
    return {verdict.door: verdict.state for verdict in Examination(url, pair, transport).verdicts()}


def test_one_name_is_two_memories(door: httpx.Client, neighbour: httpx.Client) -> None:
    """CTI-1 rule 1: two tenants' memories of one name share nothing, read, written or removed."""
    ours = [receipt["id"] for receipt in filed_all(door, REF, "ours", "ours too")]
    asked = {"memoryRef": REF}
    checks.check_isolated(
        door.get(HOST, params=asked).json()["entries"],
        ours,
        neighbour.get(HOST, params=asked).json()["entries"],
    )
    theirs = filed(neighbour, REF, "theirs", id=ours[0], supersedes=[ours[1]])["id"]
    assert theirs == ours[0]
    assert neighbour.delete("/v1/memory", params=asked).json() == {"removed": 1}
    assert [entry["content"] for entry in door.get(LIST, params=asked).json()["entries"]] == [
        *("ours too", "ours"),
    ]


@pytest.mark.parametrize("name", ["tenantId", "tenant", "tenant_id", "scope"])
def test_a_tenant_cannot_be_asked_for(door: httpx.Client, neighbour: httpx.Client, name: str) -> None:
    """CTI-1 rule 2: the tenant comes from the credential; a query or body that names one is refused."""
    filed(door, REF, "ours")
    answer = neighbour.get(LIST, params={"memoryRef": REF, name: "1"})
    assert answer.status_code == 400
    checks.check_refused(answer.json(), name)
    body = {"memoryRef": REF, "mode": "filter", name: 1}
    refused = neighbour.post("/v1/memory/search", json=body)
    assert refused.status_code == 400
    checks.check_refused(refused.json(), name)


def test_a_foreign_entry_is_as_unknown(door: httpx.Client, neighbour: httpx.Client) -> None:
    """CTI-1 rule 3: a foreign ref or id answers what an unknown one does, byte for byte, headers too."""
    foreign = filed(door, REF, "ours")["id"]
    unknown = foreign[:-4] + ("0000" if foreign[-4:] != "0000" else "1111")
    for method in ("GET", "DELETE"):
        for path in (LIST, HOST):
            answers = [
                neighbour.request(method, f"{path}/{id_}", params={"memoryRef": ref})
                for id_, ref in ((foreign, REF), (unknown, REF), (foreign, REF[:-1] + "x"))
            ]
            assert {answer.status_code for answer in answers} == {404}
            assert len({answer.content for answer in answers}) == 1
            assert len({tuple(sorted(answer.headers.items())) for answer in answers}) == 1
    assert door.get(f"{HOST}/{foreign}", params={"memoryRef": REF}).status_code == 200


def test_an_error_tells_neither_entry_nor_ref(door: httpx.Client, neighbour: httpx.Client) -> None:
    """CTI-1 rule 4: no refusal repeats a ref, an id or text."""
    filed(door, "canary/ref", "canary text", id="canary-id")
    for client in (door, neighbour):
        for answer in (
            client.get(f"{HOST}/canary-id", params={"memoryRef": "canary/other"}),
            client.get(LIST, params={"memoryRef": "canary/ref", "canary": "canary", "limit": "canary"}),
            client.get(LIST, params={"memoryRef": "canary/ref", "cursor": "canary"}),
            client.post(LIST, json={"memoryRef": "canary/\n", "content": "canary", "kind": "canary"}),
            client.post("/v1/memory/search", json={"memoryRef": "canary/ref", "query": 1, "mode": "canary"}),
        ):
            assert answer.status_code in (400, 404)
            told = {**answer.json(), "details": None}
            assert "canary" not in json.dumps(told)
            assert "canary/" not in answer.text
            assert "canary text" not in answer.text


def test_every_door_is_asked() -> None:
    """CTI-1 rule 5: the examination has a probe for each call that reads or removes what is a tenant's."""
    target = Target.named()
    names = {target.id: "{}", target.secret: "{}", target.job: "{}", target.run: "{}"}
    names |= dict.fromkeys(target.doomed, "{}")
    asked = set()
    for probe in (*READS, *REMOVALS):
        request = probe.ask(target)
        path = request.path
        for name, hole in names.items():
            path = path.replace(name, hole)
        asked.add(f"{request.method} {path}")
    there = {
        f"{route.method} " + _with_holes(route.path)
        for route in (*ROUTES, *RUNS)
        if not route.open and f"{route.method} {route.path}" not in ASKED_BY_FLOW | OF_NO_MEMORY
    }
    assert there <= asked


def _with_holes(path: str) -> str:
    for name in ("{id}", "{memoryId}", "{jobId}", "{secretId}", "{runId}"):
        path = path.replace(name, "{}")
    return path


def test_no_door_tells_anything(running_product: Product) -> None:
    """CTI-1: ``foreword doctor --isolation`` prints every door as isolated and leaves no tenant behind."""
    ready = running_product.wait_ready()
    eventually(lambda: _finds(ready["url"]), "the model serves")
    before = {tenant.name for tenant in list_tenants(ready["databaseUrl"])}
    done = doctor(running_product)
    assert done.returncode == 0, done.stdout + done.stderr
    rows = [line for line in done.stdout.splitlines() if "/v1/" in line]
    assert len(rows) == Examination.doors
    for row in rows:
        door, state = re.split(r" {2,}", row)[:2]
        assert state == ("not served" if "/v1/runs" in door else "isolated"), row
    assert {tenant.name for tenant in list_tenants(ready["databaseUrl"])} == before


def doctor(running: Product, **settings: str) -> "subprocess.CompletedProcess[str]":
    """What ``foreword doctor --isolation`` prints."""
    known = {name: value for name, value in os.environ.items() if not name.startswith("FOREWORD_")}
    return subprocess.run(
        [sys.executable, "-m", "foreword.cli", "doctor", "--isolation"],
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
        env=known | {"FOREWORD_DATA_DIR": str(running.data_dir)} | settings,
    )


def test_keys_must_be_of_two_tenants(running_product: Product, tenant: Tenant) -> None:
    """Two keys of one tenant, or what is no key, are refused before anything is stored."""
    for other in (tenant.key(), "fw_1_canary"):
        with pytest.raises(ValidationError):
            given_pair(tenant.key(), other)
    one, other = tenant.key(), tenant.neighbour().key()
    assert given_pair(one, other) == Pair(owner_key=one, other_key=other)
    same = doctor(running_product, FOREWORD_API_KEY=one, FOREWORD_OTHER_API_KEY=tenant.key())
    assert same.returncode not in (0, 1)
    assert "other-key" in same.stderr


class Standing(httpx.BaseTransport):
    """A server that tells tenants apart: it looks an entry up first and asks whose it is afterwards.

    So what exists elsewhere is a 403 instead of a 404, and stats count it too.
    """

    def __init__(self, owner_key: str) -> None:
        self._inner = httpx.HTTPTransport()
        self._owner_key = owner_key

    def handle_request(self, request: httpx.Request) -> httpx.Response:
        """The right answer, unless the owner would get another one."""
        right = self._sent(request)
        if request.method != "GET":
            return right
        headers = httpx.Headers(request.headers)
        headers["Authorization"] = f"Bearer {self._owner_key}"
        owned = self._sent(httpx.Request(request.method, request.url, headers=headers))
        if (right.status_code, owned.status_code) == (404, 200):
            return httpx.Response(403, json={"error": "forbidden", "message": "Not yours."})
        if request.url.path == "/v1/memory/stats":
            return httpx.Response(200, json=right.json() | {"entries": owned.json()["entries"]})
        return right

    def _sent(self, request: httpx.Request) -> httpx.Response:
        answer = self._inner.handle_request(request)
        answer.read()
        return answer

    def close(self) -> None:
        """Closes what it stands on."""
        self._inner.close()


def test_telling_tenants_apart_is_caught(whole_host: str, pair: Pair) -> None:
    """A 403 for what exists elsewhere, and a count that includes it, are caught at just these doors."""
    found = states(whole_host, pair, Standing(pair.owner_key))
    single = {probe.door for probe in READS if probe.door.startswith("GET") and "/ID" in probe.door}
    assert {door for door, state in found.items() if state == "tells apart"} == {
        *single,
        "GET /v1/memory/stats",
    }
    assert set(found.values()) == {"tells apart", "isolated"}


def test_a_forgotten_tenant_is_caught(whole_host: str, tenant: Tenant) -> None:
    """Where both keys open the same memory, every door that reads, removes or writes is caught."""
    found = states(whole_host, Pair(owner_key=tenant.key(), other_key=tenant.key()))
    caught = {door for door, state in found.items() if state in ("leaks", "tells apart")}
    assert caught >= {probe.door for probe in (*READS, *REMOVALS)}
    assert caught >= {"GET /v1/secrets", "POST /v1/memory/entries same names"}
    assert found["GET /v1/memory/entries recency"] == "leaks"
