"""The word lists of lexicon.toml."""

from __future__ import annotations

import tomllib
from importlib.resources import files


def _lists() -> dict[str, tuple[str, ...]]:
    text = files("worker.steps.redaction").joinpath("lexicon.toml").read_text("utf-8")
    return {
        name: tuple(words.replace("\n", " ").split(", ") if "," in words else words.split())
        for name, words in tomllib.loads(text).items()
    }


LISTS = _lists()

PASSWORD, STRONG, WEAK = 3, 2, 1
RANKS: dict[str, int] = {
    **dict.fromkeys(LISTS["weak"], WEAK),
    **dict.fromkeys(LISTS["strong"], STRONG),
    **dict.fromkeys(LISTS["password"], PASSWORD),
}
