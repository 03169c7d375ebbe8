"""``conformance-agent-memory-injection-budget``: what is injected is a prefix that fits (RFC 0113).

Oldest first, a memory is filled so that each rule shows: one entry larger than the budget; a crumb that would
fit into what a prefix leaves; three fillers of a third each, of which two fit; and one with a secret in it. A
read that goes on after the first that does not fit gives the crumb, and fails the run.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from api_shim.runs.failure import failed
from api_shim.runs.memory import Budgeted, Note, Wire
from api_shim.runs.programs.isolation import plant, probed
from api_shim.runs.programs.passages import GARDEN, TAXES, TRAINS, passage
from api_shim.runs.stage import Stage, Variables
from api_shim.runs.vault import CANARY

DEFAULT_BUDGET: Final = 800
LEAST_BUDGET: Final = 300
MOST_BUDGET: Final = 4_000
"""So small that an entry may exceed it, so large that the redacted entry is small beside it."""

_OVERSIZE, _FILLER, _CRUMB = 1.3, 0.36, 0.05
"""Shares of the budget."""
QUESTION: Final = "When do tomatoes and roses in the garden need water?"
_LOOK_S: Final = 0.1
_LOOKS: Final = 110


@dataclass(frozen=True, kw_only=True)
class _Seeded:
    oversize: str
    crumb: str
    fillers: tuple[str, ...]
    redacted: str
    secret: str

    @property
    def newest_first(self) -> list[str]:
        return [self.redacted, *reversed(self.fillers), self.crumb, self.oversize]


async def injection(stage: Stage) -> Variables:
    """Fills the memory, reads it within the budget in every way there is, and judges what it got."""
    budget = int(stage.inputs.get("tokenBudget", DEFAULT_BUDGET))
    seeded = await _seed(stage, budget)
    costs = await stage.memory.costs(stage.memory_ref)
    _require_test(seeded, costs, budget)
    whole = {entry["id"]: entry for entry in await stage.memory.list(stage.memory_ref)}
    read = await stage.memory.budgeted(stage.memory_ref, budget)
    kept = _judged(read, whole, costs, budget)
    if kept != _prefix(seeded.newest_first, costs, budget):
        raise failed("injection_budget_not_a_prefix")
    sample = _redacted_sample(read.entries, seeded)
    planted = await plant(stage)
    variables = {
        "memoryRef": stage.memory_ref,
        "tokenBudget": budget,
        "tokenCounter": stage.memory.counter,
        "budgetedEntries": list(read.entries),
        "budgetedTokenTotal": sum(costs[id_] for id_ in kept),
        "overBudgetEntryId": seeded.oversize,
        "overBudgetEntryOmitted": seeded.oversize not in kept,
        "redactedContentSample": sample,
        "crossTenantBudgetedProbe": await probed(stage, planted, budget),
    }
    if stage.memory.semantic:
        variables |= {
            "recencyOrder": kept,
            "relevanceOrder": await _by_relevance(stage, whole, costs, budget),
        }
        if variables["recencyOrder"] == variables["relevanceOrder"]:
            raise failed("relevance_order_unproved")
    await _lone(stage, budget)
    return variables


async def _seed(stage: Stage, budget: int) -> _Seeded:
    counter, until = stage.memory.counter, stage.kept_until()
    secret = await stage.vault.resolve(CANARY)
    texts = (
        passage(GARDEN + TRAINS + TAXES, counter, _OVERSIZE * budget),
        passage(TRAINS, counter, _CRUMB * budget),
        *(passage(subject, counter, _FILLER * budget) for subject in (GARDEN, TRAINS, TAXES)),
        f"The key of the archive is {secret}.",
    )
    notes = [Note(content=text, tags=("source:run",), expires_at=until) for text in texts]
    oversize, crumb, *fillers, redacted = await stage.memory.remember(stage.memory_ref, notes)
    return _Seeded(oversize=oversize, crumb=crumb, fillers=tuple(fillers), redacted=redacted, secret=secret)


def _require_test(seeded: _Seeded, costs: Mapping[str, int], budget: int) -> None:
    """What was filed must put the budget to the test, or nothing that follows says anything."""
    if set(costs) != set(seeded.newest_first):
        raise failed("memory_readback_failed")
    newest = costs[seeded.redacted] + sum(costs[id_] for id_ in seeded.fillers[1:])
    if not (
        costs[seeded.oversize] > budget
        and newest <= budget < newest + costs[seeded.fillers[0]]
        and newest + costs[seeded.crumb] <= budget
    ):
        raise failed("injection_budget_unproved")


def _judged(read: Budgeted, whole: Mapping[str, Wire], costs: Mapping[str, int], budget: int) -> list[str]:
    """The ids of a budgeted read that keeps the law in itself; their order is for the caller to judge."""
    kept = [entry["id"] for entry in read.entries]
    if len(set(kept)) != len(kept) or any(whole.get(entry["id"]) != entry for entry in read.entries):
        raise failed("injection_budget_entry_cut")
    if any(costs[id_] > budget for id_ in kept):
        raise failed("injection_budget_oversize_kept")
    total = sum(costs[id_] for id_ in kept)
    if total > budget:
        raise failed("injection_budget_exceeded")
    if total != read.used:
        raise failed("injection_budget_total_mismatch")
    return kept


def _prefix(ranking: Sequence[str], costs: Mapping[str, int], budget: int) -> list[str]:
    """What may be injected of a ranking: the oversize aside, its longest prefix that fits."""
    kept: list[str] = []
    for id_ in (id_ for id_ in ranking if costs[id_] <= budget):
        if sum(costs[other] for other in kept) + costs[id_] > budget:
            break
        kept.append(id_)
    return kept


def _redacted_sample(entries: Sequence[Wire], seeded: _Seeded) -> str:
    sample = next((entry["content"] for entry in entries if entry["id"] == seeded.redacted), "")
    if sample != f"The key of the archive is [REDACTED:{CANARY}]." or any(
        seeded.secret in entry["content"] for entry in entries
    ):
        raise failed("sr1_redaction_failed")
    return str(sample)


async def _lone(stage: Stage, budget: int) -> None:
    """A memory whose only entry exceeds the budget gives nothing."""
    text = passage(TAXES, stage.memory.counter, _OVERSIZE * budget)
    note = Note(content=text, expires_at=stage.kept_until())
    await stage.memory.remember(stage.lone_ref, [note])
    (cost,) = (await stage.memory.costs(stage.lone_ref)).values()
    if cost <= budget:
        raise failed("injection_budget_unproved")
    if (await stage.memory.budgeted(stage.lone_ref, budget)).entries:
        raise failed("injection_budget_lone_entry_kept")


async def _by_relevance(
    stage: Stage, whole: Mapping[str, Wire], costs: Mapping[str, int], budget: int
) -> list[str]:
    """The budgeted order by relevance, once every entry has its vector."""
    for _ in range(_LOOKS):
        ranking = await stage.memory.relevant(stage.memory_ref, QUESTION, None)
        if len(ranking.entries) == len(whole):
            break
        await stage.sleep(_LOOK_S)
    else:
        raise failed("embedding_timeout")
    read = await stage.memory.relevant(stage.memory_ref, QUESTION, budget)
    kept = _judged(read, whole, costs, budget)
    if kept != _prefix([entry["id"] for entry in ranking.entries], costs, budget):
        raise failed("injection_budget_not_a_prefix")
    return kept
