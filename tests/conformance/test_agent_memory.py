"""RFC 0004 and RFC 0080, restated: put and get, redaction, expiry, isolation, each seen in memory itself."""

import json

import pytest

from foreword.instant import from_wire, now_ms
from tests.acceptance.tenants import assert_error
from tests.conformance.host import NOOP, PREFIX, Host

CANARY = "openwop-conformance-canary-secret"


def test_a_round_trip(host: Host) -> None:
    """What get gives is the entry that the list and the ledger have, in the five fields of the wire."""
    told = host.completed(f"{PREFIX}roundtrip")
    readback = told["memoryReadback"]
    assert readback.keys() == {"id", "content", "tags", "createdAt", "expiresAt"}
    assert host.listed(told["memoryRef"]) == [readback]
    (kept,) = host.kept(told["memoryRef"])
    assert [kept[name] for name in ("id", "content", "tags")] == [
        readback[name] for name in ("id", "content", "tags")
    ]
    assert readback["content"]
    assert readback["tags"]


def test_two_runs_do_not_meet(host: Host) -> None:
    """Each run has a memory of its own."""
    one, other = (host.completed(f"{PREFIX}roundtrip") for _ in range(2))
    assert one["memoryRef"] != other["memoryRef"]
    assert len(host.listed(one["memoryRef"])) == len(host.listed(other["memoryRef"])) == 1


@pytest.mark.parametrize("workflow", ["roundtrip", "redaction"])
def test_nothing_is_left_for_good(host: Host, workflow: str) -> None:
    """Whatever a run wrote expires within hours."""
    told = host.completed(PREFIX + workflow)
    ends = [from_wire(entry["expiresAt"]) for entry in host.listed(told["memoryRef"])]
    assert ends
    assert all(now_ms() < end < now_ms() + 2 * 3_600_000 for end in ends)


def test_a_resolved_secret_is_a_marker(host: Host) -> None:
    """Readback and ledger have the secret's marker in content and tags, and the registry is gone."""
    started = host.start(f"{PREFIX}redaction")
    found = host.ended(started["runId"])
    told = found["variables"]
    readback = told["memoryReadback"]
    assert f"[REDACTED:{CANARY}]" in readback["content"]
    assert any(f"[REDACTED:{CANARY}]" in tag for tag in readback["tags"])
    assert host.listed(told["memoryRef"]) == [readback]
    (kept,) = host.kept(told["memoryRef"])
    assert (kept["content"], kept["tags"]) == (readback["content"], readback["tags"])
    left = host.ledger("SELECT FROM run_secrets WHERE run_id = %s", started["runId"])
    assert left == []


def test_an_unknown_secret_fails_the_run(host: Host) -> None:
    """A secret that cannot be resolved fails the run under its code, and nothing is written."""
    started = host.start(f"{PREFIX}redaction", inputs={"byokSecretId": "prod-db"})
    found = host.ended(started["runId"])
    assert (found["status"], found["error"]["code"]) == ("failed", "credential_unavailable")
    assert found["variables"] == {}
    assert host.listed(f"openwop/{PREFIX}redaction/{started['runId']}") == []
    assert host.events(started["runId"])[-1]["payload"]["error"] == found["error"]


def test_what_has_expired_is_gone(host: Host) -> None:
    """The list has the fresh entry and not the expired one, whose row the ledger may still have."""
    told = host.completed(f"{PREFIX}ttl")
    now = now_ms()
    shown = {entry["id"]: entry for entry in told["memoryList"]}
    assert told["freshId"] in shown
    assert told["expiredId"] not in shown
    assert all(from_wire(entry["expiresAt"]) > now for entry in shown.values())
    assert {entry["id"] for entry in host.listed(told["memoryRef"])} == set(shown)
    gone = host.door.get(f"/v1/memory/entries/{told['expiredId']}", params={"memoryRef": told["memoryRef"]})
    assert_error(gone, 404, "not_found")
    rows = {row["id"]: row for row in host.kept(told["memoryRef"])}
    if told["expiredId"] in rows:
        assert rows[told["expiredId"]]["expires_at"] is not None
    receipts = host.ledger("SELECT id FROM receipts WHERE tenant_id = %s", host.tenant.number)
    assert told["expiredId"] in {row["id"] for row in receipts}


def test_another_tenants_memory_is_empty(host: Host, neighbour: Host) -> None:
    """The owner sees its entry; the probe is told and empty, though another tenant has that ref."""
    told = host.completed(f"{PREFIX}cross-tenant")
    assert told["ownerEntryId"] in {entry["id"] for entry in told["ownerProbe"]}
    assert told["ownerProbe"] == host.listed(told["memoryRef"])
    assert told["crossTenantProbe"] == []
    ref = f"{told['memoryRef']}/foreign"
    rows = host.ledger("SELECT tenant_id FROM scopes WHERE memory_ref = %s", ref)
    assert [row["tenant_id"] for row in rows] not in ([], [host.tenant.number])
    assert host.listed(ref) == neighbour.listed(ref) == neighbour.listed(told["memoryRef"]) == []


def test_nobody_has_a_key_to_the_other_tenant(host: Host) -> None:
    """The tenant that is probed with has no key, and none can be made for it under its name."""
    host.completed(f"{PREFIX}cross-tenant")
    assert host.ledger("SELECT FROM api_keys WHERE tenant_id = 0") == []
    (row,) = host.ledger("SELECT name FROM tenants WHERE tenant_id = 0")
    assert ":" in row["name"]


def test_a_summary_is_kept(host: Host) -> None:
    """A run of the noop workflow leaves one entry, and says which."""
    told = host.completed(NOOP)
    (entry,) = host.listed(told["memoryRef"])
    assert entry["id"] == told["memoryId"]


def test_variables_hold_no_secret(host: Host) -> None:
    """Nothing that a run tells looks like a value of its vault: markers stand where values were."""
    told = host.completed(f"{PREFIX}redaction")
    assert json.dumps(told).count("[REDACTED:") >= 2
