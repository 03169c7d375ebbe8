"""Any server that speaks OpenAI's ``/v1/embeddings``."""

import json
from collections.abc import Sequence

import httpx

from foreword.embedding import EmbeddingSpec, Vector, checked
from foreword.errors import EmbedderUnavailable

_LONGEST = 8000
"""Characters sent of one text: under the 8,191 tokens such models take, in any script."""

_NO_VECTORS = (
    *(httpx.HTTPError, httpx.InvalidURL, json.JSONDecodeError),
    *(KeyError, TypeError, ValueError, OverflowError, RecursionError),
)


class OpenAICompatible:
    """One HTTP call a batch. ``url`` is the base, up to and without ``/embeddings``."""

    def __init__(self, *, url: str, api_key: str, model: str, dimension: int, timeout: float) -> None:
        self.spec = EmbeddingSpec(model=model, dimension=dimension)
        headers = {"Authorization": f"Bearer {api_key}"} if api_key else {}
        self._url = url.rstrip("/") + "/embeddings"
        self._client = httpx.Client(headers=headers, timeout=timeout)

    def embed(self, texts: Sequence[str]) -> list[Vector]:
        """Unit vectors, in order."""
        body = {"model": self.spec.model, "input": [text[:_LONGEST] or " " for text in texts]}
        try:
            response = self._client.post(self._url, json=body)
            response.raise_for_status()
            rows = sorted(response.json()["data"], key=lambda row: row["index"])
            vectors = [[float(x) for x in row["embedding"]] for row in rows]
        except _NO_VECTORS as error:
            raise EmbedderUnavailable("The embedding server did not answer with vectors.") from error
        return checked(vectors, self.spec, len(texts))

    def is_cut(self, text: str) -> bool:
        """Whether only the beginning is sent."""
        return len(text) > _LONGEST
