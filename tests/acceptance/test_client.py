"""The two Python clients against the running product."""

import asyncio
import json
import time
import uuid
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from foreword import AsyncClient, Client
from foreword.client import Entry, Receipt
from foreword.counters import counter
from foreword.errors import Conflict, NotFound, Unauthenticated, ValidationError
from tests.services import eventually


@pytest.fixture
def client(product: dict[str, Any]) -> Iterator[Client]:
    """A client with the product's first key."""
    with Client(product["url"], product["apiKey"]) as made:
        yield made


@pytest.fixture
def ref() -> str:
    """A memory of this test's own."""
    return f"test/{uuid.uuid4()}"


def _filed(client: Client, ref: str, *contents: str) -> list[Receipt]:
    """Writes and waits until each can be read."""
    return [client.remember(ref, content, wait=30) for content in contents]


def test_what_is_remembered_is_listed(client: Client, ref: str) -> None:
    """A waited-for write is filed, and the list has it with its fields as they were given."""
    expires = datetime.now(UTC).replace(microsecond=0) + timedelta(days=1)
    receipt = client.remember(ref, " kept\nas it is ", wait=30, tags=["t"], kind="note", expires_at=expires)
    assert (receipt.status, receipt.memory_ref) == ("filed", ref)
    (entry,) = client.list(ref, fields="all")
    assert (entry.id, entry.content, entry.tags) == (receipt.id, " kept\nas it is ", ("t",))
    assert (entry.kind, entry.expires_at) == ("note", expires)
    assert entry.created_at == receipt.created_at
    assert entry.costs is not None
    assert entry.costs["chars"] == len(entry.content)


def test_a_list_keeps_its_budget(client: Client, ref: str) -> None:
    """A budgeted list is the newest that fit, and its report adds up."""
    _filed(client, ref, "one", "word " * 500, "two", "three")
    page = client.list(ref, token_budget=20, token_counter="chars")
    assert [entry.content for entry in page] == ["three", "two", "one"]
    assert page.budget is not None
    assert (page.budget.counter, page.budget.token_budget, page.budget.used) == ("chars", 20, 11)
    assert page.budget.omitted.oversize == 1


def test_pages_are_the_whole_memory(client: Client, ref: str) -> None:
    """Page after page gives every entry once, newest first."""
    receipts = client.remember_many(ref, [f"entry {n}" for n in range(25)])
    assert receipts[-1].position is not None
    client.list(ref, limit=1, after=receipts[-1].position)
    pages = list(client.pages(ref, limit=10))
    assert [len(page) for page in pages] == [10, 10, 5]
    assert [entry.id for page in pages for entry in page] == [receipt.id for receipt in reversed(receipts)]


def test_a_write_is_read_after_its_position(client: Client, ref: str) -> None:
    """A read that asks for a receipt's position sees that write, without ``wait``."""
    receipt = client.remember(ref, "just now")
    assert receipt.position is not None
    assert [entry.content for entry in client.list(ref, after=receipt.position)] == ["just now"]


def test_the_same_id_is_one_entry(client: Client, ref: str) -> None:
    """The same Draft under one id is one entry with one receipt; another body is a Conflict."""
    first, second = (client.remember(ref, "text", id="mine", wait=30) for _ in range(2))
    assert (first.id, first.created_at, first.position) == (second.id, second.created_at, second.position)
    with pytest.raises(Conflict):
        client.remember(ref, "other text", id="mine")
    assert len(client.list(ref)) == 1


def test_an_unchanged_list_costs_nothing(client: Client, ref: str) -> None:
    """A known page comes back itself while nothing changed, and a new one after a write."""
    _filed(client, ref, "one")
    page = client.list(ref)
    assert client.list(ref, known=page) is page
    _filed(client, ref, "two")
    assert len(client.list(ref, known=page)) == 2


def test_what_is_deleted_is_gone(client: Client, ref: str) -> None:
    """After a delete neither the list nor a get has the entry, and a second delete is NotFound."""
    kept, gone = _filed(client, ref, "kept", "gone")
    assert client.get(ref, gone.id).content == "gone"
    assert client.delete(ref, gone.id).removed
    assert [entry.id for entry in client.list(ref)] == [kept.id]
    for call in (client.get, client.delete):
        with pytest.raises(NotFound):
            call(ref, gone.id)


