"""The packed head: a scope's newest entries as one value that answers a read by itself.

Layout, little-endian: the fixed header; then ``upcoming`` expiry instants (u64), accept positions newest
first (u64), expiry instants (u64, 0 = never), for each counter the running costs (u32, one more than
entries) and the offsets of the fragments (u32, one more than entries); then the runs; then the fragments,
joined by commas.

A run stands for large rows between two rows that are held: how many of these are newer than it and how many
rows it stands for (u32), the oldest of their positions (u64), and for each counter the least of their costs
(u32). It answers a read that all of them exceed, and sends every other one on.

A head knows its whole scope: how many live entries it has and when the next of them expire, so that a read
can tell what it leaves out. It is valid only on the server run it was written to, and only until
``valid_until``.
"""

import struct
from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Final, NamedTuple

from foreword.budget import Omitted, Report, walk
from foreword.entry import Entry
from foreword.page import Ask, Page, join, page

MAX_BYTES: Final = 32 * 1024
MAX_ENTRIES: Final = 256
MAX_UPCOMING: Final = 64
"""Expiries a head knows of; the one after these ends its validity."""
FOREVER: Final = 2**63

_MAGIC: Final = b"FWH3"
_HEADER: Final = struct.Struct("<4s40sQQQQIHHH")
_RUN: Final = struct.Struct("<IIQ")
_U32: Final = struct.Struct("<I")
_U64: Final = struct.Struct("<Q")


@dataclass(frozen=True, kw_only=True, slots=True)
class Row:
    """An entry as the hot view keeps it. ``expires_at`` in milliseconds, 0 = never."""

    seq: int
    expires_at: int
    costs: tuple[int, ...]
    fragment: bytes

    @classmethod
    def of(cls, entry: Entry) -> "Row":
        """The row of an entry."""
        return cls(
            seq=entry.seq,
            expires_at=expiry(entry.expires_at),
            costs=entry.costs,
            fragment=entry.fragment(),
        )


def expiry(instant: int | None) -> int:
    """An expiry as rows keep it: 0 = never, and what expired before the epoch expired with it."""
    return 0 if instant is None else max(instant, 1)


class Run(NamedTuple):
    """``number`` large rows behind ``place`` rows that a head holds; ``least`` of their costs by counter."""

    place: int
    number: int
    oldest: int
    least: tuple[int, ...]


class Summary(NamedTuple):
    """What a view knows of its whole scope: entries live at ``made``, and when the next expire (ms)."""

    version: int
    total: int
    made: int = 0
    upcoming: tuple[int, ...] = ()
    valid_until: int = FOREVER

    @classmethod
    def of(cls, version: int, total: int, expiries: Sequence[int], *, made: int) -> "Summary":
        """From the next expiries after ``made`` in order, ``MAX_UPCOMING`` + 1 where there are so many."""
        beyond = expiries[MAX_UPCOMING] if len(expiries) > MAX_UPCOMING else FOREVER
        return cls(
            version=version,
            total=total,
            made=made,
            upcoming=tuple(expiries[:MAX_UPCOMING]),
            valid_until=beyond,
        )

    def live(self, now: int) -> int:
        """Live entries at ``now`` (ms)."""
        return self.total - bisect_right(self.upcoming, now)

    def steady(self, now: int) -> range:
        """The instants (ms) around ``now`` at which the same entries live; empty where it cannot tell."""
        if not self.made <= now < self.valid_until:
            return range(0)
        if not self.upcoming:
            return range(self.made, self.valid_until)
        bounds = (self.made, *self.upcoming, self.valid_until)
        after = bisect_right(bounds, now)
        return range(bounds[after - 1], bounds[after])


