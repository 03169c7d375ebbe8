"""Costs of redacted text in every advertised counter: of the content, and of the row it is rendered as."""

from collections.abc import Sequence

from foreword.counters import COUNTERS, counter


def count(texts: Sequence[str]) -> list[tuple[int, ...]]:
    """One batch per counter; costs of each text by counter ordinal."""
    columns = [counter(name).count_batch(texts) for name in COUNTERS]
    return list(zip(*columns, strict=True))
