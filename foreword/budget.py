"""The Budget law: which whole entries of a ranked list fit, and the report of what was left out.

Nothing here cuts an entry or changes the order, and nothing here does I/O. Whatever walks costs elsewhere
(Lua, SQL) is tested equal to :func:`walk`.

- ``prefix``: an entry that alone exceeds the budget is passed over; the first that would fit alone but not
  in what is left ends the read.
- ``strict``: the first entry that does not fit ends the read, whatever its size.
- ``pack``: what does not fit is passed over, in order, for a bounded number of rows.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Final, Literal, NamedTuple, get_args

from foreword.errors import Field, ValidationError

Fit = Literal["prefix", "strict", "pack"]
Ended = Literal["end", "budget", "limit", "walk"]

FITS: Final[tuple[Fit, ...]] = get_args(Fit)
MAX_BUDGET: Final = 2**53 - 1
"""The largest budget accepted: the largest integer that every JSON reader keeps exact."""
HOST_CAP: Final = 1000
"""Entries a page at most, budget or not."""
DEFAULT_LIMIT: Final = 100
"""Entries of a list that names neither a budget nor a limit."""
WALK_LIMIT: Final = 1000
"""Rows a ``pack`` read visits at most in one page."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Selection:
    """What one walk kept and saw.

    ``kept`` are indices into the costs, in order; ``used`` is what they cost together; ``visited`` rows lie
    behind the cursor, so that the next page starts at that index; ``oversize`` of these alone exceed the
    budget; ``smallest_omitted`` is the least cost among the rows looked at and not kept, the one that ended
    the read by budget included.
    """

    kept: tuple[int, ...]
    used: int
    visited: int
    oversize: int
    ended: Ended
    smallest_omitted: int | None


class Walk:
    """A walk that can be fed piece by piece, for costs that arrive from more than one place.

    The pieces fed are one list: indices go on counting. Arguments are those of :func:`walk`.
    """

    def __init__(
        self,
        *,
        budget: int | None,
        limit: int | None = None,
        fit: Fit = "prefix",
        walk_limit: int = WALK_LIMIT,
    ) -> None:
        self._budget = MAX_BUDGET if budget is None else budget
        self._limit = limit or MAX_BUDGET
        self._fit = fit
        self._walk_limit = walk_limit if fit == "pack" else MAX_BUDGET
        self._kept: list[int] = []
        self._used = self._visited = self._oversize = 0
        self._smallest: int | None = None
        self._ended: Ended | None = None

    @property
    def done(self) -> bool:
        """Whether no further row can be kept or passed over, so that nothing more need be fetched."""
        return self._ended is not None or self._full is not None

    def feed(self, costs: Iterable[int]) -> bool:
        """Walk on over ``costs``; ``True`` while further rows could still be kept or passed over."""
        for cost in costs:
            if self._ended is None:
                self._ended = self._full or self._meet(cost)
            if self._ended is not None:
                break
        return not self.done

    def finish(self, *, more: bool = False) -> Selection:
        """The selection; ``more`` says that rows are left behind the last one fed.

        It tells a read that was ended by its limit on the last row fed from one that reached the end.
        """
        return Selection(
            kept=tuple(self._kept),
            used=self._used,
            visited=self._visited,
            oversize=self._oversize,
            ended=self._ended or (more and self._full) or "end",
            smallest_omitted=self._smallest,
        )

    @property
    def _full(self) -> Ended | None:
        if len(self._kept) >= self._limit:
            return "limit"
        return "walk" if self._visited >= self._walk_limit else None

    def _meet(self, cost: int) -> Ended | None:
        if self._used + cost <= self._budget:
            self._kept.append(self._visited)
            self._used += cost
            self._visited += 1
            return None
        if self._smallest is None or cost < self._smallest:
            self._smallest = cost
        if cost > self._budget:
            # Visited even where it ends the read: a cursor in front of it would never get past.
            self._visited += 1
            self._oversize += 1
            return "budget" if self._fit == "strict" else None
        if self._fit == "pack":
            self._visited += 1
            return None
        return "budget"


def walk(
    costs: Iterable[int],
    *,
    budget: int | None,
    limit: int | None = None,
    fit: Fit = "prefix",
    walk_limit: int = WALK_LIMIT,
) -> Selection:
    """Apply the law to ranked ``costs``; the arguments are taken as already checked.

    ``budget`` is in the unit of the costs (``None``: only the limit counts), ``limit`` in entries (``None``
    or 0: none), ``walk_limit`` in rows visited (it binds ``pack`` alone). A read ends by ``limit`` or
    ``walk`` only when a further row exists, so an iterator is consumed one row past the last one visited; a
    read that meets its limit on the very last row ended at the ``end``.
    """
    moving = Walk(budget=budget, limit=limit, fit=fit, walk_limit=walk_limit)
    moving.feed(costs)
    return moving.finish()


