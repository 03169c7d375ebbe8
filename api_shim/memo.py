"""Memo: answers that were computed already, for as long as the head they were computed behind is there.

Every read still asks the hot view for the head of its scope. A head names one version of the scope, and is
unlinked before any commit that changes what a read may see: a write, a removal, a successor, a sweep, a
recount. So while the same bytes come from the same run of the server, the scope is as it was, for what the
head holds, for the window and for the ledger behind it. What time alone changes is bounded by the span of
instants in which the same entries live.

An answer may be kept only if its head was seen before the answer was computed: whatever commits in between
has unlinked that head for good, so that an answer newer than its head is never found again.
"""

from collections import OrderedDict
from collections.abc import Hashable
from dataclasses import dataclass, field

from api_shim.answer import Answer
from api_shim.sources.hot import Sight
from foreword.scope import Scope

_OVERHEAD = 1024
"""Bytes an answer takes besides its body."""


@dataclass(frozen=True, slots=True)
class _Kept:
    answer: Answer
    span: range


@dataclass(slots=True)
class _Known:
    """What is kept of one scope, oldest answer first."""

    sight: Sight
    answers: dict[Hashable, _Kept] = field(default_factory=dict)


class Memo:
    """At most ``most`` bytes of answers and heads, of the scopes read last; 0 keeps none."""

    def __init__(self, most: int) -> None:
        self._most = most
        self._scopes: OrderedDict[Scope, _Known] = OrderedDict()
        self.size = 0

    def recall(self, scope: Scope, question: Hashable, sight: Sight, now: int) -> Answer | None:
        """The answer to this question at ``now`` (ms), if it was given behind this very head."""
        known = self._scopes.get(scope)
        if known is None or known.sight != sight:
            return None
        kept = known.answers.get(question)
        if kept is None or not kept.span.start <= now < kept.span.stop:
            return None
        self._scopes.move_to_end(scope)
        return kept.answer

    def keep(self, scope: Scope, question: Hashable, sight: Sight, span: range, answer: Answer) -> None:
        """Keeps an answer that was computed after ``sight``, for the instants (ms) in ``span``, if any."""
        if len(sight.raw) + _size(answer) > self._most or not span:
            return
        known = self._scopes.get(scope)
        if known is None or known.sight != sight:
            self._drop(scope)
            known = self._scopes[scope] = _Known(sight)
            self.size += len(sight.raw)
        previous = known.answers.pop(question, None)
        if previous is not None:
            self.size -= _size(previous.answer)
        known.answers[question] = _Kept(answer, span)
        self.size += _size(answer)
        self._scopes.move_to_end(scope)
        self._shrink()

    def _drop(self, scope: Scope) -> None:
        known = self._scopes.pop(scope, None)
        if known is not None:
            self.size -= len(known.sight.raw) + sum(_size(kept.answer) for kept in known.answers.values())

    def _shrink(self) -> None:
        """Lets go of the scope read longest ago; of the last one, of its oldest answers."""
        while self.size > self._most:
            scope, known = next(iter(self._scopes.items()))
            if len(self._scopes) > 1:
                self._drop(scope)
            else:
                self.size -= _size(known.answers.pop(next(iter(known.answers))).answer)


def _size(answer: Answer) -> int:
    return len(answer.body) + _OVERHEAD
