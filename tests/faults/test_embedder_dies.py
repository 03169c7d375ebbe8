"""The process that makes vectors is killed inside a batch, or stands still: nothing else waits for it."""

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

from foreword.ledger.api_keys import parse_key
from tests.faults import truth
from tests.faults.calls import persist
from tests.faults.harm import WORKER, commits_held, frozen, kill, owner, pids, until_waiting
from tests.services import Product, eventually

ENTRIES, SEARCH = "/v1/memory/entries", "/v1/memory/search"


@contextmanager
def vectors_held(product: Product) -> Iterator[None]:
    """Inside the block whoever has made vectors of the product's tenant waits to keep them."""
    key = parse_key(product.wait_ready()["apiKey"])
    assert key is not None
    with owner(product) as held:
        held.execute("SELECT pg_advisory_lock(hashtext('graphs'), %s)", [key.tenant])
        yield


def write(product: Product, ref: str, n: int) -> None:
    """Entries that can be read, whether or not anybody makes vectors."""
    drafts = [
        {"memoryRef": ref, "id": f"e-{i}", "content": f"entry number {i}", "tags": ["t"]} for i in range(n)
    ]
    told = persist(product, "POST", f"{ENTRIES}:batch", params={"wait": 30}, json={"entries": drafts})
    assert told.status_code == 201, told.text


def rests(pid: int) -> bool:
    """Whether a process waits for something, and not for its turn; Linux."""
    stat = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8", errors="replace")
    return stat.rpartition(")")[2].split()[0] == "S"


def search(product: Product, ref: str, **body: Any) -> dict[str, Any]:
    """The body of a search."""
    answer = persist(product, "POST", SEARCH, json={"memoryRef": ref, "topK": 1000, **body})
    assert answer.status_code == 200, answer.text
    return dict(answer.json())


def read(product: Product, ref: str) -> list[str]:
    """Ids of a list."""
    answer = persist(product, "GET", ENTRIES, params={"memoryRef": ref, "limit": 1000})
    return [entry["id"] for entry in answer.json()["entries"]]


def settle(product: Product, ref: str) -> None:
    """Every entry has one vector, nothing else has, and nothing waits for any."""
    of = "FROM {} t JOIN scopes s USING (tenant_id, scope_id) WHERE s.memory_ref = %s"
    with owner(product) as conn:
        left = f"SELECT count(*) {of}".format("unembedded").encode()
        eventually(lambda: not conn.execute(left, [ref]).fetchone(), "nothing waits for a vector")
        kept = conn.execute(f"SELECT t.id {of}".format("vectors").encode(), [ref]).fetchall()
    assert sorted(kept) == sorted(truth.newest(product, ref))
    found = search(product, ref, query="entry number", mode="semantic")["entries"]
    assert sorted(entry["id"] for entry in found) == sorted(kept)


def test_before_its_vectors_are_kept(hurt: Product) -> None:
    """A batch that dies unkept delays no read; the next process makes it anew, without what was removed."""
    ref = "embedder/before"
    with vectors_held(hurt):
        write(hurt, ref, 100)
        until_waiting(hurt, "Lock", WORKER)
        kill(*pids(hurt, "embed"))
        assert read(hurt, ref) == truth.newest(hurt, ref)
        assert len(truth.newest(hurt, ref)) == 100
        found = search(hurt, ref, query="number 7")
        assert found["budget"]["legs"] == ["semantic", "lexical"]
        assert (found["entries"][0]["id"], found["entries"][0]["similarity"]) == ("e-7", None)
        removed = persist(hurt, "DELETE", f"{ENTRIES}/e-5", params={"memoryRef": ref})
        assert removed.status_code == 200
        assert read(hurt, ref) == [f"e-{i}" for i in reversed(range(100)) if i != 5]
    settle(hurt, ref)


def test_with_its_vectors_on_disk(hurt: Product) -> None:
    """A batch whose commit nobody heard of is kept once, and what it kept is not made again."""
    ref = "embedder/after"
    with ExitStack() as commits:
        with vectors_held(hurt):
            write(hurt, ref, 100)
            until_waiting(hurt, "Lock", WORKER)
            commits.enter_context(commits_held(hurt))
        until_waiting(hurt, "SyncRep", WORKER)
        kill(*pids(hurt, "embed"))
    assert read(hurt, ref) == truth.newest(hurt, ref)
    settle(hurt, ref)


def test_standing_still_it_delays_nobody(hurt: Product) -> None:
    """Frozen with a batch in its hands it holds up no write, no successor, no removal and no search."""
    ref = "embedder/still"
    with ExitStack() as harm:
        with vectors_held(hurt):
            write(hurt, ref, 20)
            until_waiting(hurt, "Lock", WORKER)
            eventually(lambda: all(map(rests, pids(hurt, "embed"))), "it has sent all that it has to say")
            harm.enter_context(frozen(*pids(hurt, "embed")))
        later = {"memoryRef": ref, "id": "later", "content": "the later zebra", "supersedes": ["e-3"]}
        told = persist(hurt, "POST", ENTRIES, params={"wait": 12}, json=later)
        assert told.status_code == 201, told.text
        removed = persist(hurt, "DELETE", f"{ENTRIES}/e-4", params={"memoryRef": ref})
        assert removed.status_code == 200
        expected = ["later", *(f"e-{i}" for i in reversed(range(20)) if i not in (3, 4))]
        assert read(hurt, ref) == expected
        found = search(hurt, ref, query="zebra")
        assert found["budget"]["legs"] == ["semantic", "lexical"]
        assert (found["entries"][0]["id"], found["entries"][0]["similarity"]) == ("later", None)
        near = search(hurt, ref, query="entry number", mode="semantic")["entries"]
        assert sorted(entry["id"] for entry in near) == sorted(expected[1:])
    settle(hurt, ref)
