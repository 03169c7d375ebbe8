"""What a host says of itself follows from what it has."""

import itertools
import json

import pytest

from api_shim.capabilities import DIMENSIONS, Capabilities
from api_shim.doors.routes import ROUTES, RUNS, SEAMS, mounted
from foreword.counters import COUNTERS

FLAGS = list(itertools.product((None, "m"), (False, True), (False, True)))


def host(model: str | None = "m", runs: bool = False, seams: bool = False) -> Capabilities:
    """A host with these parts."""
    return Capabilities(
        counter="chars",
        max_entry_bytes=7,
        model=model,
        runs=runs,
        seams=seams,
        fixtures=("conformance-noop",),
    )


@pytest.mark.parametrize(("model", "runs", "seams"), FLAGS)
def test_the_mirror_is_the_same(model: str | None, runs: bool, seams: bool) -> None:
    """Every family stands at the root and identically under capabilities (RFC 0073)."""
    told = json.loads(json.dumps(host(model, runs, seams).document()))
    assert told["capabilities"] == {name: told[name] for name in ("memory", "agents")}


@pytest.mark.parametrize(("model", "runs", "seams"), FLAGS)
def test_dimensions_say_what_the_document_says(model: str | None, runs: bool, seams: bool) -> None:
    """A dimension is there exactly where its flag is, in the order of the enumeration (RFC 0080)."""
    told = host(model, runs, seams)
    memory, agents = (told.document()[name] for name in ("memory", "agents"))
    flags = {
        "read": memory["supported"],
        "write": memory["supported"] and memory.get("writable", True),
        "search": "search" in memory,
        "long-term-durability": "long-term" in agents["memoryBackends"],
        "compaction": "compaction" in memory,
        "attribution": "attribution" in memory,
        "replay-snapshot": False,
        "retention": "retention" in memory,
    }
    assert list(flags) == list(DIMENSIONS)
    assert told.dimensions() == tuple(name for name, has in flags.items() if has)


@pytest.mark.parametrize(("model", "runs", "seams"), FLAGS)
def test_nothing_is_named_that_is_off(model: str | None, runs: bool, seams: bool) -> None:
    """Without a part, its capability is absent rather than false, and its routes are not mounted."""
    told = host(model, runs, seams)
    document = told.document()
    memory, agents = document["memory"], document["agents"]
    assert ("search" in memory) == told.semantic == (model is not None)
    assert ("attribution" in memory) == ("manifestRuntime" in agents) == runs
    assert document["fixtures"] == (["conformance-noop"] if runs else [])
    assert not {"compaction", "distillation"} & memory.keys()
    assert not {"memoryConsolidation", "commitments"} & agents.keys()
    assert "multiAgent" not in document
    assert mounted(told) == (*ROUTES, *(RUNS if runs else ()), *(SEAMS if seams else ()))


@pytest.mark.parametrize("counter", COUNTERS)
def test_the_counter_is_named(counter: str) -> None:
    """The injection budget names the counter a read is counted in when it names none (RFC 0113)."""
    told = Capabilities(counter=counter, max_entry_bytes=1).document()
    assert told["memory"]["injectionBudget"] == {"supported": True, "tokenCounter": counter}
