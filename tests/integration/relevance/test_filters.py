"""The filter language: what the ledger lets through is what a plain reading of the filter does."""

import random
import re
from collections.abc import Mapping
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from api_shim.filters import compile_filter
from foreword.errors import ValidationError
from tests.integration.relevance.library import Library
from tests.integration.relevance.shelf import FILTERS, NAMES, Shelf, entry, holds
from tests.integration.rig import EFFORT, Rig


@pytest.fixture(scope="module")
def shelf(library: Library, rig: Rig) -> Shelf:
    """A hundred and fifty entries."""
    scope, chance = rig.scope(rig.tenant()), random.Random(2026)
    library.write(scope, *(entry(chance, scope.memory_ref, n) for n in range(150)))
    rows = library.search(scope, "filter").rows
    assert len(rows) == 150, library.rows("SELECT reason, count(*) FROM inbox GROUP BY 1")
    return Shelf(scope, rows)


@given(chosen=FILTERS, mode=st.sampled_from(("semantic", "lexical", "hybrid")))
@settings(max_examples=100 * EFFORT, deadline=None)
def test_the_ledger_reads_a_filter_plainly(
    library: Library, shelf: Shelf, chosen: dict[str, Any], mode: Any
) -> None:
    """Every mode that finds all finds exactly the entries of which the filter, read plainly, holds."""
    expected = [row["id"] for row in shelf.rows if holds(row, chosen)]
    assert library.ids(shelf.scope, "filter", "", chosen) == expected
    assert set(library.ids(shelf.scope, mode, "common word", chosen)) == set(expected)


OTHERS = {name: f"other {n}" for n, name in enumerate(NAMES)}


def put(given: Any, texts: Mapping[str, str]) -> Any:
    """The filter with other texts for values, and its metadata by other paths."""
    if isinstance(given, dict):
        return {name.replace("metadata.a", "metadata.z"): put(one, texts) for name, one in given.items()}
    if isinstance(given, list):
        return [put(one, texts) for one in given]
    return texts.get(given, given) if isinstance(given, str) else given


@given(chosen=FILTERS)
@settings(max_examples=100 * EFFORT, deadline=None)
def test_no_text_of_a_filter_is_in_the_statement(chosen: dict[str, Any]) -> None:
    """The statement depends on a filter's shape alone: other values, texts and paths give the same."""
    compiled = compile_filter(chosen)
    assert compiled.sql == compile_filter(put(chosen, OTHERS)).sql
    assert set(re.findall(r"%\((\w+)\)s", compiled.sql)) == set(compiled.params)
    assert set(re.findall(r"'[^']*'", compiled.sql)) <= {"'number'", "'{}'"}


WORDS = set(
    re.findall(
        r"\w+",
        """AND OR NOT IS NULL ANY CASE WHEN THEN ELSE END false coalesce cardinality jsonb_typeof to_jsonb
        number text boolean numeric timestamptz e id kind source speaker conversation pinned confidence
        tags metadata created_at observed_at expires_at""",
    )
)
"""All that a compiled filter may be made of, parameters and marks aside."""
HOSTILE = (
    "tenant_id",
    "e.id",
    "id'",
    'id"',
    "metadata.a'",
    "metadata.a b",
    "metadata",
    "tags;",
    "NOT",
    "id\x00",
)
MEMBERS = ("and", "or", "not", "eq", "in", "exists", "gt", "kind", "tags", "metadata.a")
ANYTHING = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=40),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(st.text() | st.sampled_from((*HOSTILE, *MEMBERS)), inner, max_size=3)
    ),
    max_leaves=12,
)


def judged(chosen: Any) -> tuple[str, list[str]]:
    """The statement's part, and the fields that were refused."""
    try:
        return compile_filter(chosen).sql, []
    except ValidationError as error:
        return "", [one.field for one in error.fields]


@given(chosen=ANYTHING | FILTERS)
@settings(max_examples=100 * EFFORT, deadline=None)
def test_anything_else_is_refused_by_name(chosen: Any) -> None:
    """What is no filter is refused under the filter's name, and no word of a caller reaches a statement."""
    sql, bad = judged(chosen)
    assert bool(sql) != bool(bad)
    assert all(re.fullmatch(r"filter[\w.\[\]-]*", name) for name in bad)
    left = re.sub(r"%\(f\d+\)s", "", sql)
    assert set(re.findall(r"\w+", left)) - {"0", "true"} <= WORDS
    assert re.sub(r"\w", "", left).strip(" ().:=<>&#[]{}',") == ""
