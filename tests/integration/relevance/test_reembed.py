"""Another model: the old vectors serve until the new ones are complete, however often it is interrupted."""

from collections.abc import Iterator, Sequence
from dataclasses import replace

import psycopg
import pytest

from foreword.draft import Draft
from foreword.embedders.hashing import Hashing
from foreword.embedding import EmbeddingSpec, Vector
from foreword.errors import EmbedderUnavailable
from foreword.ledger.migrate import migrate
from tests.integration.relevance.library import Library
from tests.integration.rig import Rig
from tests.services import Services
from worker import embed as embedding
from worker.upkeep.reembed import reembed


class Newer:
    """Another model of another size; it stops working after some calls."""

    spec = EmbeddingSpec(model="newer", dimension=65)

    def __init__(self) -> None:
        self.calls_left = 1_000

    def embed(self, texts: Sequence[str]) -> list[Vector]:
        """The hashing model's, with a coordinate more."""
        if self.calls_left == 0:
            raise EmbedderUnavailable
        self.calls_left -= 1
        return [[*vector, 0.0] for vector in Hashing().embed(texts)]

    def is_cut(self, text: str) -> bool:
        """Never."""
        return False


@pytest.fixture
def apart(services: Services) -> Iterator[Rig]:
    """A rig on a ledger of its own, since a model serves a whole ledger."""
    with psycopg.connect(services.owner_url, autocommit=True) as conn:
        conn.execute("CREATE DATABASE reembed")

    def moved(url: str) -> str:
        return url.replace("/foreword?", "/reembed?") if "?" in url else url.rpartition("/")[0] + "/reembed"

    other = replace(
        services,
        owner_url=moved(services.owner_url),
        shim_url=moved(services.shim_url),
        worker_url=moved(services.worker_url),
    )
    kept = services.credentials
    migrate(other.owner_url, shim_password=kept.shim_password, worker_password=kept.worker_password)
    rig = Rig(other)
    yield rig
    rig.close()
    with psycopg.connect(services.owner_url, autocommit=True) as conn:
        conn.execute("DROP DATABASE reembed WITH (FORCE)")


def test_old_vectors_serve_until_the_new_are_complete(apart: Rig, monkeypatch: pytest.MonkeyPatch) -> None:
    """An interrupted run goes on; what is filed meanwhile gets both; complete, the new one serves."""
    monkeypatch.setattr(embedding, "_BATCH", 4)
    old, scope = Library(apart), apart.scope(apart.tenant())
    old.write(scope, *(f"zebra {n}" for n in range(10)))
    before = old.ids(scope, "semantic", "zebra 3")
    newer = Newer()
    new = Library(apart, newer)
    newer.calls_left = 1
    with pytest.raises(EmbedderUnavailable):
        list(reembed(new.embedding))
    assert old.ids(scope, "semantic", "zebra 3") == before
    assert new.search(scope, "hybrid", "zebra").legs == ("lexical",)
    counts = "SELECT model_id, count(*) FROM vectors GROUP BY 1 ORDER BY 1"
    assert old.rows(counts) == [(1, 10), (2, 4)]
    old.write(scope, Draft(memory_ref=scope.memory_ref, content="zebra later", id="later"))
    newer.calls_left = 1_000
    assert sum(reembed(new.embedding)) == 7
    assert old.rows(counts) == [(2, 11)]
    assert old.rows("SELECT count(*) FROM unembedded") == [(0,)]
    assert new.ids(scope, "semantic", "zebra 3")[:1] == before[:1]
    assert new.search(scope, "hybrid", "zebra").legs == ("semantic", "lexical")
    assert old.search(scope, "hybrid", "zebra").legs == ("lexical",)
    old.close()
    new.close()
