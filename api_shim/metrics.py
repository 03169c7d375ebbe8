"""What the shim measures, in Prometheus' terms. No label holds a tenant, a ref or text."""

from prometheus_client import CollectorRegistry, Counter, Histogram, generate_latest

_BUCKETS = (0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 1.0, 5.0)


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

    def request(self, route: str, status: int, seconds: float) -> None:
        """One answered request."""
        self._requests.labels(route, str(status)).inc()
        self._seconds.labels(route).observe(seconds)

    def read(self, source: str) -> None:
        """One recency read, by ``head``, ``window`` or ``ledger``."""
        self._reads.labels(source).inc()

    def accepted(self, drafts: int) -> None:
        """Drafts committed to the inbox."""
        self._accepted.inc(drafts)

    def page(self) -> bytes:
        """The text exposition."""
        return generate_latest(self._registry)
