"""Memories written over HTTP, embedded by the product's own worker, and read in process in every way."""

import time
from dataclasses import dataclass, replace
from typing import Final

import psycopg

from api_shim.parts import Parts
from api_shim.question import Questions
from api_shim.ranking.fuse import WEIGHTS
from api_shim.ranking.rank import Recipe
from api_shim.recall import RecallAsk, Recaller
from api_shim.search import Mode, SearchAsk, Searcher
from api_shim.sources.ranked import Cut
from bench.product import Product
from bench.relevance_corpus import Memory
from bench.stage import tenant
from foreword.budget import HOST_CAP, select
from foreword.client import Client
from foreword.counters import COUNTERS
from foreword.scope import Scope

COUNTER: Final = "o200k_base"
ORDINAL: Final = COUNTERS[COUNTER].ordinal
MOST: Final = 2048
_EMBED_LIMIT_S: Final = 300.0


@dataclass(frozen=True, kw_only=True)
class Answer:
    """What one reading of one question gave: ids best first, and what each costs."""

    ids: tuple[str, ...]
    costs: tuple[int, ...]

    def within(self, budget: int) -> tuple[str, ...]:
        """The ids that the law keeps."""
        return tuple(self.ids[i] for i in select(self.costs, budget))


def write(product: Product, memory: Memory) -> Scope:
    """Writes a memory over HTTP and waits until every entry can be read and has its vector."""
    memory_ref = f"bench:{memory.name}"
    with Client(product.url, product.api_key, timeout=60) as client:
        receipts = client.remember_many(memory_ref, memory.drafts)
        client.list(memory_ref, after=receipts[-1].position or "", limit=1)
        while client.stats(memory_ref).pending:
            time.sleep(0.05)
    scope = Scope(tenant(product), memory_ref)
    wait_for_vectors(product, scope)
    return scope


def wait_for_vectors(product: Product, scope: Scope) -> None:
    """Returns once a model serves and nothing of a scope waits for it; TimeoutError after five minutes."""
    deadline = time.monotonic() + _EMBED_LIMIT_S
    waiting = """
        SELECT NOT EXISTS (SELECT FROM embedding_models WHERE state = 'serving')
            OR EXISTS (SELECT FROM unembedded JOIN scopes USING (tenant_id, scope_id)
                       WHERE tenant_id = %s AND memory_ref = %s)
    """
    given = (scope.tenant, scope.memory_ref)
    with psycopg.connect(product.owner_url, autocommit=True) as conn:
        while conn.execute(waiting, given).fetchone() != (False,):
            if time.monotonic() > deadline:
                raise TimeoutError("entries still wait for their vectors")
            time.sleep(0.1)


@dataclass(frozen=True, kw_only=True)
class Reading:
    """One way to search: a mode, a floor, and the searcher that carries it out."""

    searcher: Searcher
    mode: Mode = "hybrid"
    floor: float = -1.0

    async def __call__(self, scope: Scope, question: str) -> Answer:
        outcome = await self.searcher.search(scope, self.ask(question))
        return Answer(
            ids=tuple(row["id"] for row in outcome.rows),
            costs=tuple(row["costs"][ORDINAL] for row in outcome.rows),
        )

    def ask(self, question: str) -> SearchAsk:
        """The best within the largest budget; smaller ones keep a beginning of it."""
        cut = Cut(counter=COUNTER, ordinal=ORDINAL, budget=MOST, limit=HOST_CAP)
        return SearchAsk(mode=self.mode, cut=cut, text=question, floor=self.floor)


def readings(parts: Parts) -> dict[str, Reading]:
    """The ways of the product to read, the newest first among them."""
    whole = parts.searcher
    return {
        "recency": Reading(searcher=whole, mode="filter"),
        "lexical": Reading(searcher=whole, mode="lexical"),
        "semantic": Reading(searcher=whole, mode="semantic"),
        "hybrid": Reading(searcher=whole),
        "hybrid, floor .3": Reading(searcher=whole, floor=0.3),
    }


def without_one(parts: Parts) -> dict[str, Reading]:
    """Hybrid with one ingredient left out. Without similarity is what an absent embedder leaves."""
    w = WEIGHTS
    recipes = {
        "words": Recipe(weights=replace(w, words=0, around_words=0)),
        "speaker": Recipe(weights=replace(w, speaker=0, around_speaker=0)),
        "date": Recipe(weights=replace(w, date=0, around_date=0)),
        "neighbourhood": Recipe(weights=replace(w, neighbourhood=0)),
        "succession": Recipe(prefers_successors=False),
        "repeats": Recipe(sets_repeats_aside=False),
    }
    blind = Searcher(parts.database, Questions(None))
    return {"similarity": Reading(searcher=blind)} | {
        name: Reading(searcher=Searcher(parts.database, parts.questions, recipe))
        for name, recipe in recipes.items()
    }


async def recalled(
    parts: Parts, scope: Scope, question: str, *, budget: int, top: int, floor: float = 0.3
) -> tuple[str, ...]:
    """The ids in a recalled block, frame and row decoration paid from the budget."""
    cut = Cut(counter=COUNTER, ordinal=ORDINAL, budget=budget, limit=top)
    ask = RecallAsk(
        search=SearchAsk(mode="hybrid", cut=cut, text=question, floor=floor), format="markdown-prompt"
    )
    return (await Recaller(parts.searcher).recall([scope], ask, ())).ids