def encode(
    run_id: str,
    summary: Summary,
    rows: Sequence[Row],
    runs: Sequence[Run] = (),
    *,
    max_bytes: int = MAX_BYTES,
    max_entries: int = MAX_ENTRIES,
) -> bytes:
    """Packs the newest ``rows`` that fit, with the costs that all of them have, and the runs between them.

    While a counter is being added some rows have more costs than others; a read of a cost that is not in the
    head goes to the ledger.
    """
    newest = rows[:max_entries]
    counted = [*(row.costs for row in newest), *(run.least for run in runs)]
    counters = min(map(len, counted), default=0)
    extra = len(summary.upcoming) * 8 + len(runs) * (_RUN.size + 4 * counters)
    taken = _fitting(newest, counters, max_bytes - extra)
    n = len(taken)
    between = [run for run in runs if run.place <= n]
    running = [[0] * (n + 1) for _ in range(counters)]
    offsets = [0] * (n + 1)
    for i, row in enumerate(taken):
        offsets[i + 1] = offsets[i] + len(row.fragment) + 1
        for c in range(counters):
            running[c][i + 1] = running[c][i] + row.costs[c]
    return b"".join(
        (
            _HEADER.pack(
                _MAGIC,
                run_id.encode(),
                summary.version,
                summary.total,
                summary.made,
                summary.valid_until,
                n,
                counters,
                len(summary.upcoming),
                len(between),
            ),
            struct.pack(f"<{len(summary.upcoming)}Q", *summary.upcoming),
            struct.pack(f"<{n}Q", *(row.seq for row in taken)),
            struct.pack(f"<{n}Q", *(row.expires_at for row in taken)),
            *(struct.pack(f"<{n + 1}I", *costs) for costs in running),
            struct.pack(f"<{n + 1}I", *offsets),
            *(_RUN.pack(*run[:3]) + struct.pack(f"<{counters}I", *run.least[:counters]) for run in between),
            join([row.fragment for row in taken]),
        )
    )


def _fitting(rows: Sequence[Row], counters: int, room: int) -> Sequence[Row]:
    size = _HEADER.size + 4 * (counters + 1)
    for i, row in enumerate(rows):
        size += len(row.fragment) + 1 + 20 + 4 * counters
        if size > room:
            return rows[:i]
    return rows


