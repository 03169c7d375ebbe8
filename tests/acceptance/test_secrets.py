"""Registered secrets over HTTP: hidden in what comes, swept from what is there, never told."""

import time
import uuid
from typing import Any

import httpx
import psycopg
import pytest
import redis
from psycopg.rows import scalar_row

from foreword.keys import view_keys
from foreword.scope import Scope
from tests.acceptance.tenants import Tenant, assert_error, bad_fields, contents, embedded, filed, page
from tests.services import eventually

SECRETS = "/v1/secrets"
VALUE = "zebra quartz meadow"


def register(door: httpx.Client, secret_id: str, value: str) -> str:
    """Registers a secret and waits for its sweep; the job's path."""
    answer = door.put(f"{SECRETS}/{secret_id}", json={"value": value})
    assert (answer.status_code, answer.content) == (204, b"")
    location: str = answer.headers["Location"]
    assert ended(door, location)["status"] == "succeeded"
    return location


def ended(door: httpx.Client, location: str) -> dict[str, Any]:
    """A job once it has ended."""
    deadline = time.monotonic() + 30
    while (job := door.get(location).raise_for_status().json())["status"] in ("queued", "running"):
        assert 0 <= job["progress"] <= 1
        assert time.monotonic() < deadline
        time.sleep(0.05)
    return dict(job)


def test_a_registered_value_is_hidden(door: httpx.Client) -> None:
    """Once registered a value is hidden in every text field of later writes."""
    register(door, "db.pass", VALUE)
    filed(door, "a", f"use {VALUE}!", tags=[f"t {VALUE}"], metadata={"k": [VALUE]}, source=f"s/{VALUE}")
    (entry,) = page(door, "a", fields="all")["entries"]
    assert entry["content"] == "use [REDACTED:db.pass]!"
    assert entry["tags"] == ["t [REDACTED:db.pass]"]
    assert entry["metadata"] == {"k": ["[REDACTED:db.pass]"]}
    assert entry["source"] == "s/[REDACTED:db.pass]"
    assert entry["costs"]["chars"] == len(entry["content"])


def test_registering_sweeps_what_is_filed(door: httpx.Client) -> None:
    """After the job earlier rows hold the marker in every field, at every door, and are counted anew."""
    written = filed(door, "a", f"it was {VALUE}", tags=[VALUE, "t"], metadata={VALUE: VALUE}, speaker=VALUE)
    filed(door, "a", "clean")
    before = page(door, "a", tokenBudget=1000, tokenCounter="chars")
    assert before["budget"]["used"] == len(f"it was {VALUE}") + len("clean")
    location = register(door, "later", VALUE)
    job = door.get(location).json()
    assert job == {"jobId": location.rsplit("/", 1)[1], "status": "succeeded", "progress": 1.0}
    marked = "it was [REDACTED:later]"
    assert contents(door, "a") == ["clean", marked]
    assert page(door, "a", tokenBudget=1000, tokenCounter="chars")["budget"]["used"] == len(marked) + 5
    entry = page(door, "a", fields="all")["entries"][1]
    assert VALUE not in str(entry)
    assert entry["tags"] == ["[REDACTED:later]", "t"]
    assert entry["costs"]["chars"] == len(marked)
    assert contents(door, "a", tag="[REDACTED:later]") == [marked]
    assert contents(door, "a", tag=VALUE) == []
    exported = door.get("/v1/memory/export", params={"memoryRef": "a"}).text
    events = door.get("/v1/memory/events", params={"memoryRef": "a"}).text
    assert VALUE not in exported + events
    fetched = door.get(f"/v1/memory/entries/{written['id']}", params={"memoryRef": "a"})
    assert fetched.json()["entry"]["content"] == marked


class Derived:
    """What the ledger and the hot view derive from a tenant's entries, read behind the product's back."""

    def __init__(self, tenant: Tenant, product: dict[str, Any]) -> None:
        self.tenant = tenant
        self.redis_url = product["redisUrl"]

    def vectors(self, like: str) -> list[str]:
        """Vectors, as text, of entries whose content is like this."""
        return self._ask(
            """SELECT v.embedding::text FROM vectors v JOIN entries e USING (tenant_id, scope_id, id)
               WHERE v.tenant_id = %s AND e.content LIKE %s""",
            like,
        )

    def likeness(self, one: str, two: str) -> float:
        """The cosine of two vectors."""
        (found,) = self._ask("SELECT 1 - (%s::halfvec <=> %s::halfvec)", two, first=one)
        return float(found)

    def words(self) -> set[str]:
        """Words that entries are found by, their tags, and rows of events and of the queue for vectors."""
        found = {str(term) for term in self._ask("SELECT term FROM postings WHERE tenant_id = %s")}
        found |= set(self._ask("SELECT tag FROM entry_tags WHERE tenant_id = %s"))
        found |= set(self._ask("SELECT t::text FROM events t WHERE tenant_id = %s"))
        found |= set(self._ask("SELECT t::text FROM unembedded t WHERE tenant_id = %s"))
        return found

    def shown(self) -> str:
        """What head and window of memory ``a`` hold."""
        keys = view_keys(Scope(self.tenant.number, "a"))
        with redis.Redis.from_url(self.redis_url) as view:
            kept = [view.get(keys.head) or b"", *view.hgetall(keys.rows).values()]
        return b" ".join(kept).decode(errors="replace")

    def _ask(self, query: str, *told: str, first: object = None) -> list[Any]:
        with psycopg.connect(self.tenant.database_url, row_factory=scalar_row) as owner:
            return owner.execute(query.encode(), [first or self.tenant.number, *told]).fetchall()


