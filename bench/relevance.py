"""Whether the memories that answer a question are among those that fit, on corpora with labelled evidence.

Evidence recall is the share of a question's evidence that stands in what a reading kept within the budget,
averaged over questions. R@1: the first entry is right.
"""

from collections.abc import Mapping, Sequence
from pathlib import Path
from statistics import fmean

from api_shim.parts import Parts
from bench.outcome import Outcome, Target
from bench.product import Product
from bench.relevance_corpus import HALVES, Asked, Memory, dialogues, facts, locomo, naming, notes, unlabelled
from bench.relevance_stage import Answer, Reading, readings, recalled, without_one, write
from bench.stage import reading, run
from foreword.budget import HOST_CAP
from foreword.scope import Scope

BUDGETS = (128, 512, 1024, 2048)

Recalls = dict[int, float]


def bench(product: Product) -> tuple[Outcome, ...]:
    """Evidence recall, what each ingredient is worth, and the first place on facts."""
    talks = [dialogues(half) for half in HALVES] + [unlabelled()]
    told = [notes(), naming(), *(facts(half) for half in HALVES)]
    scopes = {memory.name: write(product, memory) for memory in (*talks, *told)}
    return run(_bench(product, talks, told, scopes))


async def _bench(
    product: Product, talks: Sequence[Memory], told: Sequence[Memory], scopes: Mapping[str, Scope]
) -> tuple[Outcome, ...]:
    async with reading(product) as parts:
        return (
            await evidence(parts, talks, scopes),
            await _ingredients(parts, [*talks[:2], *told], scopes),
            await _first_places(parts, told, scopes),
        )


def of_conversations(product: Product, path: Path) -> Outcome:
    """Evidence recall over all questions of a file of LoCoMo's shape, each conversation in its own memory."""
    memories = locomo(path)
    scopes = {memory.name: write(product, memory) for memory in memories}
    return run(_of_conversations(product, memories, scopes))


async def _of_conversations(
    product: Product, memories: Sequence[Memory], scopes: Mapping[str, Scope]
) -> Outcome:
    found = dict[str, Recalls]()
    asked = sum(len(memory.questions) for memory in memories)
    async with reading(product) as parts:
        for memory in memories:
            weight = len(memory.questions) / asked
            for name, got in (await measure(parts, memory, scopes[memory.name])).items():
                so_far = found.setdefault(name, dict.fromkeys(BUDGETS, 0.0))
                found[name] = {budget: so_far[budget] + weight * got[budget] for budget in BUDGETS}
    return Outcome(
        name="relevance_dataset",
        title=f"Evidence within a budget: {len(memories)} conversations, {asked:,} questions",
        columns=("", *(f"{budget:,}" for budget in BUDGETS)),
        rows=[(name, *_cells(got)) for name, got in found.items()],
        remarks=["budgets in tokens of content (o200k_base); recall's hold its frame and rows too"],
        details={name: _json(got) for name, got in found.items()},
    )


async def evidence(parts: Parts, talks: Sequence[Memory], scopes: Mapping[str, Scope]) -> Outcome:
    """Evidence recall of every reading and of recall, by memory and budget."""
    rows, found = [], dict[str, Mapping[str, Recalls]]()
    for memory in talks:
        found[memory.name] = await measure(parts, memory, scopes[memory.name])
        rows += [(f"{memory.name}: {name}", *_cells(got)) for name, got in found[memory.name].items()]
    return Outcome(
        name="relevance",
        title="Evidence within a budget: the share of it that was kept",
        columns=("", *(f"{budget:,}" for budget in BUDGETS)),
        rows=rows,
        remarks=[
            "budgets in tokens of content (o200k_base); recall's hold its frame and rows too",
            "turns are short: 512 tokens here ask as much as 1,024 of a scope of longer turns",
        ],
        details={name: {way: _json(got) for way, got in ways.items()} for name, ways in found.items()},
    )


