"""What the shim measures, in Prometheus' terms. No label holds a tenant, a ref or text."""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache

from prometheus_client import CollectorRegistry, Counter, Histogram, generate_latest
from prometheus_client.core import GaugeMetricFamily
from prometheus_client.registry import Collector

_BUCKETS = (0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 1.0, 5.0)


@dataclass(frozen=True, kw_only=True, slots=True)
class Waiting:
    """A queue's length, of all tenants together; ``oldest_seconds`` is 0 when nothing waits."""

    waiting: int
    failed: int
    oldest_seconds: float


class _QueueGauges(Collector):
    """Gauges of one queue that are there only while their numbers are known."""

    def __init__(self, queue: str, of: str, told: str, oldest: str) -> None:
        self._length, self._told = f"foreword_{queue}_{of}", told
        self._age, self._oldest = f"foreword_{queue}_oldest_seconds", oldest
        self.known: Waiting | None = None

    def collect(self) -> Iterator[GaugeMetricFamily]:
        if self.known is None:
            return
        length = GaugeMetricFamily(self._length, self._told, labels=["state"])
        length.add_metric(["waiting"], self.known.waiting)
        length.add_metric(["failed"], self.known.failed)
        yield length
        yield GaugeMetricFamily(self._age, self._oldest, value=self.known.oldest_seconds)


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
        self._inbox = _QueueGauges(
            "inbox", "drafts", "Drafts not filed, by why", "Age of the oldest waiting Draft"
        )
        self._unembedded = _QueueGauges(
            "unembedded",
            "entries",
            "Entries without a vector, by why",
            "Age of the oldest that waits for one",
        )
        self._registry.register(self._inbox)
        self._registry.register(self._unembedded)

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

    def inbox(self, found: Waiting | None) -> None:
        """What the inbox holds; None when the ledger does not say."""
        self._inbox.known = found

    def unembedded(self, found: Waiting | None) -> None:
        """Entries without a vector of the model that serves; None when nobody says, or none is wanted."""
        self._unembedded.known = found

    def page(self) -> bytes:
        """The text exposition."""
        return generate_latest(self._registry)
