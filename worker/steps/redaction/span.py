"""Where something was found, and what replaces it."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Hit:
    """One hidden stretch: what it was, and where (code points, end exclusive). Never the value."""

    kind: str
    start: int
    end: int


def merged(hits: Iterable[Hit]) -> list[Hit]:
    """Hits in order with overlaps joined; the longest of each group names it, the first on a tie."""
    groups: list[list[Hit]] = []
    reach = -1
    for hit in sorted(hits, key=lambda h: (h.start, -h.end)):
        if hit.start < reach:
            groups[-1].append(hit)
            reach = max(reach, hit.end)
        else:
            groups.append([hit])
            reach = hit.end
    return [_joined(group) for group in groups]


def _joined(group: list[Hit]) -> Hit:
    if len(group) == 1:
        return group[0]
    longest = max(group, key=lambda h: h.end - h.start)
    return Hit(longest.kind, group[0].start, max(h.end for h in group))


def outside(hits: Iterable[Hit], guarded: Sequence[tuple[int, int]]) -> list[Hit]:
    """Ordered, disjoint hits without the ordered, disjoint guarded stretches they run over."""
    kept: list[Hit] = []
    at = 0
    for hit in hits:
        start = hit.start
        while at < len(guarded) and guarded[at][1] <= start:
            at += 1
        look = at
        while look < len(guarded) and guarded[look][0] < hit.end:
            if guarded[look][0] > start:
                kept.append(Hit(hit.kind, start, guarded[look][0]))
            start = max(start, guarded[look][1])
            look += 1
        if start < hit.end:
            kept.append(Hit(hit.kind, start, hit.end))
    return kept