async def measure(parts: Parts, memory: Memory, scope: Scope) -> dict[str, Recalls]:
    """Evidence recall by reading and budget."""
    found: dict[str, Recalls] = {}
    for name, way in readings(parts).items():
        answers = [await way(scope, asked.question) for asked in memory.questions]
        found[name] = recalls(memory.questions, answers)
    for top in (HOST_CAP, 10):
        found[f"recall, at most {top:,}"] = {
            budget: fmean(
                [
                    _share(asked, await recalled(parts, scope, asked.question, budget=budget, top=top))
                    for asked in memory.questions
                ]
            )
            for budget in BUDGETS
        }
    return found


def recalls(questions: Sequence[Asked], answers: Sequence[Answer]) -> Recalls:
    """Evidence recall by budget, averaged over the questions."""
    return {
        budget: fmean(
            _share(asked, answer.within(budget)) for asked, answer in zip(questions, answers, strict=True)
        )
        for budget in BUDGETS
    }


async def _ingredients(parts: Parts, memories: Sequence[Memory], scopes: Mapping[str, Scope]) -> Outcome:
    whole = {"hybrid": readings(parts)["hybrid"]}
    ways = whole | {f"without {name}": way for name, way in without_one(parts).items()}
    rows = []
    for name, way in ways.items():
        values = [await _quality(way, memory, scopes[memory.name]) for memory in memories]
        rows.append((name, *(f"{value:.3f}" for value in values)))
    return Outcome(
        name="relevance_ingredients",
        title="One ingredient left out: evidence within 512 tokens of dialogues, R@1 of single facts",
        columns=("", *(memory.name for memory in memories)),
        rows=rows,
        remarks=["without similarity: what an absent embedder leaves"],
    )


async def _quality(way: Reading, memory: Memory, scope: Scope) -> float:
    answers = [await way(scope, asked.question) for asked in memory.questions]
    if memory.name.startswith("dialogues"):
        return recalls(memory.questions, answers)[512]
    return _first(memory.questions, answers)


async def _first_places(parts: Parts, told: Sequence[Memory], scopes: Mapping[str, Scope]) -> Outcome:
    ways = {name: way for name, way in readings(parts).items() if name != "recency"}
    rows, found = [], dict[tuple[str, str, str], float]()
    for memory in told:
        scope = scopes[memory.name]
        answered = {
            name: [await way(scope, asked.question) for asked in memory.questions]
            for name, way in ways.items()
        }
        for kind in dict.fromkeys(asked.type for asked in memory.questions):
            for name, answers in answered.items():
                pairs = [pair for pair in zip(memory.questions, answers, strict=True) if pair[0].type == kind]
                found[memory.name, kind, name] = _first(*zip(*pairs, strict=True))
            rows.append(
                (f"{memory.name}: {kind}", *(f"{found[memory.name, kind, name]:.3f}" for name in ways))
            )
    hybrid = {(memory, kind): value for (memory, kind, name), value in found.items() if name == "hybrid"}
    goals = (
        ("notes", "paraphrase", 0.65),
        ("notes", "superseded", 0.6),
        ("notes, newer naming older", "superseded", 0.9),
    )
    return Outcome(
        name="relevance_first",
        title="Single facts: how often the first entry is right (R@1)",
        columns=("", *ways),
        rows=rows,
        targets=[
            Target(
                claim=f"hybrid, {memory}: {kind}",
                value=hybrid[memory, kind],
                bound=goal,
                most=False,
                unit="",
            )
            for memory, kind, goal in goals
        ],
    )


def _first(questions: Sequence[Asked], answers: Sequence[Answer]) -> float:
    return fmean(
        bool(asked.evidence.intersection(answer.ids[:1]))
        for asked, answer in zip(questions, answers, strict=True)
    )


def _share(asked: Asked, kept: Sequence[str]) -> float:
    return len(asked.evidence.intersection(kept)) / len(asked.evidence)


def _cells(found: Recalls) -> tuple[str, ...]:
    return tuple(f"{found[budget]:.3f}" for budget in BUDGETS)


def _json(found: Recalls) -> dict[str, float]:
    return {str(budget): round(value, 4) for budget, value in found.items()}
