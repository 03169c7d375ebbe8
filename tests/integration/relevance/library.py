"""A worker that files and embeds, and a shim that searches, on the rig's servers."""

from collections.abc import Sequence
from typing import Any

import psycopg

from api_shim.filters import compile_filter
from api_shim.question import Questions
from api_shim.recall import RecallAsk, Recalled, Recaller
from api_shim.search import Mode, Outcome, SearchAsk, Searcher
from api_shim.sources.ranked import Cut
from foreword.counters import COUNTERS
from foreword.draft import Draft
from foreword.embedders.hashing import Hashing
from foreword.embedding import Embedder
from foreword.scope import Scope
from tests.integration.rig import Rig
from worker.embed import EmbedParts, embed, register
from worker.write import drain

MODES: tuple[Mode, ...] = ("semantic", "lexical", "hybrid", "filter")


def cut(
    budget: int | None = None, limit: int = 1000, fit: str = "prefix", counter: str = "o200k_base"
) -> Cut:
    """A cut; everything by default."""
    return Cut(
        counter=counter,
        ordinal=COUNTERS[counter].ordinal,
        budget=budget,
        limit=limit,
        fit=fit,  # type: ignore[arg-type]
    )


class Library:
    """Both sides of relevance over one embedder."""

    def __init__(self, rig: Rig, embedder: Embedder | None = None, *, exact_rows: int = 20_000) -> None:
        self.rig = rig
        self.embedder = embedder or Hashing()
        self.parts = rig.parts()
        self.embedding: EmbedParts = register(rig.ledger, self.embedder, exact_rows)
        self.questions = Questions(self.embedder)
        self.searcher = Searcher(rig.database, self.questions)
        self.recaller = Recaller(self.searcher)
        self.owner = psycopg.connect(rig.services.owner_url, autocommit=True)

    def close(self) -> None:
        """Closes its own connection."""
        self.owner.close()

    def write(self, scope: Scope, *contents: str | Draft, embedded: bool = True, **given: Any) -> list[str]:
        """Files and embeds; the ids."""
        drafts = [
            one
            if isinstance(one, Draft)
            else Draft(memory_ref=scope.memory_ref, content=one, id=f"e{n}", **given)
            for n, one in enumerate(contents)
        ]
        receipts = self.rig.accept(scope.tenant, drafts)
        drain(scope.tenant, self.parts)
        if embedded:
            self.embed(scope.tenant)
        return [receipt.id for receipt in receipts]

    def forget_graph(self) -> None:
        """Lets the graph look empty, as it does before the first ANALYZE."""
        graph = f"vectors_graph_{self.embedding.model}"
        self.owner.execute("UPDATE pg_class SET reltuples = 0 WHERE relname = %s", [graph])

    def embed(self, tenant: int) -> int:
        """Embeds what waits."""
        return embed(tenant, self.embedding)

    def search(
        self, scope: Scope, mode: Mode, text: str = "", chosen: object = None, **given: Any
    ) -> Outcome:
        """One search."""
        cuts = {name: given.pop(name) for name in ("budget", "limit", "fit", "counter") if name in given}
        ask = SearchAsk(mode=mode, cut=cut(**cuts), text=text, chosen=compile_filter(chosen), **given)
        return self.rig.run(self.searcher.search(scope, ask))

    def ids(self, scope: Scope, mode: Mode, text: str = "", chosen: object = None, **given: Any) -> list[str]:
        """Ids of a search, best first."""
        return [row["id"] for row in self.search(scope, mode, text, chosen, **given).rows]

    def recall(
        self,
        scopes: Scope | Sequence[Scope],
        text: str,
        *,
        budget: int = 1024,
        limit: int = 10,
        floor: float = -1.0,
        counter: str = "o200k_base",
        form: str = "markdown-prompt",
        sent: tuple[str, ...] = (),
        exclude: Sequence[str] = (),
        shares: tuple[float, ...] | None = None,
    ) -> Recalled:
        """One recall."""
        given = [scopes] if isinstance(scopes, Scope) else list(scopes)
        ask = RecallAsk(
            search=SearchAsk(
                mode="hybrid",
                cut=cut(budget, limit, counter=counter),
                text=text,
                floor=floor,
                exclude=frozenset(exclude),
            ),
            format=form,  # type: ignore[arg-type]
            shares=shares or (1 / len(given),) * len(given),
        )
        return self.rig.run(self.recaller.recall(given, ask, sent))

    def rows(self, query: str, *params: object) -> list[Any]:
        """What the owner sees."""
        return self.owner.execute(query.encode(), params).fetchall()

    def traces(self, scope: Scope) -> dict[str, int]:
        """How many rows of a scope each table of relevance holds."""
        found = {}
        for table in ("vectors", "postings", "unembedded"):
            query = (
                f"SELECT count(*) FROM {table} t JOIN scopes s USING (tenant_id, scope_id) "
                "WHERE s.tenant_id = %s AND s.memory_ref = %s"
            )
            found[table] = self.rows(query, scope.tenant, scope.memory_ref)[0][0]
        return found


def total(outcome: Outcome) -> int:
    """Rows that a report accounts for."""
    return outcome.report.returned + outcome.report.omitted.total
