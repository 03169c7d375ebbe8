"""A conformance program completes on a memory that keeps its word, and names the word that another breaks."""

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import pytest

from api_shim.runs.memory import Budgeted, Note, Wire
from api_shim.runs.programs.expiry import expiry
from api_shim.runs.programs.injection import DEFAULT_BUDGET, injection
from api_shim.runs.programs.isolation import isolation
from api_shim.runs.programs.noop import noop
from api_shim.runs.programs.redaction import redaction
from api_shim.runs.programs.roundtrip import roundtrip
from api_shim.runs.stage import Program
from foreword.budget import walk
from tests.unit.api_shim.runs.shelf import OTHER, Room, Shelf, failure_of, ids, play


class Forgets(Shelf):
    """Keeps nothing."""

    def live(self, memory_ref: str) -> list[Wire]:
        return []


class Retells(Shelf):
    """Gives another text than it was given."""

    async def get(self, memory_ref: str, entry_id: str) -> Wire | None:
        entry = await super().get(memory_ref, entry_id)
        return None if entry is None else {**entry, "content": f"{entry['content']} "}


class Untags(Shelf):
    """Loses the tags."""

    async def get(self, memory_ref: str, entry_id: str) -> Wire | None:
        entry = await super().get(memory_ref, entry_id)
        return None if entry is None else {**entry, "tags": []}


class Invents(Shelf):
    """Has an entry of every id."""

    async def get(self, memory_ref: str, entry_id: str) -> Wire | None:
        return {**self.live(memory_ref)[0], "id": entry_id} if self.live(memory_ref) else None


class Tells(Shelf):
    """Keeps secrets as they are."""

    def redacted(self, text: str) -> str:
        return text


class TellsInTags(Shelf):
    """Redacts contents alone."""

    def redacted(self, text: str) -> str:
        return text if text.startswith("opens-with:") else super().redacted(text)


class Mumbles(Shelf):
    """Hides secrets without saying whose they were."""

    def redacted(self, text: str) -> str:
        return super().redacted(text).replace("[REDACTED:openwop-conformance-canary-secret]", "***")


class Lingers(Shelf):
    """Shows what has expired."""

    def live(self, memory_ref: str) -> list[Wire]:
        own = [row for row in reversed(self.room.rows) if row[:2] == (self.tenant, memory_ref)]
        return [entry for *_, entry in own]


class LingersInGet(Shelf):
    """Shows what has expired to who knows its id."""

    async def get(self, memory_ref: str, entry_id: str) -> Wire | None:
        return await Lingers(self.room, self.tenant).get(memory_ref, entry_id)


class Hurries(Shelf):
    """Lets entries expire before their time."""

    def live(self, memory_ref: str) -> list[Wire]:
        now = self.room.clock.now
        return [entry for *_, note, entry in reversed(self.room.rows) if note.expires_at > now + 10_000_000]


class Dawdles(Shelf):
    """Files so late that short-lived entries are gone by then."""

    async def remember(self, memory_ref: str, notes: Sequence[Note]) -> list[str]:
        filed = await super().remember(memory_ref, notes)
        await self.room.clock.sleep(6)
        return filed


class Leaks(Shelf):
    """Lists a ref whoever's it is."""

    async def list(self, memory_ref: str) -> list[Wire]:
        return self.live(memory_ref) or Shelf(self.room, OTHER).live(memory_ref)


class LeaksInGet(Shelf):
    """Gives an entry whoever's it is."""

    async def get(self, memory_ref: str, entry_id: str) -> Wire | None:
        return await super().get(memory_ref, entry_id) or await Shelf(self.room, OTHER).get(
            memory_ref, entry_id
        )


class LeaksInBudget(Shelf):
    """Gives within a budget what is somebody else's."""

    async def budgeted(self, memory_ref: str, budget: int) -> Budgeted:
        mine = await super().budgeted(memory_ref, budget)
        return mine if mine.entries else await Shelf(self.room, OTHER).budgeted(memory_ref, budget)


class SkipsAndGoesOn(Shelf):
    """Gives what fits after what did not."""

    def cut(self, entries: Sequence[Wire], budget: int | None) -> Budgeted:
        kept = walk([len(entry["content"]) for entry in entries], budget=budget, fit="pack")
        return Budgeted(entries=[entries[i] for i in kept.kept], used=kept.used)