def select(costs: Sequence[int], budget: int, limit: int | None = None, fit: Fit = "prefix") -> list[int]:
    """The law itself: indices of the ranked entries that fit, in order, for any number of entries.

    ``costs`` and ``budget`` are in the same counter; ``limit`` counts entries, 0 or ``None`` means none. A
    page's caps (``HOST_CAP``, ``WALK_LIMIT``) belong to the server's reads, where a cursor continues, and are
    not applied. Raises ValidationError naming every argument that is not what it should be.
    """
    bad = [Field("budget", _not_a_budget)] if not is_budget(budget) else []
    if limit is not None and not _is_count(limit):
        bad.append(Field("limit", "must be an integer from 0 to 2^53 - 1, or None"))
    if fit not in FITS:
        bad.append(Field("fit", f"must be one of {', '.join(FITS)}"))
    bad += [
        Field(f"costs[{i}]", "must be an integer of at least 0")
        for i, c in enumerate(costs)
        if not _is_count(c)
    ]
    if bad:
        raise ValidationError(bad)
    return list(walk(costs, budget=budget, limit=limit, fit=fit, walk_limit=MAX_BUDGET).kept)


def is_budget(value: object) -> bool:
    """Whether ``value`` is an integer from 1 to 2^53 - 1; ``True`` and 1.0 are not."""
    return _is_count(value) and value != 0


def page_limit(limit: int | None, *, budgeted: bool) -> int:
    """How many entries one page of a list may hold: the caller's limit, the default, and the host's cap."""
    return min(limit or (HOST_CAP if budgeted else DEFAULT_LIMIT), HOST_CAP)


class Omitted(NamedTuple):
    """Rows left out: alone larger than the budget, budget spent, limit reached, below the floor."""

    oversize: int = 0
    budget: int = 0
    limit: int = 0
    similarity: int = 0

    @property
    def total(self) -> int:
        """All rows left out."""
        return self.oversize + self.budget + self.limit + self.similarity


class Report(NamedTuple):
    """What a read says of its budget.

    ``next_remaining`` is the live count a cursor carries on: rows this page did not visit.
    """

    counter: str
    budget: int | None
    used: int
    returned: int
    omitted: Omitted
    smallest_omitted: int | None
    next_remaining: int

    def to_json(self) -> bytes:
        """The report on the wire; ``tokenBudget`` and ``smallestOmitted`` only where there is one.

        Written by hand because every read writes one: a third of a generic encoder's time.
        """
        omitted = self.omitted
        budget = "" if self.budget is None else f'"tokenBudget":{self.budget},'
        smallest = "" if self.smallest_omitted is None else f',"smallestOmitted":{self.smallest_omitted}'
        return (
            f'{{"counter":"{self.counter}",{budget}"used":{self.used},"returned":{self.returned},'
            f'"omitted":{{"oversize":{omitted.oversize},"budget":{omitted.budget},'
            f'"limit":{omitted.limit},"similarity":{omitted.similarity}}}{smallest}}}'
        ).encode()


def report(
    selection: Selection, *, counter: str, budget: int | None, remaining: int, similarity: int = 0
) -> Report:
    """Account for ``remaining`` live rows: those not visited before this page (the total, or a cursor's).

    ``similarity`` of them fell below a floor and were never offered to the walk. Rows not visited are left
    out by the limit when that ended the read, else by the budget, and so are rows that ``pack`` passed over
    though they would fit alone. Returned and omitted add up to ``remaining``, except that a walk which saw
    the end knows better than a count taken with the first page: nothing is left then.
    """
    returned = len(selection.kept)
    passed_over = selection.visited - returned - selection.oversize
    unvisited = 0 if selection.ended == "end" else max(remaining - selection.visited - similarity, 0)
    by_limit = unvisited if selection.ended == "limit" else 0
    by_budget = passed_over + unvisited - by_limit
    omitted = Omitted(oversize=selection.oversize, budget=by_budget, limit=by_limit, similarity=similarity)
    return Report(
        counter=counter,
        budget=budget,
        used=selection.used,
        returned=returned,
        omitted=omitted,
        smallest_omitted=selection.smallest_omitted,
        next_remaining=unvisited,
    )


_not_a_budget: Final = "must be an integer from 1 to 2^53 - 1"


def _is_count(value: object) -> bool:
    return type(value) is int and 0 <= value <= MAX_BUDGET
