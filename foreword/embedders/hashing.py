"""An embedder for tests: words hashed to coordinates. Knows no meaning, needs nothing, always the same."""

import hashlib
import re
from collections.abc import Sequence

from foreword.embedding import EmbeddingSpec, Vector, checked

_DIMENSION = 64


class Hashing:
    """Bag of words, signed feature hashing."""

    spec = EmbeddingSpec(model="hashing-64", dimension=_DIMENSION)

    def embed(self, texts: Sequence[str]) -> list[Vector]:
        """Unit vectors; a text without words points along the first axis."""
        return checked([self._one(text) for text in texts], self.spec, len(texts))

    def is_cut(self, text: str) -> bool:  # noqa: ARG002 - the seam's signature
        """Never: it reads everything."""
        return False

    def _one(self, text: str) -> Vector:
        vector = [0.0] * _DIMENSION
        for word in re.findall(r"\w+", text.lower()):
            digest = hashlib.blake2b(word.encode(errors="replace"), digest_size=3).digest()
            vector[digest[0] % _DIMENSION] += 1.0 if digest[1] & 1 else -1.0
        if not any(vector):
            vector[0] = 1.0
        return vector
