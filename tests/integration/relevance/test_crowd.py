"""Under-return: many rows of one tenant never hide the few of another, nor the few that a filter keeps."""

import time
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from api_shim.search import Searcher
from tests.integration.relevance.crowd import Crowded, Planted, Source, Spy
from tests.integration.relevance.library import Library
from tests.integration.rig import Rig
from worker.embed import embed_all

LARGE, MIDDLE, SMALL = 20_000, 8_000, 300
NOTES = {"kind": "note"}
CORES = {"kind": "core"}


class Stage:
    """The crowd: a large scope, a middle one that is in the graph too, and twenty small tenants."""

    def __init__(self, rig: Rig) -> None:
        self.planted, self.source = Planted(), Source()
        self.library = Library(rig, self.planted, exact_rows=1000)
        self.spy = Spy(rig.database)
        self.library.searcher = Searcher(self.spy, self.library.questions)  # type: ignore[arg-type]
        model, owner = self.library.embedding.model, self.library.owner
        load = self.source.load
        index = self.library.rows("SELECT pg_get_indexdef(%s::regclass)", f"vectors_graph_{model}")[0][0]
        owner.execute(f"DROP INDEX vectors_graph_{model}".encode())
        self.large = load(owner, rig.scope(rig.tenant()), model, LARGE, in_graph=True)
        self.middle = load(owner, rig.scope(rig.tenant()), model, MIDDLE, in_graph=True)
        self.small = [load(owner, rig.scope(rig.tenant()), model, SMALL, in_graph=False) for _ in range(20)]
        owner.execute(index)
        owner.execute("ANALYZE vectors, entries, postings, scopes")

    def recall(self, crowd: Crowded, k: int, chosen: object = None, *, mode: Any = "semantic") -> float:
        """Recall@k over some questions, against a scan of all points."""
        among = kept_by(crowd, chosen)
        found = wanted = 0
        for _ in range(12):
            question = self.ask()
            best = crowd.nearest(self.planted.points[question], k, among)
            rows = self.library.search(crowd.scope, mode, question, chosen, limit=k).rows
            assert len(rows) == len({row["id"] for row in rows}) == min(k, len(best))
            found += sum(row["similarity"] >= best[-1] - 1e-3 for row in rows)
            wanted += len(best)
        return found / wanted if wanted else 1.0

    def ask(self) -> str:
        """A question at a new point."""
        name = f"question {len(self.planted.points)} {time.monotonic_ns()}"
        self.planted.points[name] = self.source.query()
        return name

    def plan(self, crowd: Crowded, mode: Any = "semantic", chosen: object = None, limit: int = 10) -> str:
        """How the last statement about vectors of a search is carried out."""
        self.library.search(crowd.scope, mode, self.ask(), chosen, limit=limit)
        asked = [
            one
            for one in self.spy.asked
            if (b"<=>" in one[1] and b"AS looked_at" in one[1]) or b"found.*" in one[1]
        ][-1]
        return self.library.rig.run(self.spy.plan(asked))


def kept_by(crowd: Crowded, chosen: object) -> NDArray[np.bool_] | None:
    """Which points a filter keeps."""
    if chosen is None:
        return None
    place = np.arange(1, len(crowd.points) + 1)
    note = place % 100 == 7
    return note if chosen == NOTES else (crowd.clusters == 1) & ~note


@pytest.fixture(scope="module")
def stage(rig: Rig) -> Iterator[Stage]:
    """The crowd, loaded once."""
    made = Stage(rig)
    yield made
    made.library.close()


def test_each_size_has_its_plan(stage: Stage) -> None:
    """The graph serves a large scope, the scope's own index a small one, for search and for recall alike."""
    for mode in ("semantic", "hybrid"):
        assert "vectors_graph_" in stage.plan(stage.large, mode)
        assert "vectors_graph_" in stage.plan(stage.middle, mode)
        small = stage.plan(stage.small[0], mode)
        assert "vectors_graph_" not in small
        assert "vectors_pkey" in small or "vectors_entry" in small
        assert "Seq Scan on vectors" not in small


@pytest.mark.parametrize("k", [1, 10, 100])
def test_recall_of_a_large_scope(stage: Stage, k: int) -> None:
    """What the graph finds among many is at least .99 of what a scan of all finds."""
    assert stage.recall(stage.large, k) >= 0.99


@pytest.mark.parametrize("k", [10, 100])
def test_recall_of_a_scope_in_the_graph_beside_a_larger_one(stage: Stage, k: int) -> None:
    """Two and a half times as many rows of another tenant in the same graph take nothing away."""
    assert stage.recall(stage.middle, k) >= 0.99


def test_recall_of_small_tenants_beside_a_large_one(stage: Stage) -> None:
    """Each of twenty small tenants finds all of its nearest, whatever lies around it."""
    for crowd in stage.small:
        assert stage.recall(crowd, 10) == 1.0
    assert stage.recall(stage.small[0], SMALL) == 1.0


