"""Embedding when the embedder is down, slow, lying or picky: nothing waits for it and nothing is lost."""

import json
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import pytest

from api_shim.question import Questions
from api_shim.search import Searcher
from foreword import instant
from foreword.embedders.hashing import Hashing
from foreword.embedders.openai import OpenAICompatible
from foreword.embedding import Embedder, EmbeddingSpec, Vector
from foreword.errors import EmbedderUnavailable, Unavailable
from foreword.scope import Scope
from tests.integration.relevance.library import Library
from tests.integration.rig import Rig, everything, ids_of
from worker.embed import EmbedParts, embed
from worker.upkeep.reembed import embed_waiting, once_more, set_aside

Answering = Callable[[list[str]], tuple[int, bytes]]


def vectors(texts: Sequence[str]) -> list[Vector]:
    """What a healthy server answers."""
    return Hashing().embed(texts)


def told(rows: Sequence[Any]) -> tuple[int, bytes]:
    """An answer with these vectors."""
    return 200, json.dumps({"data": [{"index": i, "embedding": v} for i, v in enumerate(rows)]}).encode()


class Server:
    """A small ``/v1/embeddings``; ``answer`` decides what it says."""

    def __init__(self) -> None:
        self.answer: Answering = lambda texts: told(vectors(texts))
        outer = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
                status, answer = outer.answer(body["input"])
                with suppress(OSError):
                    self.send_response(status)
                    self.send_header("Content-Length", str(len(answer)))
                    self.end_headers()
                    self.wfile.write(answer)

            def log_message(self, *_: object) -> None:
                """Says nothing."""

        self.http = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.http.daemon_threads = True
        threading.Thread(target=self.http.serve_forever, daemon=True).start()
        url = f"http://127.0.0.1:{self.http.server_address[1]}/v1"
        self.embedder = OpenAICompatible(url=url, api_key="k", model="hashing-64", dimension=64, timeout=0.5)


@pytest.fixture
def server() -> Iterator[Server]:
    """A healthy one at first."""
    made = Server()
    yield made
    made.http.shutdown()
    made.http.server_close()


def over(library: Library, embedder: Embedder) -> tuple[EmbedParts, Searcher]:
    """The library's model by another embedder."""
    parts = EmbedParts(
        ledger=library.rig.ledger, embedder=embedder, model=library.embedding.model, exact_rows=20_000
    )
    return parts, Searcher(library.rig.database, Questions(embedder, patience=0.3))


def hang(_: list[str]) -> tuple[int, bytes]:
    """Answers much too late."""
    time.sleep(1.5)
    return told([])


BROKEN: dict[str, Answering] = {
    "down": lambda texts: (503, b"no"),
    "not json": lambda texts: (200, b"<html>"),
    "hung": hang,
    "wrong dimension": lambda texts: told([[1.0] * 63 for _ in texts]),
    "not a number": lambda texts: told([[float("nan")] * 64 for _ in texts]),
    "nowhere": lambda texts: told([[0.0] * 64 for _ in texts]),
    "beyond floats": lambda texts: told([[10**400] * 64 for _ in texts]),
    "one vector too many": lambda texts: told([*vectors(texts), [1.0] * 64]),
    "no vectors": lambda texts: told([]),
    "null": lambda texts: told([None for _ in texts]),
}


@pytest.mark.parametrize("answer", BROKEN.values(), ids=BROKEN.keys())
def test_a_broken_embedder_delays_and_loses_nothing(
    library: Library, rig: Rig, scope: Scope, server: Server, answer: Answering
) -> None:
    """Entries are read at once and found by words; semantic is refused; healed, every vector is made."""
    parts, searcher = over(library, server.embedder)
    library.searcher, kept = searcher, library.searcher
    try:
        server.answer = answer
        library.write(scope, "zebra crossing", "plain", embedded=False)
        assert ids_of(rig.from_ledger(scope, everything(), instant.now_ms())) == ["e1", "e0"]
        for _ in range(6):
            with pytest.raises(EmbedderUnavailable):
                embed(scope.tenant, parts)
            if answer is hang:
                break
        with pytest.raises(Unavailable):
            library.search(scope, "semantic", "zebra")
        found = library.search(scope, "hybrid", "zebra")
        assert ([row["id"] for row in found.rows], found.legs) == (["e0"], ("lexical",))
        server.answer = lambda texts: told(vectors(texts))
        assert embed(scope.tenant, parts) == 2
        assert library.ids(scope, "semantic", "zebra", limit=1) == ["e0"]
        assert library.search(scope, "hybrid", "zebra").legs == ("semantic", "lexical")
    finally:
        library.searcher = kept


