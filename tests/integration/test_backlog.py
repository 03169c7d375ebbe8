"""The gauges of what waits: totals the ledger gives, not too often, and absent while it is away."""

import re

from api_shim.backlog import Backlog
from api_shim.database import Database
from api_shim.metrics import Metrics
from foreword.draft import DEFAULT_LIMITS, Draft, parse_draft
from foreword.embedded import ports
from tests.integration.rig import Rig
from worker.write import drain

SAMPLE = r'^foreword_{}_(?:\w+\{{state="(\w+)"\}}|(oldest_seconds)) ([\d.e+-]+)$'


def gauges(metrics: Metrics, queue: str = "inbox") -> dict[str, float]:
    """``waiting``, ``failed`` and ``oldest_seconds``, those that are there."""
    found = re.findall(SAMPLE.format(queue), metrics.page().decode(), re.MULTILINE)
    return {state or age: float(value) for state, age, value in found}


def asked(rig: Rig, queue: str = "inbox", *, embeds: bool = True) -> dict[str, float]:
    """The gauges of a shim that was scraped just now."""
    metrics = Metrics()
    rig.run(Backlog(rig.database, metrics, embeds=embeds).refresh())
    return gauges(metrics, queue)


def draft(rig: Rig, tenant: int, **fields: object) -> Draft:
    """A Draft for a memory of this tenant; an import when it tells its ``createdAt``."""
    body = {"memoryRef": rig.scope(tenant).memory_ref, "content": "one", **fields}
    return parse_draft(body, DEFAULT_LIMITS, imported="createdAt" in fields)


def test_totals_are_of_all_tenants(rig: Rig) -> None:
    """Drafts of two tenants that nobody files are counted together, and no more once they are filed."""
    before = asked(rig)
    tenants = [rig.tenant(), rig.tenant()]
    for tenant in tenants:
        rig.accept(tenant, [draft(rig, tenant), draft(rig, tenant)])
    during = asked(rig)
    assert during["waiting"] == before["waiting"] + 4
    assert during["failed"] == before["failed"]
    for tenant in tenants:
        drain(tenant, rig.parts())
    assert asked(rig)["waiting"] == before["waiting"]


def test_failed_drafts_are_told_apart(rig: Rig) -> None:
    """A Draft that cannot be opened is counted as failed and waits no more."""
    before, tenant = asked(rig), rig.tenant()
    rig.accept(tenant, [draft(rig, tenant)])
    drain(tenant, rig.parts(keys=["0badcafe:" + rig.seal_key.partition(":")[2]]))
    after = asked(rig)
    assert after["failed"] == before["failed"] + 1
    assert after["waiting"] == before["waiting"]


def test_an_import_is_as_old_as_its_arrival(rig: Rig) -> None:
    """What was created years ago and came in just now has waited no longer than the test runs."""
    tenant = rig.tenant()
    rig.accept(tenant, [draft(rig, tenant, createdAt="2020-01-01T00:00:00.000Z")])
    assert 0 < asked(rig)["oldest_seconds"] < 3600
    drain(tenant, rig.parts())


def test_scrapes_in_a_row_ask_once(rig: Rig) -> None:
    """A second scrape within the five seconds shows what the first one learned."""
    metrics, tenant = Metrics(), rig.tenant()
    backlog = Backlog(rig.database, metrics, embeds=True)
    rig.run(backlog.refresh())
    before = gauges(metrics)
    rig.accept(tenant, [draft(rig, tenant)])
    rig.run(backlog.refresh())
    assert gauges(metrics) == before
    assert backlog._asked is not None
    backlog._asked -= 5
    rig.run(backlog.refresh())
    assert gauges(metrics)["waiting"] == before["waiting"] + 1
    drain(tenant, rig.parts())


def test_a_ledger_that_is_away_takes_the_gauges_along(rig: Rig) -> None:
    """Without an answer the gauges are absent, never stale, and the rest of the page is there."""
    metrics = Metrics()
    metrics.accepted(3)
    rig.run(Backlog(rig.database, metrics, embeds=True).refresh())
    assert gauges(metrics).keys() == {"waiting", "failed", "oldest_seconds"}
    assert gauges(metrics, "unembedded").keys() == {"waiting", "failed", "oldest_seconds"}

    async def scrape() -> None:
        nowhere = Database(f"postgresql://x:y@127.0.0.1:{ports.free()}/z", size=1)
        await nowhere.open()
        await Backlog(nowhere, metrics, embeds=True).refresh()
        await nowhere.close()

    rig.run(scrape())
    assert gauges(metrics) == gauges(metrics, "unembedded") == {}
    assert "foreword_accepted_total 3.0" in metrics.page().decode()
