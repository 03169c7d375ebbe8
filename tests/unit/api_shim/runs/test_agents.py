"""An agent is degraded exactly where this host lacks what its memory needs (OpenWOP RFC 0080)."""

import itertools

import pytest

from api_shim.capabilities import DIMENSIONS, Capabilities
from api_shim.runs.agents import AGENTS, NEEDS, Agent, inventory

SHAPES = [shape for n in range(4) for shape in itertools.combinations(NEEDS, n)]
HOSTS = [
    frozenset(DIMENSIONS) - frozenset(lost)
    for n in range(3)
    for lost in itertools.combinations(DIMENSIONS, n)
]


def test_a_need_is_a_dimension() -> None:
    """Every part of a memory shape needs dimensions that there are."""
    assert {need for needs in NEEDS.values() for need in needs} <= set(DIMENSIONS)


@pytest.mark.parametrize("shape", SHAPES, ids="-".join)
def test_degraded_if_and_only_if_something_lacks(shape: tuple[str, ...]) -> None:
    """Both fields stand on an agent that lacks a dimension, name each once, and on no other agent."""
    agent = Agent(id="core.a.b", persona="p", label="l", description="d", shape=shape)
    for has in HOSTS:
        (told,) = inventory([agent], has)["agents"]
        lacking = {need for part in shape for need in NEEDS[part]} - has
        assert told.get("memoryDegraded", False) == bool(lacking)
        assert set(told.get("degradedMemoryDimensions", [])) == lacking
        assert ("degradedMemoryDimensions" in told) == bool(lacking)
        assert len(told.get("degradedMemoryDimensions", [])) == len(lacking)
        assert told["memoryShape"] == {part: part in shape for part in NEEDS}


def test_ours_is_whole() -> None:
    """Our agents lack nothing on a host with runs, with an embedder or without."""
    for model in ("m", None):
        host = Capabilities(counter="chars", max_entry_bytes=1, model=model, runs=True)
        told = inventory(AGENTS, host.dimensions())
        assert told["total"] == len(told["agents"]) == len(AGENTS) > 0
        assert all("memoryDegraded" not in agent for agent in told["agents"])


def test_the_order_is_by_id() -> None:
    """The inventory is in the order of ids, whoever comes first."""
    agents = [Agent(id=f"core.a.{n}", persona="p", label="l", description="d", shape=()) for n in "bca"]
    assert [agent["agentId"] for agent in inventory(agents, ())["agents"]] == [
        "core.a.a",
        "core.a.b",
        "core.a.c",
    ]