class KeepsOne(Shelf):
    """Never gives nothing."""

    async def budgeted(self, memory_ref: str, budget: int) -> Budgeted:
        found = await super().budgeted(memory_ref, budget)
        first = self.live(memory_ref)[:1]
        return found if found.entries or not first else Budgeted(entries=first, used=len(first[0]["content"]))


class _Budgeting(Shelf):
    """Does something to what the law keeps."""

    def cut(self, entries: Sequence[Wire], budget: int | None) -> Budgeted:
        kept = super().cut(entries, budget)
        return kept if budget is None else self.spoilt(kept, entries, budget)

    def spoilt(self, kept: Budgeted, entries: Sequence[Wire], budget: int) -> Budgeted:
        raise NotImplementedError


class GoesOver(_Budgeting):
    """Gives one more than fits."""

    def spoilt(self, kept: Budgeted, entries: Sequence[Wire], budget: int) -> Budgeted:
        more = list(entries[: len(kept.entries) + 1])
        return Budgeted(entries=more, used=sum(len(entry["content"]) for entry in more))


class GivesTheLargest(_Budgeting):
    """Gives what alone exceeds the budget."""

    def spoilt(self, kept: Budgeted, entries: Sequence[Wire], budget: int) -> Budgeted:
        return Budgeted(entries=[entries[-1]], used=len(entries[-1]["content"]))


class CutsText(_Budgeting):
    """Shortens an entry so that it fits."""

    def spoilt(self, kept: Budgeted, entries: Sequence[Wire], budget: int) -> Budgeted:
        after = entries[len(kept.entries)]
        cut = {**after, "content": after["content"][: budget - kept.used]}
        return Budgeted(entries=[*kept.entries, cut], used=budget)


class RepeatsItself(_Budgeting):
    """Gives an entry twice."""

    def spoilt(self, kept: Budgeted, entries: Sequence[Wire], budget: int) -> Budgeted:
        return Budgeted(entries=[kept.entries[0], *kept.entries], used=kept.used)


class Miscounts(_Budgeting):
    """Reports another total."""

    def spoilt(self, kept: Budgeted, entries: Sequence[Wire], budget: int) -> Budgeted:
        return replace(kept, used=kept.used - 1)


class GivesNothing(_Budgeting):
    """Answers with a constant that no budget could be exceeded by."""

    def spoilt(self, kept: Budgeted, entries: Sequence[Wire], budget: int) -> Budgeted:
        return Budgeted(entries=[], used=0)


class Reverses(_Budgeting):
    """Gives the right entries in the wrong order."""

    def spoilt(self, kept: Budgeted, entries: Sequence[Wire], budget: int) -> Budgeted:
        return replace(kept, entries=list(reversed(kept.entries)))


class Undercharges(Shelf):
    """Counts as if every entry cost one."""

    async def costs(self, memory_ref: str) -> Mapping[str, int]:
        return dict.fromkeys(await super().costs(memory_ref), 1)


class RanksByAge(Shelf):
    """Calls the order by recency relevance."""

    def ranked(self, memory_ref: str, query: str) -> Sequence[Wire]:
        return self.live(memory_ref)


class NeverEmbeds(Shelf):
    """Finds nothing by meaning."""

    def ranked(self, memory_ref: str, query: str) -> Sequence[Wire]:
        return []


BROKEN: list[tuple[Program, type[Shelf], str]] = [
    (noop, Forgets, "memory_readback_failed"),
    (noop, Retells, "memory_readback_failed"),
    (roundtrip, Forgets, "memory_readback_failed"),
    (roundtrip, Retells, "memory_readback_failed"),
    (roundtrip, Untags, "memory_readback_failed"),
    (roundtrip, Invents, "memory_readback_failed"),
    (redaction, Tells, "sr1_redaction_failed"),
    (redaction, TellsInTags, "sr1_redaction_failed"),
    (redaction, Mumbles, "sr1_redaction_failed"),
    (redaction, Forgets, "sr1_redaction_failed"),
    (expiry, Lingers, "ttl_expired_visible"),
    (expiry, LingersInGet, "ttl_expired_visible"),
    (expiry, Hurries, "ttl_fresh_missing"),
    (expiry, Forgets, "ttl_fresh_missing"),
    (expiry, Dawdles, "ttl_unproved"),
    (isolation, Leaks, "cti1_cross_tenant_leak"),
    (isolation, LeaksInGet, "cti1_cross_tenant_leak"),
    (isolation, Forgets, "memory_readback_failed"),
    (injection, LeaksInGet, "cti1_cross_tenant_leak"),
    (injection, LeaksInBudget, "cti1_cross_tenant_leak"),
    (injection, Tells, "sr1_redaction_failed"),
    (injection, Mumbles, "sr1_redaction_failed"),
    (injection, Forgets, "memory_readback_failed"),
    (injection, SkipsAndGoesOn, "injection_budget_not_a_prefix"),
    (injection, GivesNothing, "injection_budget_not_a_prefix"),
    (injection, Reverses, "injection_budget_not_a_prefix"),
    (injection, KeepsOne, "injection_budget_lone_entry_kept"),
    (injection, GoesOver, "injection_budget_exceeded"),
    (injection, GivesTheLargest, "injection_budget_oversize_kept"),
    (injection, CutsText, "injection_budget_entry_cut"),
    (injection, RepeatsItself, "injection_budget_entry_cut"),
    (injection, Miscounts, "injection_budget_total_mismatch"),
    (injection, Undercharges, "injection_budget_unproved"),
    (injection, RanksByAge, "relevance_order_unproved"),
    (injection, NeverEmbeds, "embedding_timeout"),
]


