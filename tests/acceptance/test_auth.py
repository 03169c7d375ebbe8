"""Who may pass which door, over HTTP."""

import time
from collections.abc import Callable

import httpx
import pytest

from api_shim.doors.routes import ROUTES
from tests.acceptance.tenants import Tenant, assert_error, contents, filed
from tests.acceptance.tenants import door as with_key
from tests.services import eventually

GUARDED = [route for route in ROUTES if not route.open]
OPEN = [route for route in ROUTES if route.open]
ENTRIES = "/v1/memory/entries"


def path_of(template: str) -> str:
    """A path of a route, with something in its variable part."""
    return template.split("{", maxsplit=1)[0] + ("x" if "{" in template else "")


@pytest.mark.parametrize("route", GUARDED, ids=lambda r: f"{r.method} {r.path}")
def test_a_key_is_required(tenant: Tenant, route: object) -> None:
    """No key, or one that is malformed, unknown or of another scheme, is a 401 at every guarded door."""
    key = tenant.key()
    unknown = key[:-1] + ("A" if key[-1] != "A" else "B")
    headers: list[dict[str, str]] = [
        {},
        {"Authorization": ""},
        {"Authorization": "Bearer"},
        {"Authorization": key},
        {"Authorization": f"Basic {key}"},
        {"Authorization": f"Bearer {unknown}"},
        {"Authorization": f"Bearer {key} {key}"},
        {"Authorization": f"Bearer fw_ffffffff_{'0' * 8}_{'A' * 43}"},
    ]
    with httpx.Client(base_url=tenant.url) as anybody:
        for header in headers:
            answer = anybody.request(route.method, path_of(route.path), headers=header)  # type: ignore[attr-defined]
            assert_error(answer, 401, "unauthenticated")
            assert answer.headers["WWW-Authenticate"] == "Bearer"
            assert key not in answer.text


def test_a_scope_is_required(tenant: Tenant) -> None:
    """A valid key without the scope of a door is a 403 that names it, before anything else is looked at."""
    for scope in ("read", "write", "admin"):
        others = {"read", "write", "admin"} - {scope}
        with tenant.door(*others) as lacking:
            for route in (route for route in GUARDED if route.scope == scope):
                answer = lacking.request(route.method, path_of(route.path))
                assert assert_error(answer, 403, "forbidden") == {"scopeRequired": scope}
        with tenant.door(scope) as having:
            assert having.get("/v1/seal-key").status_code == 200
            for route in (route for route in GUARDED if route.scope == scope):
                assert having.request(route.method, path_of(route.path)).status_code not in (401, 403)


@pytest.mark.parametrize("route", OPEN, ids=lambda r: r.path)
def test_open_doors_are_open(tenant: Tenant, route: object) -> None:
    """Health, readiness, metrics, discovery and the document answer anybody, and the same to everybody."""
    with httpx.Client(base_url=tenant.url) as anybody, tenant.door("read") as somebody:

        def told() -> set[bytes]:
            answers = [client.get(route.path) for client in (anybody, somebody)]  # type: ignore[attr-defined]
            assert [answer.status_code for answer in answers] == [200, 200]
            return {answer.content for answer in answers}

        told()
        if route.path != "/metrics":  # type: ignore[attr-defined]
            eventually(lambda: len(told()) == 1, "both are told the same, once the model serves")


def test_a_revoked_key_stops(tenant: Tenant) -> None:
    """Within five seconds of its revocation a key that was in use is unknown; others go on."""
    key = tenant.key()
    with with_key(key, tenant.url) as revoked, tenant.door() as living:
        filed(revoked, "a", "x")
        tenant.revoke(key)
        ended = time.monotonic()
        while revoked.get(ENTRIES, params={"memoryRef": "a"}).status_code == 200:
            assert time.monotonic() - ended < 5
            time.sleep(0.1)
        answer = revoked.get(ENTRIES, params={"memoryRef": "a"})
        assert_error(answer, 401, "unauthenticated")
        assert contents(living, "a") == ["x"]


def test_a_bound_key_reaches_its_refs_only(tenant: Tenant, door: httpx.Client) -> None:
    """To a bound key other memories are as if empty, byte for byte, and cannot be written or removed."""
    written = filed(door, "user/2", "not for all", tags=["t"])
    with tenant.door(ref_glob="user/1*") as bound:
        filed(bound, "user/1", "mine")
        filed(bound, "user/1/sub", "mine too")
        assert contents(bound, "user/1") == ["mine"]
        for path in (ENTRIES, "/v1/memory/stats", "/v1/memory/events", "/v1/memory/export"):
            theirs, unknown = (bound.get(path, params={"memoryRef": r}) for r in ("user/2", "user/9"))
            assert (theirs.status_code, theirs.content.replace(b"user/2", b"user/9")) == (
                200,
                unknown.content,
            )
        for method, path in (("GET", ENTRIES), ("GET", "/v1/memory/receipts"), ("DELETE", ENTRIES)):
            answer = bound.request(method, f"{path}/{written['id']}", params={"memoryRef": "user/2"})
            assert_error(answer, 404, "not_found")
        assert bound.delete("/v1/memory", params={"memoryRef": "user/2"}).json() == {"removed": 0}
        good, foreign = ({"memoryRef": ref, "content": "x"} for ref in ("user/1", "user/2"))
        assert_error(bound.post(ENTRIES, json=foreign), 403, "forbidden")
        batch = bound.post(f"{ENTRIES}:batch", json={"entries": [good, foreign]})
        assert_error(batch, 403, "forbidden")
        assert contents(bound, "user/1") == ["mine"]
    assert contents(door, "user/2") == ["not for all"]


def test_a_key_has_a_rate(tenant: Tenant, shim: Callable[..., str]) -> None:
    """Beyond its requests a minute a key is a 429 that says when to come back; other keys are not touched."""
    url = shim(FOREWORD_REQUESTS_PER_MINUTE="5")
    with tenant.door("read", url=url) as eager, tenant.door("read", url=url) as patient:
        answers = [eager.get(ENTRIES, params={"memoryRef": "a"}) for _ in range(6)]
        assert [answer.status_code for answer in answers] == [200] * 5 + [429]
        assert_error(answers[-1], 429, "rate_limited")
        assert 1 <= int(answers[-1].headers["Retry-After"]) <= 12
        assert_error(eager.post(ENTRIES, json={}), 429, "rate_limited")
        assert patient.get(ENTRIES, params={"memoryRef": "a"}).status_code == 200


def test_what_is_switched_off_is_not_there(tenant: Tenant, shim: Callable[..., str]) -> None:
    """Metrics are served where the setting says so, and are no path elsewhere."""
    assert "foreword_requests_total" in httpx.get(f"{tenant.url}/metrics").text
    assert_error(httpx.get(f"{shim()}/metrics"), 404, "not_found")


def test_metrics_name_nobody(tenant: Tenant, door: httpx.Client) -> None:
    """No metric holds a ref, an id or text of a tenant, not even of a path that does not exist."""
    written = filed(door, "ref-canary", "text-canary")
    door.get(f"{ENTRIES}/{written['id']}", params={"memoryRef": "ref-canary"})
    door.get("/path-canary", params={"query-canary": "1"})
    page = httpx.get(f"{tenant.url}/metrics").text
    assert not [word for word in ("canary", written["id"], tenant.name) if word in page]