class Head:
    """A decoded head. Arrays are views of the value itself; nothing is copied until a slice is taken."""

    __slots__ = ("_arrays", "_between", "_body", "_counters", "_n", "_raw", "_runs", "summary")

    def __init__(self, raw: bytes, n: int, counters: int, runs: int, summary: Summary) -> None:
        self._raw = raw
        self._n = n
        self._counters = counters
        self._arrays = _HEADER.size + 8 * len(summary.upcoming)
        self._runs = runs
        self._between = self._arrays + n * 16 + 4 * (n + 1) * (counters + 1)
        self._body = self._between + runs * (_RUN.size + 4 * counters)
        self.summary = summary

    @classmethod
    def decode(cls, raw: bytes, *, run_id: str, now: int) -> "Head | None":
        """The head, or None when it is not valid on this server run or any more (cold)."""
        if len(raw) < _HEADER.size:
            return None
        magic, writer, version, total, made, valid_until, *sizes = _HEADER.unpack_from(raw)
        n, counters, upcoming, runs = sizes
        if magic != _MAGIC or writer != run_id.encode() or valid_until <= now:
            return None
        expiries = struct.unpack_from(f"<{upcoming}Q", raw, _HEADER.size) if upcoming else ()
        return cls(raw, n, counters, runs, Summary(version, total, made, expiries, valid_until))

    @property
    def complete(self) -> bool:
        """Whether the head holds the whole scope."""
        return not self._runs and self._n == self.summary.total

    @property
    def sifted(self) -> bool:
        """Whether it passes over large rows."""
        return self._runs > 0

    def read(self, ask: Ask, now: int) -> Page | None:
        """The answer, or None when it needs rows that the head does not hold."""
        if ask.filtered or ((self._n or self._runs) and ask.ordinal >= self._counters):
            return None
        untouched = not self.summary.upcoming or self.summary.upcoming[0] > now
        if ask.before is None and untouched and ask.budget is not None and ask.fit != "pack":
            found = self._slice(ask, ask.budget)
            if found is not None:
                return found
        return self._walk(ask, now)

    def _slice(self, ask: Ask, budget: int) -> Page | None:
        """The common read: no oversize entry before the cut, so a binary search finds it."""
        running = self._running(ask.ordinal)
        fitting = bisect_right(running, budget) - 1
        kept = min(fitting, ask.limit)
        if self._runs:
            return self._sift(ask, budget, kept) if ask.fit == "prefix" else None
        left = self.summary.total - kept
        smallest = None
        if kept < ask.limit:
            if kept < self._n:
                smallest = running[kept + 1] - running[kept]
                if smallest > budget:
                    return None
            elif left:
                return None
        return Page(
            self._newest(kept),
            Report(
                ask.counter,
                budget,
                running[kept],
                kept,
                Omitted(budget=left) if kept < ask.limit else Omitted(limit=left),
                smallest,
                left,
            ),
            self._seq(kept - 1) if left else None,
        )

    def _sift(self, ask: Ask, budget: int, kept: int) -> Page | None:
        """The same past runs of rows that each exceed the budget; those behind the cut are not looked at."""
        unfilled = kept < ask.limit
        passed = [run for run in self._runs_of(ask.ordinal) if run.place < kept + unfilled]
        omitted = [run.least[0] for run in passed]
        if min(omitted, default=FOREVER) <= budget:
            return None
        misfit = None
        if unfilled and kept < self._n:
            misfit = self._running(ask.ordinal)[kept + 1] - self._running(ask.ordinal)[kept]
            if misfit > budget:
                return None
            omitted.append(misfit)
        oversize = sum(run.number for run in passed)
        left = self.summary.total - kept - oversize
        if left and unfilled and misfit is None:
            return None
        report = Report(
            ask.counter,
            budget,
            self._running(ask.ordinal)[kept],
            kept,
            Omitted(oversize, left if unfilled else 0, 0 if unfilled else left),
            min(omitted, default=None),
            left,
        )
        resume = None
        if left:
            resume = passed[-1].oldest if passed and passed[-1].place == kept else self._seq(kept - 1)
        return Page(self._newest(kept), report, resume)

    def _runs_of(self, counter: int) -> list[Run]:
        """The runs, with the least cost in this counter alone."""
        found = []
        for at in range(self._between, self._body, _RUN.size + 4 * self._counters):
            place, number, oldest = _RUN.unpack_from(self._raw, at)
            least = _U32.unpack_from(self._raw, at + _RUN.size + 4 * counter)
            found.append(Run(place, number, oldest, least))
        return found

    def _newest(self, kept: int) -> bytes:
        """The fragments of so many rows, joined."""
        (end,) = _U32.unpack_from(self._raw, self._between - 4 * (self._n + 1 - kept))
        return self._raw[self._body : self._body + max(end - 1, 0)]

    def _seq(self, index: int) -> int:
        (seq,) = _U64.unpack_from(self._raw, self._arrays + 8 * index)
        return int(seq)

    def _walk(self, ask: Ask, now: int) -> Page | None:
        """The general read over the rows that are live, behind the cursor and before any run."""
        seqs, expiries = self._seqs(), self._expiries()
        before = FOREVER if ask.before is None else ask.before
        front = self._runs_of(0)[0].place if self._runs else self._n
        live = [i for i in range(front) if seqs[i] < before and (expiries[i] == 0 or expiries[i] > now)]
        running = self._running(ask.ordinal)
        selection = walk(
            (running[i + 1] - running[i] for i in live), budget=ask.budget, limit=ask.limit, fit=ask.fit
        )
        if selection.ended == "end" and not self.complete and len(selection.kept) < ask.limit:
            return None
        offsets = self._u32(self._counters)
        fragments = [
            self._raw[self._body + offsets[i] : self._body + offsets[i + 1] - 1]
            for i in (live[k] for k in selection.kept)
        ]
        last = seqs[live[selection.visited - 1]] if selection.visited else None
        if selection.ended == "end" and not self.complete:
            selection = replace(selection, ended="limit")
        return page(
            ask,
            fragments=join(fragments),
            selection=selection,
            total=self.summary.live(now),
            last_visited=last,
        )

    def _seqs(self) -> memoryview:
        return self._view(self._arrays, 8 * self._n).cast("Q")

    def _expiries(self) -> memoryview:
        return self._view(self._arrays + 8 * self._n, 8 * self._n).cast("Q")

    def _running(self, counter: int) -> memoryview:
        if self._n == 0:
            return memoryview(bytes(4)).cast("I")
        return self._u32(counter)

    def _u32(self, index: int) -> memoryview:
        width = 4 * (self._n + 1)
        start = self._arrays + 16 * self._n + width * index
        return self._view(start, width).cast("I")

    def _view(self, start: int, width: int) -> memoryview:
        return memoryview(self._raw)[start : start + width]