@pytest.mark.parametrize(("program", "memory", "code"), BROKEN, ids=lambda it: getattr(it, "__name__", it))
def test_a_broken_word_is_named(program: Program, memory: Callable[..., Shelf], code: str) -> None:
    """A run on a memory that breaks one rule fails under that rule's name and never completes."""
    room = Room()
    assert failure_of(program, memory(room), room) == code


@pytest.mark.parametrize("program", [noop, roundtrip, redaction, expiry, isolation, injection])
@pytest.mark.parametrize("counter", ["chars"])
def test_a_kept_word_completes(program: Program, counter: str) -> None:
    """On a memory that keeps its word each program completes, with variables that JSON can carry."""
    room = Room()
    variables = play(program, Shelf(room, counter=counter), room)
    assert json.loads(json.dumps(variables)) == variables


@pytest.mark.parametrize("budget", [300, DEFAULT_BUDGET, 4_000])
def test_variables_follow_what_is_there(budget: int) -> None:
    """What the budget run tells is what the shelf holds: contents, total, the oversize entry, two orders."""
    room = Room()
    shelf = Shelf(room)
    told = play(injection, shelf, room, tokenBudget=budget)
    whole = shelf.live("ref")
    sizes = {entry["id"]: len(entry["content"]) for entry in whole}
    assert told["budgetedEntries"] == [entry for entry in whole if entry["id"] in told["recencyOrder"]]
    assert ids(told["budgetedEntries"]) == told["recencyOrder"]
    assert told["budgetedTokenTotal"] == sum(sizes[id_] for id_ in told["recencyOrder"]) <= budget
    assert [id_ for id_, size in sizes.items() if size > budget] == [told["overBudgetEntryId"]]
    assert told["overBudgetEntryOmitted"] is True
    assert told["crossTenantBudgetedProbe"] == []
    assert len(told["recencyOrder"]) == 3
    assert told["recencyOrder"] != told["relevanceOrder"]


def test_without_meaning_there_is_one_order() -> None:
    """Where nothing is found by meaning, the run completes and tells no order by relevance."""
    room = Room()
    told = play(injection, Shelf(room, semantic=False), room)
    assert not {"recencyOrder", "relevanceOrder"} & told.keys()


def test_an_empty_neighbour_proves_nothing() -> None:
    """A probe of a memory that holds nothing is no probe, and the run says so."""
    for program in (isolation, injection):
        room = Room()
        assert failure_of(program, Shelf(room), room, foreign=Forgets(room, OTHER)) == "cti1_probe_unproved"


def test_other_secrets_are_not_there() -> None:
    """The vault knows the canary and refuses any other id."""
    room = Room()
    assert failure_of(redaction, Shelf(room), room, byokSecretId="prod-db") == "credential_unavailable"
    assert room.secrets == {}


def test_every_run_has_its_own_canary() -> None:
    """Two runs resolve the canary to two values, each long enough to be redacted, and neither is shown."""
    rooms = Room(), Room()
    shown: list[Any] = [play(redaction, Shelf(room), room) for room in rooms]
    (one,), (other,) = (room.secrets.values() for room in rooms)
    assert one != other
    assert min(len(one), len(other)) >= 8
    assert one not in json.dumps(shown)
    assert other not in json.dumps(shown)
