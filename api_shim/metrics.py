"""What the shim measures, in Prometheus' terms. No label holds a tenant, a ref or text."""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache

from prometheus_client import CollectorRegistry, Counter, Histogram, generate_latest
from prometheus_client.core import GaugeMetricFamily
from prometheus_client.registry import Collector

_BUCKETS = (0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 1.0, 5.0)


@dataclass(frozen=True, kw_only=True, slots=True)
class Inbox:
    """Drafts in the inbox, of all tenants together; ``oldest_seconds`` is 0 when none waits."""

    waiting: int
    failed: int
    oldest_seconds: float


class _InboxGauges(Collector):
    """Gauges that are there only while their numbers are known."""

    known: Inbox | None = None

    def collect(self) -> Iterator[GaugeMetricFamily]:
        if self.known is None:
            return
        drafts = GaugeMetricFamily("foreword_inbox_drafts", "Drafts not filed, by why", labels=["state"])
        drafts.add_metric(["waiting"], self.known.waiting)
        drafts.add_metric(["failed"], self.known.failed)
        yield drafts
        age = self.known.oldest_seconds
        yield GaugeMetricFamily("foreword_inbox_oldest_seconds", "Age of the oldest waiting Draft", value=age)


class Metrics:
    """One registry per process."""

    def __init__(self) -> None:
        self._registry = CollectorRegistry()
        self._requests = Counter(
            "foreword_requests", "Requests answered", ["route", "status"], registry=self._registry
        )
        self._seconds = Histogram(
            "foreword_request_seconds",
            "Time to answer",
            ["route"],
            buckets=_BUCKETS,
            registry=self._registry,
        )
        self._reads = Counter(
            "foreword_reads", "Recency reads by what answered them", ["source"], registry=self._registry
        )
        self._accepted = Counter("foreword_accepted", "Drafts accepted", registry=self._registry)
        self._answered = cache(self._requests.labels)  # a label's child is looked up once
        self._took = cache(self._seconds.labels)
        self._read_from = cache(self._reads.labels)
        self._inbox = _InboxGauges()
        self._registry.register(self._inbox)

    def request(self, route: str, status: int, seconds: float) -> None:
        """One answered request."""
        self._answered(route, status).inc()
        self._took(route).observe(seconds)

    def read(self, source: str) -> None:
        """One recency read, by ``memo``, ``head``, ``window`` or ``ledger``."""
        self._read_from(source).inc()

    def accepted(self, drafts: int) -> None:
        """Drafts committed to the inbox."""
        self._accepted.inc(drafts)

    def inbox(self, found: Inbox | None) -> None:
        """What the inbox holds; None when the ledger does not say."""
        self._inbox.known = found

    def page(self) -> bytes:
        """The text exposition."""
        return generate_latest(self._registry)
