"""Counters: the units in which an entry's cost is stored and a budget is given.

A counter is looked up by its public name, and its ordinal is its place in every stored list of costs, so an
ordinal is never used twice. Adding a counter is one entry in ``COUNTERS`` and one ``foreword recount``.

The BPE counters stand on tiktoken and on the ranks shipped in ``foreword.ranks``. They count exactly or not
at all: nothing is downloaded and nothing falls back to an estimate.
"""

import base64
import gzip
import hashlib
import re
import threading
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from importlib import import_module
from importlib.resources import files
from types import FunctionType, MappingProxyType
from typing import Any, Final, Protocol

from foreword.errors import CounterUnavailable, ValidationError


class Counter(Protocol):
    """Counts text in one unit; special-token text is text, a lone surrogate counts as U+FFFD."""

    @property
    def name(self) -> str: ...

    @property
    def ordinal(self) -> int: ...

    def count(self, text: str) -> int: ...

    def count_batch(self, texts: Sequence[str]) -> list[int]: ...


@dataclass(frozen=True, kw_only=True)
class CounterSpec:
    """A counter's public name, its place in stored costs, and how its counting function is made."""

    name: str
    ordinal: int
    load: Callable[[], Callable[[str], int]]


@dataclass(frozen=True, kw_only=True)
class _Loaded:
    name: str
    ordinal: int
    measure: Callable[[str], int]

    def count(self, text: str) -> int:
        """The cost of ``text``."""
        return self.measure(text)

    def count_batch(self, texts: Sequence[str]) -> list[int]:
        """The costs of ``texts``, in order.

        In one thread: on texts of an entry's size tiktoken's own thread pool took three times as long.
        """
        return list(map(self.measure, texts))


def _quarter_of_code_points(text: str) -> int:
    return -(-len(text) // 4)


def _bpe(name: str) -> Callable[[], Callable[[str], int]]:
    def load() -> Callable[[str], int]:
        encode = _encoding(name).encode_ordinary

        def measure(text: str) -> int:
            if len(text) >= _LONGEST_BLANK and _longest_blank(text) >= _LONGEST_BLANK:
                raise CounterUnavailable(f"{name} cannot count {_LONGEST_BLANK} blanks in a row.")
            return len(encode(text))

        return measure

    return load


_LONGEST_BLANK: Final = 900_000
"""A run of blanks this long may exhaust the stack of tiktoken's regex engine, which panics, not raises."""


def _longest_blank(text: str) -> int:
    return max((run.end() - run.start() for run in re.finditer(r"\s+", text)), default=0)


COUNTERS: Final[Mapping[str, CounterSpec]] = MappingProxyType(
    {
        spec.name: spec
        for spec in (
            CounterSpec(name="o200k_base", ordinal=0, load=_bpe("o200k_base")),
            CounterSpec(name="cl100k_base", ordinal=1, load=_bpe("cl100k_base")),
            CounterSpec(name="chars", ordinal=2, load=lambda: len),
            CounterSpec(name="host-defined", ordinal=3, load=lambda: _quarter_of_code_points),
        )
    }
)
"""Every counter by name, in ordinal order."""

DEFAULT_COUNTER: Final = "o200k_base"

_loaded: dict[str, Counter] = {}
_loading = threading.Lock()


def counter_spec(name: str) -> CounterSpec:
    """The counter called ``name``, without loading it.

    Raises ValidationError, naming the counters there are, for any other name.
    """
    spec = COUNTERS.get(name) if isinstance(name, str) else None
    if spec is None:
        raise ValidationError.of("tokenCounter", f"must be one of {', '.join(COUNTERS)}")
    return spec


def counter(name: str) -> Counter:
    """The counter called ``name``, loaded once per process (a BPE counter takes about 0.3 s the first time).

    Raises ValidationError for an unknown name, CounterUnavailable where it could not count exactly: tiktoken
    is missing, or the ranks are not the ones tiktoken expects.
    """
    ready = _loaded.get(name) if isinstance(name, str) else None
    if ready is not None:
        return ready
    spec = counter_spec(name)
    with _loading:
        if name not in _loaded:
            _loaded[name] = _Loaded(name=name, ordinal=spec.ordinal, measure=spec.load())
        return _loaded[name]


def _encoding(name: str) -> Any:
    """tiktoken's encoding, built by tiktoken's own constructor from the ranks in this package.

    The constructor runs as a copy whose only global names are tiktoken's text constants and our reader in
    place of ``load_tiktoken_bpe``. So pattern, special tokens and expected hash stay tiktoken's, while
    nothing that could reach a cache folder or the network is in scope.
    """
    try:
        tiktoken, recipes = import_module("tiktoken"), import_module("tiktoken_ext.openai_public")
    except ImportError as missing:
        raise CounterUnavailable(
            f"The counter {name} needs tiktoken: pip install 'foreword[counters]'."
        ) from missing

    def read_ranks(_url: str, expected_hash: str | None = None) -> dict[bytes, int]:
        return _verified_ranks(name, expected_hash)

    recipe: FunctionType = recipes.ENCODING_CONSTRUCTORS[name]
    names = {key: value for key, value in vars(recipes).items() if isinstance(value, str)}
    try:
        parts = FunctionType(recipe.__code__, {**names, "load_tiktoken_bpe": read_ranks})()
    except NameError as changed:
        raise CounterUnavailable(
            f"This release of tiktoken builds {name} in a way not known here."
        ) from changed
    return tiktoken.Encoding(**parts)


def _verified_ranks(name: str, expected_hash: str | None) -> dict[bytes, int]:
    try:
        data = gzip.decompress(files("foreword.ranks").joinpath(f"{name}.tiktoken.gz").read_bytes())
    except (OSError, EOFError, ValueError) as unreadable:
        raise CounterUnavailable(f"The ranks of {name} cannot be read.") from unreadable
    if hashlib.sha256(data).hexdigest() != expected_hash:
        raise CounterUnavailable(f"The ranks of {name} are not the ones tiktoken expects.")
    pairs = (line.split() for line in data.splitlines() if line)
    return {base64.b64decode(token): int(rank) for token, rank in pairs}
