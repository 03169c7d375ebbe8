"""What a memory must show: the model that freshness is held to."""

from dataclasses import dataclass, field

from foreword.scope import Scope
from tests.integration.stepwise import Drain


@dataclass
class Memo:
    """What the model knows of one accepted Draft."""

    id: str
    expires_at: int | None
    supersedes: tuple[str, ...]
    state: str = "waiting"
    by: Drain | None = None


@dataclass
class Memory:
    """The model of one scope."""

    scope: Scope
    memos: dict[str, Memo] = field(default_factory=dict)
    replaced: set[str] = field(default_factory=set)
    accepted: list[str] = field(default_factory=list)

    def file(self, memo: Memo) -> None:
        memo.state, memo.by = "filed", None
        self.replaced |= set(memo.supersedes) - {memo.id}

    def visible(self, now: int) -> list[str]:
        """Ids that a read must show, newest first; order is the accept order."""
        return [
            id_
            for id_ in reversed(self.accepted)
            if self.memos[id_].state == "filed"
            and id_ not in self.replaced
            and ((until := self.memos[id_].expires_at) is None or until > now)
        ]