def test_a_memory_is_forgotten(client: Client, ref: str) -> None:
    """``forget`` takes what has the tag, then everything, and says how many."""
    client.remember(ref, "one", wait=30, tags=["old"])
    _filed(client, ref, "two", "three")
    assert client.forget(ref, tag="old") == 1
    assert [entry.content for entry in client.list(ref)] == ["three", "two"]
    assert client.forget(ref) == 2
    assert client.list(ref).entries == ()


def test_a_receipt_follows_its_write(client: Client, ref: str) -> None:
    """A receipt can be asked for until the write is filed; an unknown one is NotFound."""
    receipt = client.remember(ref, "text", wait=30)
    assert client.receipt(ref, receipt.id).status == "filed"
    with pytest.raises(NotFound):
        client.receipt(ref, str(uuid.uuid4()))


def test_a_memory_moves(client: Client, ref: str) -> None:
    """What is exported can be imported elsewhere: same ids, order, text and times."""
    _filed(client, ref, "one\u2028line", "two")
    client.remember(ref, "three", wait=30, tags=["t"], metadata={"n": 1})
    lines = list(client.export(ref))
    assert [line["content"] for line in lines] == ["one\u2028line", "two", "three"]
    other = f"{ref}/copy"
    taken = client.import_(lines, memory_ref=other)
    assert taken.accepted == 3
    assert taken.position is not None
    client.list(other, after=taken.position)

    def told(entry: Entry) -> tuple[object, ...]:
        return (entry.id, entry.content, entry.tags, entry.created_at, entry.metadata)

    there, here = (client.list(name, fields="all") for name in (other, ref))
    assert [told(entry) for entry in there] == [told(entry) for entry in here]


def test_a_memory_has_numbers(client: Client, ref: str) -> None:
    """Stats count what is filed and sum its costs."""
    _filed(client, ref, "four", "fives")
    numbers = client.stats(ref)
    assert (numbers.memory_ref, numbers.entries, numbers.pending) == (ref, 2, 0)
    assert numbers.costs["chars"] == 9


def test_events_are_read_once(client: Client, ref: str) -> None:
    """Events name what was written without its text, and go on after the last one seen."""
    (first,) = _filed(client, ref, "a-text-no-event-has")
    seen = client.events(ref)
    assert [(event.type, event.memory_id) for event in seen] == [("memory.written", first.id)]
    assert "a-text-no-event-has" not in repr(seen)
    (second,) = _filed(client, ref, "two")
    later = client.events(ref, after=seen.after)
    assert [event.memory_id for event in later] == [second.id]
    assert len(client.events(ref, after=later.after)) == 0


def test_a_registered_secret_is_hidden(client: Client, ref: str) -> None:
    """A registered value is redacted in what is written later, and swept from what was there."""
    value = f"hunter-{uuid.uuid4().hex}"
    _filed(client, ref, f"before {value}")
    job_id = client.set_secret("the-secret", value)
    assert "the-secret" in client.secrets()
    _filed(client, ref, f"after {value}")
    assert job_id is not None
    deadline = time.monotonic() + 60
    while (job := client.job(job_id)).status in ("queued", "running") and time.monotonic() < deadline:
        time.sleep(0.1)
    assert job.status == "succeeded"
    contents = [entry.content for entry in client.list(ref)]
    assert contents == ["after [REDACTED:the-secret]", "before [REDACTED:the-secret]"]
    client.delete_secret("the-secret")
    assert "the-secret" not in client.secrets()


def test_what_is_wrong_is_named(client: Client) -> None:
    """The server's refusal names each bad field."""
    with pytest.raises(ValidationError) as refused:
        client.remember("../up", "", confidence=2)
    assert {field.field for field in refused.value.fields} == {"memoryRef", "content", "confidence"}


def test_a_wrong_key_is_refused(product: dict[str, Any]) -> None:
    """A key that is not one of ours is Unauthenticated."""
    with Client(product["url"], "fw_1_00000000_" + "x" * 43) as stranger, pytest.raises(Unauthenticated):
        stranger.list("a")


def test_the_seal_key_can_be_asked_for(client: Client, product: dict[str, Any]) -> None:
    """The public key that Drafts are sealed to is the one in the readiness file."""
    assert client.seal_key() == product["sealKey"]


