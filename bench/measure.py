"""Timing that survives a noisy machine: variants take turns, the quietest round counts, noise is shown.

Latencies are in seconds.
"""

import os
import time
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from statistics import median

Call = Callable[[], Awaitable[object]]


@dataclass(frozen=True, kw_only=True)
class Series:
    """The latencies of one variant in its quietest round, and the median of every round."""

    latencies: tuple[float, ...]
    medians: tuple[float, ...]

    @property
    def p50(self) -> float:
        """The median of the quietest round."""
        return percentile(self.latencies, 50)

    @property
    def p99(self) -> float:
        """The 99th percentile of the quietest round."""
        return percentile(self.latencies, 99)

    @property
    def spread(self) -> float:
        """The loudest round's median over the quietest one's: what the machine did to the measurement."""
        return max(self.medians) / min(self.medians)

    def to_json(self) -> dict[str, object]:
        """Milliseconds, for a results file."""
        return {
            "p50Ms": round(self.p50 * 1e3, 4),
            "p99Ms": round(self.p99 * 1e3, 4),
            "roundMediansMs": [round(value * 1e3, 4) for value in self.medians],
        }


def percentile(values: tuple[float, ...], percent: float) -> float:
    """The value below which ``percent`` of the values lie."""
    ordered = sorted(values)
    return ordered[min(len(ordered) - 1, int(len(ordered) * percent / 100))]


def quietest(rounds: list[tuple[float, ...]]) -> Series:
    """The series of a variant from its rounds."""
    medians = tuple(median(taken) for taken in rounds)
    return Series(latencies=rounds[medians.index(min(medians))], medians=medians)


async def in_turns(variants: Mapping[str, Call], *, rounds: int, calls: int) -> dict[str, Series]:
    """Each variant ``calls`` times a round; one warming round first, which does not count."""
    taken: dict[str, list[tuple[float, ...]]] = {name: [] for name in variants}
    for number in range(rounds + 1):
        for name, call in variants.items():
            latencies = await _timed(call, calls)
            if number:
                taken[name].append(latencies)
    return {name: quietest(found) for name, found in taken.items()}


async def _timed(call: Call, calls: int) -> tuple[float, ...]:
    latencies = []
    for _ in range(calls):
        started = time.perf_counter()
        await call()
        latencies.append(time.perf_counter() - started)
    return tuple(latencies)


@dataclass(frozen=True, kw_only=True)
class Noise:
    """What else the machine was doing: a fixed loop's slowest run over its fastest, and the load average."""

    spin: float
    load: float

    def __str__(self) -> str:
        return f"spin x{self.spin:.2f}, load {self.load:.1f}"


def noise() -> Noise:
    """Takes about 0.2 s. A spin of 1.0 to 1.1 is a quiet machine."""
    taken = []
    for _ in range(20):
        started = time.perf_counter()
        sum(range(300_000))
        taken.append(time.perf_counter() - started)
    return Noise(spin=max(taken) / min(taken), load=os.getloadavg()[0])
