"""Discovery over HTTP: complete, the same to everybody, no more than runs (OpenWOP RFC 0073, RFC 0080)."""

import json
from pathlib import Path
from typing import Any

import httpx
import pytest

from api_shim.doors.routes import RUNS, SEAMS
from foreword.counters import COUNTERS
from tests.acceptance.tenants import filed
from tests.services import eventually

ROOT = Path(__file__).parents[2]
NOT_BUILT = {"compaction", "distillation"}


@pytest.fixture
def told(product: dict[str, Any]) -> dict[str, Any]:
    """The document once the model serves."""

    def served() -> dict[str, Any] | None:
        document: dict[str, Any] = httpx.get(f"{product['url']}/.well-known/openwop").json()
        return document if "search" in document["memory"] else None

    return dict(eventually(served, "the model serves"))


def test_it_has_what_a_host_must_tell(told: dict[str, Any]) -> None:
    """RFC 0073: protocolVersion, implementation, supportedEnvelopes, schemaVersions and limits are there."""
    assert told["protocolVersion"] == "1.0"
    assert told["implementation"].keys() == {"name", "version", "vendor"}
    assert told["supportedEnvelopes"] == []
    assert told["schemaVersions"] == {}
    assert told["limits"].keys() >= {"clarificationRounds", "schemaRounds", "envelopesPerTurn"}
    assert all(type(limit) is int and limit >= 0 for limit in told["limits"].values())
    assert isinstance(told["fixtures"], list)


def test_the_document_is_the_documented_one(told: dict[str, Any]) -> None:
    """What a server with the defaults tells is what docs/api.md shows, word for word."""
    section = (ROOT / "docs/api.md").read_text().partition("### `GET /.well-known/openwop`")[2]
    assert json.loads(section.partition("```json\n")[2].partition("```")[0]) == told


def test_families_are_mirrored(told: dict[str, Any]) -> None:
    """RFC 0073: families stand at the root, and identically in the deprecated wrapper."""
    assert told["capabilities"] == {"memory": told["memory"], "agents": told["agents"]}


def test_a_key_changes_nothing(told: dict[str, Any], door: httpx.Client) -> None:
    """Discovery answers 200 and the same without a key, with one, and with one that is wrong."""
    for headers in ({}, dict(door.headers), {"Authorization": "Bearer fw_0_x"}):
        answer = httpx.get(door.base_url.join("/.well-known/openwop"), headers=headers)
        assert (answer.status_code, answer.json()) == (200, told)


def test_memory_is_named_as_the_suite_reads_it(told: dict[str, Any]) -> None:
    """RFC 0080: supported, not read-only, on a backend called long-term, with a budget in a known counter."""
    memory = told["memory"]
    assert memory["supported"] is True
    assert memory.get("writable") is not False
    assert told["agents"]["memoryBackends"] == ["long-term"]
    assert memory["injectionBudget"].keys() == {"supported", "tokenCounter"}
    assert memory["injectionBudget"]["tokenCounter"] in COUNTERS
    assert memory["search"] == {"supported": True, "modes": ["semantic", "filter"]}
    assert memory["retention"] == {"ttl": True, "forget": True}
    assert memory["ttlSupported"] is True


def test_the_largest_entry_is_as_told(told: dict[str, Any], door: httpx.Client) -> None:
    """RFC 0004 ``maxEntrySizeBytes``: a content of that many bytes is kept and one byte more is refused."""
    most = told["memory"]["maxEntrySizeBytes"]
    filed(door, "a", "x" * most)
    answer = door.post("/v1/memory/entries", json={"memoryRef": "a", "content": "x" * (most + 1)})
    assert answer.status_code == 400


def test_every_advertised_mode_answers(told: dict[str, Any], door: httpx.Client) -> None:
    """RFC 0080 ``memory.search``: each mode named is answered, by that mode alone."""
    for mode in told["memory"]["search"]["modes"]:
        body = {"memoryRef": "a", "mode": mode} | ({} if mode == "filter" else {"query": "x"})
        assert door.post("/v1/memory/search", json=body).json()["budget"]["legs"] == [mode]


def test_what_is_not_there_is_not_claimed(told: dict[str, Any], door: httpx.Client) -> None:
    """RFC 0080: no capability without its behaviour: no jobs, runs or replay, and their routes are 404."""
    assert not NOT_BUILT & told["memory"].keys()
    assert told["fixtures"] == []
    assert "attribution" not in told["memory"]
    assert not {"manifestRuntime", "memoryConsolidation", "commitments"} & told["agents"].keys()
    assert "multiAgent" not in told
    for route in (*RUNS, *SEAMS):
        assert door.request(route.method, route.path).status_code == 404
    for path in ("/v1/host/sample/memory/distill", "/v1/test/memory/compact", "/v1/runs", "/v1/agents"):
        assert door.post(path, json={}).status_code == 404