def test_a_sweep_remakes_what_was_derived(
    tenant: Tenant, door: httpx.Client, product: dict[str, Any]
) -> None:
    """After it vector, words, tags and rows are those of the redacted text, and none of the old is left."""
    derived, marked = Derived(tenant, product), "The gate opens to [REDACTED:later] at noon"
    filed(door, "a", f"The gate opens to {VALUE} at noon", tags=[VALUE], speaker=VALUE)
    filed(door, "a", marked, tags=["[REDACTED:later]"], speaker="[REDACTED:later]")
    embedded(door, "a", 2)
    asked = {"memoryRef": "a", "query": VALUE, "mode": "semantic", "topK": 2, "fields": "all"}
    contents(door, "a")
    eventually(lambda: VALUE in derived.shown(), "the hot view holds it")
    assert {"zebra", "quartz", f"@{VALUE}", VALUE} <= derived.words()
    (old,), (right,) = derived.vectors(f"%{VALUE}%"), derived.vectors("%REDACTED%")
    before = door.post("/v1/memory/search", json=asked).json()["entries"]
    register(door, "later", VALUE)
    assert old not in derived.vectors("%")
    embedded(door, "a", 2)
    for made in derived.vectors("%"):
        assert derived.likeness(made, right) > 0.99 > derived.likeness(made, old)
    after = door.post("/v1/memory/search", json=asked).json()["entries"]
    assert {entry["content"] for entry in after} == {marked}
    assert after[0]["similarity"] < before[0]["similarity"] - 0.1
    contents(door, "a")
    eventually(lambda: marked in derived.shown(), "the hot view holds the memory again")
    assert VALUE not in derived.shown()
    assert not [word for word in derived.words() for part in VALUE.split() if part in word.lower()]
    for mode in ("lexical", "filter"):
        body = {"memoryRef": "a", "query": VALUE, "mode": mode, "filter": {"tags": VALUE}}
        assert door.post("/v1/memory/search", json=body).json()["entries"] == []
    told = door.post("/v1/memory/recall", json={"memoryRef": "a", "query": VALUE, "minSimilarity": -1})
    assert len(told.json()["entries"]) == 1  # they are equal now
    assert VALUE not in told.text


def test_only_ids_are_told(door: httpx.Client) -> None:
    """The list of secrets is their ids in order; replacing one keeps one."""
    for secret_id in ("b", "a.1_x-Y", "b"):
        register(door, secret_id, VALUE + secret_id)
    answer = door.get(SECRETS)
    assert (answer.status_code, answer.json()) == (200, {"secrets": ["a.1_x-Y", "b"]})


def test_a_dropped_value_is_no_longer_hidden(door: httpx.Client) -> None:
    """After a DELETE later writes keep the value; what was redacted stays so; a repeat is 404."""
    register(door, "s", VALUE)
    filed(door, "a", VALUE)
    answer = door.delete(f"{SECRETS}/s")
    assert (answer.status_code, answer.content) == (204, b"")
    filed(door, "a", VALUE)
    assert contents(door, "a") == [VALUE, "[REDACTED:s]"]
    assert_error(door.delete(f"{SECRETS}/s"), 404, "not_found")
    assert door.get(SECRETS).json() == {"secrets": []}


@pytest.mark.parametrize("value", ["short67", "x" * 4097, 12345678, None, ["x" * 8], "nul\x00nulnul", True])
def test_a_value_has_bounds(door: httpx.Client, value: object) -> None:
    """A value is a string of 8 to 4,096 characters; the refusal does not repeat it."""
    answer = door.put(f"{SECRETS}/s", json={"value": value})
    assert bad_fields(answer) == {"value"}
    assert "short67" not in answer.text
    assert door.get(SECRETS).json() == {"secrets": []}


def test_every_bad_part_is_named(door: httpx.Client) -> None:
    """A bad id, option and body are told at once; a body that is no object of one value is no body."""
    answer = door.put(f"{SECRETS}/sp ace", params={"x": "1"}, json={"value": "short"})
    assert bad_fields(answer) == {"secretId", "x", "value"}
    for body in ({}, [], {"value": VALUE, "extra": VALUE}, VALUE):
        answer = door.put(f"{SECRETS}/s", json=body)
        assert bad_fields(answer) == {"body"}
        assert VALUE not in answer.text
    register(door, "x" * 64, "é" * 4096)
    assert bad_fields(door.put(f"{SECRETS}/{'x' * 65}", json={"value": VALUE})) == {"secretId"}


def test_an_unknown_job_is_not_found(door: httpx.Client) -> None:
    """A job that never was, or was never one, is a 404."""
    for job_id in (str(uuid.uuid4()), "x", str(uuid.uuid4()).upper(), "{" + str(uuid.uuid4()) + "}"):
        assert_error(door.get(f"/v1/memory/jobs/{job_id}"), 404, "not_found")
