"""Embedding: a text as a point, so that nearness of meaning can be measured.

Every stored vector says which model made it; vectors of different models are never compared.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from foreword.errors import EmbedderUnavailable

Vector = list[float]


@dataclass(frozen=True, kw_only=True)
class EmbeddingSpec:
    """What makes two vectors comparable. Vectors have unit length; ``distance`` is always ``cosine``."""

    model: str
    dimension: int
    distance: str = "cosine"


class Embedder(Protocol):
    """Makes unit vectors. Texts beyond the model's reach are cut at a fixed place, never refused.

    Raises EmbedderUnavailable when it cannot; never returns another model's vectors.
    """

    @property
    def spec(self) -> EmbeddingSpec: ...

    def embed(self, texts: Sequence[str]) -> list[Vector]: ...

    def is_cut(self, text: str) -> bool:
        """Whether the model sees only the beginning of this text."""
        ...


def checked(vectors: Sequence[Sequence[float]], spec: EmbeddingSpec, expected: int) -> list[Vector]:
    """Unit vectors from what a model answered; EmbedderUnavailable when they are not usable."""
    if len(vectors) != expected:
        raise EmbedderUnavailable("The embedder answered another number of vectors than it was asked for.")
    return [_unit(vector, spec) for vector in vectors]


def _unit(vector: Sequence[float], spec: EmbeddingSpec) -> Vector:
    if len(vector) != spec.dimension:
        raise EmbedderUnavailable(
            f"The embedder answered {len(vector)} dimensions; {spec.model} has {spec.dimension}."
        )
    length = math.sqrt(sum(x * x for x in vector))
    if not math.isfinite(length) or length == 0:
        raise EmbedderUnavailable("The embedder answered a vector that points nowhere.")
    return [x / length for x in vector]


def to_literal(vector: Sequence[float]) -> str:
    """A vector as pgvector reads it; what half precision cannot tell from 0 is written as 0."""
    return "[" + ",".join(f"{x:.6g}" if abs(x) > _LEAST else "0" for x in vector) + "]"


_LEAST = 2.0**-25
