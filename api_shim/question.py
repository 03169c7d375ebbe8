"""The question of a search, and its vector: made once, remembered, and made in time or not at all."""

import asyncio
from collections import OrderedDict
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Final

from foreword.embedding import Embedder, Vector, to_literal
from foreword.errors import EmbedderUnavailable

MOST_CHARS: Final = 8_000
"""Characters of a question that are looked at; the end of it is kept, where a turn says what it wants."""

_THREADS: Final = 4


@dataclass(frozen=True, slots=True)
class Question:
    """A question as it is searched. ``vector`` is pgvector's literal, None without an embedder in time."""

    text: str
    vector: str | None
    is_cut: bool


class Questions:
    """Embeds questions in threads of its own, ``most`` of them remembered; ``patience`` in seconds.

    An embedder that hangs holds these threads and nobody else's.
    """

    def __init__(self, embedder: Embedder | None, *, most: int = 4096, patience: float = 3.0) -> None:
        self._embedder = embedder
        self._known: OrderedDict[str, Question] = OrderedDict()
        self._most = most
        self._patience = patience
        self._threads = ThreadPoolExecutor(_THREADS, thread_name_prefix="question")

    @property
    def model(self) -> str | None:
        """The model whose vectors a question can be compared with."""
        return None if self._embedder is None else self._embedder.spec.model

    @property
    def dimension(self) -> int:
        """Dimensions of that model."""
        return 0 if self._embedder is None else self._embedder.spec.dimension

    async def read(self, text: str, *, dense: bool = True) -> Question:
        """The question, shortened where it is too long; without a vector when ``dense`` is not wanted."""
        kept = text[-MOST_CHARS:]
        if not dense:
            return Question(kept, None, len(text) > MOST_CHARS)
        known = self._known.get(kept)
        if known is not None:
            self._known.move_to_end(kept)
            return known if len(kept) == len(text) else Question(kept, known.vector, True)
        try:
            async with asyncio.timeout(self._patience):
                question = await asyncio.get_running_loop().run_in_executor(self._threads, self._make, kept)
        except (EmbedderUnavailable, TimeoutError):
            return Question(kept, None, len(text) > MOST_CHARS)
        self._known[kept] = question
        if len(self._known) > self._most:
            self._known.popitem(last=False)
        return question if len(kept) == len(text) else Question(kept, question.vector, True)

    def _make(self, text: str) -> Question:
        if self._embedder is None:
            raise EmbedderUnavailable
        vectors: list[Vector] = self._embedder.embed([text])
        return Question(text, to_literal(vectors[0]), self._embedder.is_cut(text))
