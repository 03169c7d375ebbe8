"""What a host does now: meaning is claimed while the ledger says that its model serves, or last said so."""

import asyncio
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import pytest

from api_shim import serving
from api_shim.capabilities import Capabilities
from api_shim.serving import Serving
from foreword.errors import Unavailable

CONFIGURED = Capabilities(counter="chars", max_entry_bytes=1, model="m")


@dataclass
class Ledger:
    """Says what it is told to, or is away (None); counts how often it is asked."""

    says: bool | None
    asked: list[Mapping[str, object] | None] = field(default_factory=list)

    async def ask(self, _: str, params: Mapping[str, object] | None = None) -> list[dict[str, Any]]:
        """One row."""
        self.asked.append(params)
        if self.says is None:
            raise Unavailable
        return [{"serves": self.says}]


def claims(watched: Serving) -> bool:
    """Whether meaning is claimed now."""
    told = asyncio.run(watched.capabilities())
    assert ("search" in told.document()["memory"]) == told.semantic == ("search" in told.dimensions())
    return told.semantic


def test_the_ledger_decides(monkeypatch: pytest.MonkeyPatch) -> None:
    """Claimed once the model serves and no longer when it does not; a ledger that is away changes nothing."""
    monkeypatch.setattr(serving, "FRESH_SECONDS", -1.0)
    ledger = Ledger(None)
    watched = Serving(ledger, CONFIGURED)  # type: ignore[arg-type]
    heard = []
    for ledger.says in (None, False, True, None, False, None):
        heard.append(claims(watched))
    assert heard == [False, False, True, True, False, False]
    assert ledger.asked == [{"name": "m"}] * 6


def test_it_is_not_asked_each_time() -> None:
    """A document that anybody may fetch costs the ledger one question in a while."""
    ledger = Ledger(True)
    watched = Serving(ledger, CONFIGURED)  # type: ignore[arg-type]
    assert [claims(watched) for _ in range(50)] == [True] * 50
    assert len(ledger.asked) == 1


def test_without_an_embedder_nothing_is_asked() -> None:
    """Where nothing embeds there is nothing to ask."""
    ledger = Ledger(True)
    watched = Serving(ledger, Capabilities(counter="chars", max_entry_bytes=1))  # type: ignore[arg-type]
    assert not claims(watched)
    assert ledger.asked == []
