"""Builds the real parts from settings, opens them for the life of the app, and closes them."""

import logging
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from starlette.applications import Starlette

from api_shim.accept import Acceptor
from api_shim.backlog import Backlog
from api_shim.bell import Bell
from api_shim.capabilities import Capabilities
from api_shim.counting import Counting
from api_shim.database import Database
from api_shim.doors.http import make_app
from api_shim.keyring import Keyring
from api_shim.memo import Memo
from api_shim.metrics import Metrics
from api_shim.parts import Parts
from api_shim.question import Questions
from api_shim.read import Reader
from api_shim.recall import Recaller
from api_shim.remove import Remover
from api_shim.runs.engine import Engine
from api_shim.runs.live import MemoryDoors
from api_shim.runs.registry import Registry
from api_shim.runs.store import RunStore
from api_shim.runs.workflows import WORKFLOWS
from api_shim.search import Searcher
from api_shim.serving import Serving
from api_shim.settings import ShimSettings
from api_shim.sources.hot import HotView
from api_shim.throttle import Throttle
from foreword.embedding import Embedder
from foreword.errors import ConfigurationError, EmbedderUnavailable, Unavailable
from foreword.seal import Sealer

log = logging.getLogger(__name__)


def build(settings: ShimSettings) -> Parts:
    """The parts, not yet connected."""
    database = Database(settings.database_url.get_secret_value(), size=settings.pool_size)
    hot_view = HotView(settings.redis_url.get_secret_value(), connections=settings.hot_view_connections)
    bell = Bell(settings.broker_url.get_secret_value())
    metrics = Metrics()
    sealer = Sealer(settings.seal_public_key)
    reader = Reader(
        hot_view=hot_view,
        database=database,
        counting=Counting(database),
        memo=Memo(settings.memo_bytes),
        metrics=metrics,
        rebuild=bell.cold,
    )
    questions = Questions(_embedder(settings))
    searcher = Searcher(database, questions)
    capabilities = _capabilities(settings, questions)
    serving = Serving(database, capabilities)
    acceptor = Acceptor(
        database=database,
        reader=reader,
        sealer=sealer,
        digest_key=settings.digest_key.get_secret_value().encode(),
        metrics=metrics,
        announce=bell.drafts,
    )
    return Parts(
        settings=settings,
        capabilities=capabilities,
        serving=serving,
        database=database,
        hot_view=hot_view,
        keyring=Keyring(database),
        reader=reader,
        questions=questions,
        searcher=searcher,
        recaller=Recaller(searcher),
        acceptor=acceptor,
        engine=_engine(settings, serving, acceptor, searcher),
        remover=Remover(database=database, hot_view=hot_view, reader=reader, rebuild=bell.cold),
        sealer=sealer,
        bell=bell,
        metrics=metrics,
        backlog=Backlog(database, metrics, embeds=questions.model is not None),
        throttle=Throttle(settings.requests_per_minute),
    )


def _engine(settings: ShimSettings, serving: Serving, acceptor: Acceptor, searcher: Searcher) -> Engine:
    memory = MemoryDoors(
        acceptor=acceptor,
        reader=acceptor.reader,
        searcher=searcher,
        database=acceptor.database,
        counter=settings.token_counter,
        limits=settings.limits(),
    )
    store = RunStore(acceptor.database, settings.openwop_run_lease)
    registry = Registry(acceptor.database, acceptor.sealer)
    return Engine(store, registry, memory, serving.capabilities)


def _capabilities(settings: ShimSettings, questions: Questions) -> Capabilities:
    return Capabilities(
        counter=settings.token_counter,
        max_entry_bytes=settings.max_content_bytes,
        model=questions.model,
        runs=settings.openwop_runs,
        seams=settings.openwop_seams,
        fixtures=tuple(WORKFLOWS),
    )


def _embedder(settings: ShimSettings) -> Embedder | None:
    """The embedder, or None where its model is not installed: recency never waits for relevance."""
    try:
        return settings.make_embedder()
    except EmbedderUnavailable as error:
        log.warning("relevance is off: %s", error.message)
        return None


def serve(settings: ShimSettings) -> Starlette:
    """The app; its lifespan opens and closes the parts."""
    parts = build(settings)

    @asynccontextmanager
    async def lifespan(_: Starlette) -> AsyncIterator[None]:
        await parts.database.open()
        await _refuse_powerful_role(parts.database)
        yield
        await parts.engine.close()
        parts.bell.close()
        await parts.hot_view.close()
        await parts.database.close()

    return make_app(parts, lifespan)


async def _refuse_powerful_role(database: Database) -> None:
    """Row-level security is the second lock: a role that it does not bind may not serve."""
    try:
        rows = await database.ask("ping")
    except Unavailable:
        log.warning("the ledger is not available yet")
        return
    if rows[0]["unsafe"]:
        raise ConfigurationError(
            "FOREWORD_DATABASE_URL names a role that row-level security does not bind; use foreword_shim."
        )