def test_the_async_client_does_the_same(product: dict[str, Any], ref: str) -> None:
    """Writes in parallel, pages, an export and a delete work the same without blocking."""

    async def run() -> None:
        async with AsyncClient(product["url"], product["apiKey"]) as client:
            await asyncio.gather(*(client.remember(ref, f"entry {n}", wait=30) for n in range(20)))
            pages = [page async for page in client.pages(ref, limit=15)]
            assert [len(page) for page in pages] == [15, 5]
            words = await client.search(ref, "entry", mode="lexical", top_k=3)
            assert len(words) == 3
            assert "entry 7" in (await client.recall(ref, "entry 7")).text
            lines = [line async for line in client.export(ref)]
            assert sorted(line["content"] for line in lines) == sorted(f"entry {n}" for n in range(20))
            await client.delete(ref, lines[0]["id"])
            with pytest.raises(NotFound):
                await client.get(ref, lines[0]["id"])
            assert await client.forget(ref) == 19

    asyncio.run(run())


def _found(client: Client, ref: str, query: str) -> list[str]:
    return [entry.content for entry in client.search(ref, query, mode="semantic", top_k=1)]


def test_a_question_finds_what_bears_on_it(client: Client, ref: str) -> None:
    """A search brings typed entries with scores, best first, a report with its legs, and keeps its budget."""
    _filed(client, ref, "The deploy window is 14:00 UTC.", "The customer prefers mornings.")
    client.remember(ref, "Invoices go to Ada.", wait=30, tags=["billing"], metadata={"n": 1})
    eventually(
        lambda: _found(client, ref, "early appointments") == ["The customer prefers mornings."],
        "the entries have their vectors",
    )
    page = client.search(ref, "When can we deploy?", token_budget=10)
    (entry,) = page
    assert entry.content == "The deploy window is 14:00 UTC."
    assert isinstance(entry.score, float)
    assert entry.similarity is not None
    assert 0.3 < entry.similarity <= 1
    assert page.budget is not None
    assert (page.budget.token_budget, page.budget.used) == (10, 10)
    assert page.budget.legs == ("semantic", "lexical")
    assert page.query_truncated is None
    since = datetime.now(UTC) - timedelta(hours=1)
    narrow = client.search(ref, mode="filter", filter={"createdAt": {"gte": since}, "metadata.n": 1})
    assert [entry.content for entry in narrow] == ["Invoices go to Ada."]
    ranked = client.list(ref, rank="relevance", query="early appointments", min_similarity=0.2, fields="all")
    assert ranked.entries[0].content == "The customer prefers mornings."
    assert all(entry.similarity is not None and entry.similarity >= 0.2 for entry in ranked)
    assert client.search(ref, "x " * 9000, mode="lexical").query_truncated is True


def test_a_recall_is_a_block_that_costs_what_it_says(client: Client, ref: str) -> None:
    """The block is text within its budget, counted exactly; its session keeps it from being sent again."""
    _filed(client, ref, "The deploy window is 14:00 UTC.", "word " * 200 + "deploy")
    block = client.recall(ref, "When is the deploy window?", token_budget=200)
    assert "The deploy window is 14:00 UTC." in block.text
    assert str(block) == block.text
    assert block.budget.used == counter("o200k_base").count(block.text) <= 200
    assert len(block.entries) == block.budget.returned == 1
    again = client.recall(ref, "When is the deploy window?", token_budget=200, session=block.session)
    assert (again.text, again.entries) == ("", ())
    assert again.budget.omitted.oversize == 1
    kept = client.recall(
        [ref, f"{ref}/other"],
        "When is the deploy window?",
        format="xml",
        exclude=block.entries,
        shares={ref: 0.5},
    )
    assert block.entries[0] not in kept.entries
    assert kept.text.startswith("<memory")
    told = client.recall(ref, "When is the deploy window?", token_budget=200, format="json")
    assert "The deploy window is 14:00 UTC." in [row.get("text") for row in json.loads(told.text)]
    assert told.entries == block.entries
    same = client.recall(ref, "When is the deploy window?", token_budget=200)
    assert (same.text, same.etag) == (block.text, block.etag)
