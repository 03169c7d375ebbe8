"""The cut: a ranked read returns what the law selects from the exact ranking, and its report adds up."""

import random
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from foreword.budget import FITS, HOST_CAP, WALK_LIMIT, Selection, walk
from foreword.counters import COUNTERS
from foreword.embedding import Vector
from foreword.scope import Scope
from tests.integration.relevance.library import Library, total
from tests.integration.rig import EFFORT, Rig

WORDS = tuple(
    sorted(
        {"apple", "bread", "cloud", "delta", "eagle", "flame", "grape", "house", "ivory", "joker", "ocean"}
    )
)
COSTS = st.lists(st.integers(0, 30) | st.integers(1000, 2**31 - 1), max_size=40)


@pytest.fixture(scope="module")
def filled(library: Library, rig: Rig) -> Scope:
    """Sixty entries of one to ninety words, a third of them notes, one of them expired but not yet swept."""
    scope = rig.scope(rig.tenant())
    random.seed(5)
    texts = [" ".join(random.choices(WORDS, k=random.choice((1, 2, 5, 9, 30, 90)))) for _ in range(60)]
    library.write(scope, *(f"{text} {n}" for n, text in enumerate(texts)))
    library.owner.execute(
        "UPDATE entries SET kind = 'note' WHERE tenant_id = %s AND seq %% 3 = 0", [scope.tenant]
    )
    return scope


@given(
    costs=COSTS,
    budget=st.none() | st.integers(1, 60) | st.integers(1, 2**53 - 1),
    limit=st.none() | st.integers(1, 45),
    fit=st.sampled_from(FITS),
    most=st.integers(1, 45),
)
@settings(max_examples=150 * EFFORT, deadline=None)
def test_the_ledgers_law_is_the_law(
    library: Library, costs: list[int], budget: int | None, limit: int | None, fit: Any, most: int
) -> None:
    """cut_ranked keeps, counts and ends exactly as foreword.budget.walk does."""
    row = library.rows("SELECT * FROM cut_ranked(%s, %s, %s, %s, %s)", costs, budget, limit, fit, most)[0]
    kept, used, visited, oversize, ended, smallest = row
    found = Selection(
        kept=tuple(place - 1 for place in kept),
        used=used,
        visited=visited,
        oversize=oversize,
        ended=ended,
        smallest_omitted=smallest,
    )
    assert found == walk(costs, budget=budget, limit=limit, fit=fit, walk_limit=most)


def exact(library: Library, scope: Scope, mode: Any, chosen: object, question: str) -> list[dict[str, Any]]:
    """The whole ranking of a mode, in descending score, ties to the newer."""
    rows = list(library.search(scope, mode, question, chosen).rows)
    if mode == "semantic":
        vector: Vector = library.embedder.embed([question])[0]
        for row in rows:
            own = library.embedder.embed([row["content"]])[0]
            assert row["similarity"] == pytest.approx(
                sum(a * b for a, b in zip(vector, own, strict=True)), abs=2e-3
            )
    if mode != "hybrid":
        assert rows == sorted(rows, key=lambda row: (-row["score"], -row["seq"]))
    return rows


@pytest.mark.parametrize("chosen", [None, {"kind": "note"}], ids=["open", "filtered"])
@pytest.mark.parametrize("mode", ["semantic", "lexical", "hybrid", "filter"])
def test_every_mode_is_cut_by_the_law(library: Library, filled: Scope, mode: Any, chosen: object) -> None:
    """For any budget, limit and fit a mode returns what the law selects of its own whole ranking."""
    question = "apple ocean grape house"
    ranking = exact(library, filled, mode, chosen, question)
    live = 20 if chosen else 60
    assert ranking
    random.seed(7)
    for _ in range(25):
        counter = random.choice(list(COUNTERS))
        costs = [row["costs"][COUNTERS[counter].ordinal] for row in ranking]
        budget = random.choice((None, 1, costs[0], sum(costs[:5]), sum(costs[:9]) - 1, sum(costs), 2**53 - 1))
        limit, fit = random.choice((1, 3, 10, HOST_CAP)), random.choice(FITS)
        expected = walk(costs, budget=budget, limit=limit, fit=fit, walk_limit=WALK_LIMIT)
        found = library.search(
            filled, mode, question, chosen, budget=budget, limit=limit, fit=fit, counter=counter
        )
        assert [row["id"] for row in found.rows] == [ranking[i]["id"] for i in expected.kept]
        told = found.report
        assert (told.used, told.returned, told.smallest_omitted, told.omitted.oversize) == (
            expected.used,
            len(expected.kept),
            expected.smallest_omitted,
            expected.oversize,
        )
        assert total(found) == live
        assert told.used <= (budget or 2**53)


@pytest.mark.parametrize("floor", [-1.0, 0.0, 0.2, 0.5, 1.0])
def test_a_floor_offers_only_what_lies_above_it(library: Library, filled: Scope, floor: float) -> None:
    """A floor takes the tail of the semantic ranking away and says how many rows that were."""
    question = "apple ocean grape house"
    ranking = library.search(filled, "semantic", question).rows
    above = [row["id"] for row in ranking if row["similarity"] >= floor]
    found = library.search(filled, "semantic", question, floor=floor)
    assert [row["id"] for row in found.rows] == above
    assert found.report.omitted.similarity == 60 - len(above)
    few = library.search(filled, "semantic", question, floor=floor, limit=2)
    assert [row["id"] for row in few.rows] == above[:2]
    assert total(few) == 60


def test_candidates_beyond_what_is_read_are_counted(library: Library, rig: Rig) -> None:
    """Of 400 entries that all match, hybrid accounts for every one, repeats among them, whatever it reads."""
    scope = rig.scope(rig.tenant())
    library.write(scope, *(f"apple number {n % 390} of {n % 390}" for n in range(400)))
    for options in ({}, {"limit": 5}, {"budget": 40}, {"budget": 40, "fit": "pack"}):
        found = library.search(scope, "hybrid", "apple", **options)
        assert total(found) == 400
    assert library.search(scope, "hybrid", "apple").report.omitted.similarity == 10