def test_one_bad_text_is_set_aside_and_the_rest_go_on(library: Library, scope: Scope, server: Server) -> None:
    """A text that the model refuses goes to the back, after five times aside; all others get theirs."""
    parts, _ = over(library, server.embedder)
    server.answer = lambda texts: (
        (500, b"") if any("poison" in text for text in texts) else told(vectors(texts))
    )
    contents = [f"entry {n}" for n in range(70)]
    contents[66] = "poison"
    library.write(scope, *contents, embedded=False)
    assert embed(scope.tenant, parts) == 69
    for _ in range(8):
        embed(scope.tenant, parts)
    waiting = library.rows("SELECT id, failures FROM unembedded WHERE tenant_id = %s", scope.tenant)
    assert waiting == [("e66", 5)]
    assert library.ids(scope, "lexical", "poison") == ["e66"]


def test_what_was_set_aside_is_tried_once_more(library: Library, scope: Scope, server: Server) -> None:
    """One attempt each and only theirs: healed ones get their vectors, the others are set aside again."""
    parts, _ = over(library, server.embedder)
    refused = ["poison", "venom"]
    server.answer = lambda texts: (
        (500, b"") if any(text in refused for text in texts) else told(vectors(texts))
    )
    library.write(scope, "poison", "venom", "plain", embedded=False)
    for _ in range(8):
        embed(scope.tenant, parts)
    before = set_aside(parts)
    refused.remove("poison")
    assert once_more(parts) == before >= 2
    made = sum(embed_waiting(parts))
    assert set_aside(parts) == before - made
    waiting = library.rows("SELECT id, failures FROM unembedded WHERE tenant_id = %s", scope.tenant)
    assert waiting == [("e1", 5)]
    assert library.ids(scope, "semantic", "poison", limit=1) == ["e0"]


def test_a_rewritten_entry_is_not_set_aside(library: Library, scope: Scope) -> None:
    """What was set aside under its old words waits again under its new ones."""
    library.write(scope, "poison", embedded=False)
    aside = "UPDATE unembedded SET failures = 5, queued_at = 'epoch' WHERE tenant_id = %s"
    library.owner.execute(aside, [scope.tenant])
    library.owner.execute("UPDATE entries SET content = 'remedy' WHERE tenant_id = %s", [scope.tenant])
    row = library.rows(
        "SELECT failures, queued_at > 'epoch' FROM unembedded WHERE tenant_id = %s", scope.tenant
    )
    assert row == [(0, True)]
    assert library.embed(scope.tenant) == 1


class Meanwhile:
    """An embedder during whose work something happens."""

    spec = EmbeddingSpec(model="hashing-64", dimension=64)

    def __init__(self, happens: Callable[[], object]) -> None:
        self.happens = happens

    def embed(self, texts: Sequence[str]) -> list[Vector]:
        """The vectors, after it happened."""
        self.happens()
        return vectors(texts)

    def is_cut(self, text: str) -> bool:
        """Never."""
        return False


@pytest.mark.parametrize("column", ["content", "speaker"])
def test_a_rewrite_during_embedding_wins(library: Library, scope: Scope, column: str) -> None:
    """A vector of what an entry said before, or of who was said to say it, is not kept."""
    library.write(scope, "zebra crossing", embedded=False)
    change = f"UPDATE entries SET {column} = 'other' WHERE tenant_id = {scope.tenant}"
    parts, _ = over(library, Meanwhile(lambda: library.owner.execute(change.encode())))
    embed(scope.tenant, parts)
    assert library.traces(scope) | {"postings": 0} == {"vectors": 0, "postings": 0, "unembedded": 1}
    assert library.embed(scope.tenant) == 1


def test_a_worker_that_dies_in_a_batch_loses_nothing(library: Library, scope: Scope) -> None:
    """What was claimed by a worker that died is simply embedded by the next."""

    def die() -> None:
        raise KeyboardInterrupt

    library.write(scope, "zebra crossing", "plain", embedded=False)
    with pytest.raises(KeyboardInterrupt):
        embed(scope.tenant, over(library, Meanwhile(die))[0])
    assert library.embed(scope.tenant) == 2


def test_a_tiny_coordinate_is_storable(library: Library, scope: Scope, server: Server) -> None:
    """A coordinate that half precision cannot hold does not keep an entry from its vector."""
    server.answer = lambda texts: told([[1.0, 1e-50, *[0.0] * 62] for _ in texts])
    library.write(scope, "zebra", embedded=False)
    assert embed(scope.tenant, over(library, server.embedder)[0]) == 1
