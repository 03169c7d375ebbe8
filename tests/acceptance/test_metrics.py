"""What the running product measures of itself."""

import re

import httpx

from tests.acceptance.tenants import Tenant
from tests.services import eventually


def inbox(url: str) -> dict[str, float]:
    """The gauges of the inbox, by what stands behind their common name."""
    page = httpx.get(f"{url}/metrics").text
    return {name: float(n) for name, n in re.findall(r"^foreword_inbox_(\S+) (\S+)$", page, re.MULTILINE)}


def test_a_draft_that_waits_is_measured(tenant: Tenant, door: httpx.Client) -> None:
    """While no worker files a Draft the gauges count it and its age grows; then it is gone from them."""
    waiting = 'drafts{state="waiting"}'
    with tenant.held():
        assert door.post("/v1/memory/entries", json={"memoryRef": "a", "content": "x"}).status_code == 202
        first = eventually(lambda: (got := inbox(tenant.url))[waiting] >= 1 and got, "it is counted")
        assert first['drafts{state="failed"}'] >= 0
        age = first["oldest_seconds"]
        assert 0 <= age < 60
        eventually(lambda: inbox(tenant.url)["oldest_seconds"] > age, "it grows older")
    eventually(lambda: inbox(tenant.url)[waiting] < first[waiting], "it is filed")