@pytest.mark.parametrize("chosen", [NOTES, CORES], ids=["scattered", "far away"])
@pytest.mark.parametrize("size", ["large", "middle", "small"])
def test_recall_under_a_filter_that_keeps_one_in_a_hundred(stage: Stage, size: str, chosen: Any) -> None:
    """A narrow filter returns its own nearest, scattered over all clusters or gathered in one far away."""
    crowd = stage.small[3] if size == "small" else getattr(stage, size)
    assert stage.recall(crowd, 10, chosen) >= 0.99
    assert stage.recall(crowd, 100, chosen) >= 0.99


def test_hybrid_loses_nothing_to_the_crowd(stage: Stage) -> None:
    """The nearest entry is in hybrid's answer too, with and without a filter, in every size."""
    for crowd in (stage.large, stage.middle, stage.small[5]):
        for chosen in (None, NOTES, CORES):
            among = kept_by(crowd, chosen)
            for _ in range(4):
                question = stage.ask()
                best = crowd.nearest(stage.planted.points[question], 1, among)
                rows = stage.library.search(crowd.scope, "hybrid", question, chosen, limit=50).rows
                assert not best or max(row["similarity"] for row in rows) >= best[0] - 1e-3


def test_words_are_filtered_before_they_are_counted_out(stage: Stage) -> None:
    """A word that every entry holds still brings up the few that the filter keeps."""
    rows = stage.library.search(stage.large.scope, "hybrid", "item", CORES, floor=1.0, limit=1000).rows
    kept = kept_by(stage.large, CORES)
    assert kept is not None
    assert len(rows) == int(kept.sum())


def test_a_read_of_many_rows_goes_on_where_the_first_look_ended(stage: Stage) -> None:
    """Five hundred rows are read though the graph is asked for two hundred at first."""
    assert stage.recall(stage.large, 500) >= 0.99


def test_a_graph_that_does_not_pay_is_left_alone(stage: Stage, rig: Rig) -> None:
    """A scope among whose rows lie ten times as many of others is looked at row by row, and stays outside."""
    crowd = stage.source.load(
        stage.library.owner, rig.scope(rig.tenant()), stage.library.embedding.model, 2200, in_graph=False
    )
    in_graph = "SELECT in_graph FROM scopes WHERE tenant_id = %s"
    stage.library.embed(crowd.scope.tenant)
    assert stage.library.rows(in_graph, crowd.scope.tenant) == [(False,)]
    stage.library.owner.execute(
        "UPDATE scopes SET in_graph = true WHERE tenant_id = %s", [crowd.scope.tenant]
    )
    assert "vectors_graph_" not in stage.plan(crowd)
    assert stage.recall(crowd, 50) == 1.0


def test_what_a_dead_process_left_outside_goes_in(stage: Stage, rig: Rig) -> None:
    """A large scope whose way into the graph was cut short goes in though nothing waits for a vector."""
    model = stage.library.embedding.model
    crowd = stage.source.load(stage.library.owner, rig.scope(rig.tenant()), model, 1001, in_graph=False)
    half = "UPDATE vectors SET in_graph = seq %% 2 = 0 WHERE tenant_id = %s"
    stage.library.owner.execute(half, [crowd.scope.tenant])
    stage.library.forget_graph()
    while embed_all(stage.library.embedding):
        pass
    embed_all(stage.library.embedding)
    inside = (
        "SELECT s.in_graph, v.in_graph, count(*) FROM scopes s JOIN vectors v USING (tenant_id, scope_id)"
    )
    found = stage.library.rows(f"{inside} WHERE s.tenant_id = %s GROUP BY 1, 2", crowd.scope.tenant)
    assert found == [(True, True, 1001)]


def test_scopes_grow_into_the_graph(stage: Stage, rig: Rig) -> None:
    """A scope that outgrows exact scans is moved into the graph and finds what it found before."""
    crowd = stage.source.load(
        stage.library.owner, rig.scope(rig.tenant()), stage.library.embedding.model, 2200, in_graph=False
    )
    question = stage.ask()
    before = stage.library.ids(crowd.scope, "semantic", question, limit=20)
    stage.library.forget_graph()
    stage.library.embed(crowd.scope.tenant)
    moved = stage.library.rows("SELECT in_graph FROM scopes WHERE tenant_id = %s", crowd.scope.tenant)
    assert moved == [(True,)]
    assert "vectors_graph_" in stage.plan(crowd)
    assert stage.library.ids(crowd.scope, "semantic", question, limit=20) == before
    stage.library.write(crowd.scope, question)
    assert stage.library.ids(crowd.scope, "semantic", question, limit=1) == ["e0"]
    assert stage.library.traces(crowd.scope)["vectors"] == 2201
