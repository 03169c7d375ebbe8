"""Deleting over HTTP: what a removal took is in no later answer."""

import time

import httpx

from tests.acceptance.tenants import Tenant, assert_error, bad_fields, contents, filed, page

ENTRIES = "/v1/memory/entries"
MEMORY = "/v1/memory"


def remove(door: httpx.Client, ref: str, entry_id: str) -> httpx.Response:
    """Removes one entry."""
    return door.delete(f"{ENTRIES}/{entry_id}", params={"memoryRef": ref})


def forget(door: httpx.Client, ref: str, **options: str) -> int:
    """Forgets; how many are gone."""
    answer = door.delete(MEMORY, params={"memoryRef": ref, **options})
    assert answer.status_code == 200, answer.text
    assert answer.json().keys() == {"removed"}
    return int(answer.json()["removed"])


def test_a_removed_entry_is_gone(door: httpx.Client) -> None:
    """After the 200 no list, fetch or receipt knows the entry, by any path, and a repeat is 404."""
    filed(door, "a", "stays", tags=["t"])
    filed(door, "a", "goes", id="goes", tags=["t"])
    assert contents(door, "a") == ["goes", "stays"]
    answer = remove(door, "a", "goes")
    assert (answer.status_code, answer.json()) == (200, {"memoryRef": "a", "id": "goes", "removed": True})
    for options in ({}, {"tag": "t"}, {"kind": "fact"}, {"fields": "all"}, {"tokenBudget": 100}):
        assert contents(door, "a", **options) == ["stays"]
        assert page(door, "a", **options)["budget"]["omitted"]["limit"] == 0
    assert_error(door.get(f"{ENTRIES}/goes", params={"memoryRef": "a"}), 404, "not_found")
    assert_error(door.get("/v1/memory/receipts/goes", params={"memoryRef": "a"}), 404, "not_found")
    assert_error(remove(door, "a", "goes"), 404, "not_found")


def test_a_draft_is_removed_before_it_is_filed(tenant: Tenant, door: httpx.Client) -> None:
    """A removal also takes what is accepted and not yet filed; it never appears."""
    with tenant.held():
        sent = {"memoryRef": "a", "content": "goes", "id": "goes"}
        door.post(ENTRIES, json=sent).raise_for_status()
        assert remove(door, "a", "goes").status_code == 200
        assert_error(remove(door, "a", "goes"), 404, "not_found")
    filed(door, "a", "later")
    assert contents(door, "a") == ["later"]


def test_only_what_is_there_is_removed(tenant: Tenant, door: httpx.Client) -> None:
    """An unknown id, another memory and another tenant's are 404, and nothing is lost."""
    filed(door, "a", "stays", id="one")
    assert_error(remove(door, "a", "two"), 404, "not_found")
    assert_error(remove(door, "b", "one"), 404, "not_found")
    with tenant.neighbour().door() as foreign:
        assert_error(remove(foreign, "a", "one"), 404, "not_found")
        assert forget(foreign, "a") == 0
    assert contents(door, "a") == ["stays"]


def test_a_whole_memory_is_forgotten(tenant: Tenant, door: httpx.Client) -> None:
    """Forget removes the filed and the unfiled of one memory, counts them, and leaves others alone."""
    filed(door, "a", "one")
    filed(door, "b", "stays")
    with tenant.held():
        door.post(ENTRIES, json={"memoryRef": "a", "content": "unfiled"}).raise_for_status()
        assert forget(door, "a") == 2
    assert (contents(door, "a"), contents(door, "b")) == ([], ["stays"])
    assert forget(door, "a") == 0
    filed(door, "a", "anew")
    assert contents(door, "a") == ["anew"]


def test_a_tag_is_forgotten(tenant: Tenant, door: httpx.Client) -> None:
    """Forget by tag takes exactly what has it, also what was accepted just before."""
    filed(door, "a", "stays", tags=["Tag"])
    filed(door, "a", "goes", tags=["other", "tag"])
    with tenant.held_for(0.5):
        door.post(ENTRIES, json={"memoryRef": "a", "content": "unfiled", "tags": ["tag"]}).raise_for_status()
        assert forget(door, "a", tag="tag") == 2
    assert contents(door, "a") == ["stays"]


def test_an_age_is_forgotten(door: httpx.Client) -> None:
    """Forget before an instant takes what was created earlier, and the instant itself stays."""
    filed(door, "a", "older", tags=["t"])
    filed(door, "a", "older too")
    time.sleep(0.002)
    newer = filed(door, "a", "newer", tags=["t"])
    assert forget(door, "a", before=newer["createdAt"], tag="t") == 1
    assert contents(door, "a") == ["newer", "older too"]
    assert forget(door, "a", before=newer["createdAt"]) == 1
    assert contents(door, "a") == ["newer"]


def test_forgetting_needs_its_ref(door: httpx.Client) -> None:
    """No ref is a 400 that names it with every other bad field; a ref that cannot be is empty."""
    filed(door, "a", "stays")
    assert bad_fields(door.delete(MEMORY)) == {"memoryRef"}
    answer = door.delete(MEMORY, params={"tag": "", "before": "yesterday", "all": "true"})
    assert bad_fields(answer) == {"memoryRef", "tag", "before", "all"}
    assert forget(door, "..") == 0
    assert contents(door, "a") == ["stays"]


def test_the_host_path_removes_in_its_own_words(door: httpx.Client) -> None:
    """OpenWOP's host path answers memoryId, and the entry is gone from both paths."""
    filed(door, "a", "goes", id="goes")
    path, asked = "/v1/host/foreword/memory/goes", {"memoryRef": "a"}
    assert door.get(path, params=asked).json() == door.get(f"{ENTRIES}/goes", params=asked).json()
    answer = door.delete(path, params=asked)
    assert answer.status_code == 200
    assert answer.json() == {"memoryRef": "a", "memoryId": "goes", "removed": True}
    assert_error(door.delete(path, params=asked), 404, "not_found")
    assert contents(door, "a") == []
