"""Asked: the JSON body of a search or a recall, every bad field named at once."""

import math
import re
from collections.abc import Collection, Mapping, Sequence
from typing import Any, Final, TypeVar

from api_shim.filters import Filter, compile_filter
from api_shim.session import read_session
from foreword.budget import HOST_CAP, MAX_BUDGET
from foreword.errors import Field, ValidationError

T = TypeVar("T")

MOST_QUESTION: Final = 1_000_000
MOST_REFS: Final = 16
MOST_EXCLUDED: Final = 1000
MOST_TOKEN: Final = 32_768

_TELLABLE = re.compile(r"[A-Za-z_]{1,32}")
_UNSTORABLE = re.compile(r"[\x00\ud800-\udfff]")
_ABSENT: Final = object()


class Asked:
    """Values by name. Nothing is refused before ``close``; JSON null is refused like any wrong type."""

    def __init__(self, body: object, known: Collection[str]) -> None:
        self.bad: list[Field] = []
        if not isinstance(body, dict):
            raise ValidationError.of("body", "must be a JSON object")
        self.body: Mapping[str, Any] = body
        for name in body:
            if name not in known:
                self.refuse(
                    name if _TELLABLE.fullmatch(name) else "(unnamed)", "is not an option of this call"
                )

    def refuse(self, name: str, reason: str) -> None:
        """One more bad field."""
        self.bad.append(Field(name, reason))

    def close(self) -> None:
        """ValidationError if anything was refused."""
        if self.bad:
            raise ValidationError(list(dict.fromkeys(self.bad))[:100])

    def refs(self, *, many: bool) -> list[str]:
        """``memoryRef``, or with ``many`` a list of them; of any shape, since a malformed one is empty."""
        value = self.body.get("memoryRef", _ABSENT)
        given = value if many and isinstance(value, list) else [value]
        if not all(isinstance(ref, str) for ref in given) or not 1 <= len(given) <= MOST_REFS:
            wanted = f"a string or a list of 1 to {MOST_REFS} strings" if many else "a string"
            self.refuse("memoryRef", f"must be {wanted}")
            return [""]
        return list(dict.fromkeys(given))

    def question(self, *, required: bool) -> str:
        """``query``: text of any length up to a million characters."""
        value = self.body.get("query", _ABSENT)
        if value is _ABSENT and not required:
            return ""
        if not isinstance(value, str) or not 1 <= len(value) <= MOST_QUESTION or not value.strip():
            self.refuse(
                "query", f"must be a string of 1 to {MOST_QUESTION} characters that are not all blank"
            )
            return ""
        if _UNSTORABLE.search(value):
            self.refuse("query", "must not hold U+0000 or a lone surrogate")
        return value

    def integer(self, name: str, default: T, *, most: int = MAX_BUDGET) -> int | T:
        """An integer from 1 to ``most``."""
        value = self.body.get(name, _ABSENT)
        if value is _ABSENT:
            return default
        if type(value) is not int or not 1 <= value <= most:
            self.refuse(name, f"must be an integer from 1 to {'2^53 - 1' if most == MAX_BUDGET else most}")
            return default
        return value

    def top(self, default: int) -> int:
        """``topK``: at most a page."""
        return min(self.integer("topK", default), HOST_CAP)

    def floor(self, default: float) -> float:
        """``minSimilarity``, a raw cosine."""
        value = self.body.get("minSimilarity", _ABSENT)
        if value is _ABSENT:
            return default
        if isinstance(value, bool) or not isinstance(value, int | float) or not -1 <= value <= 1:
            self.refuse("minSimilarity", "must be a number from -1 to 1")
            return default
        return float(value) if math.isfinite(value) else default

    def choice(self, name: str, known: Sequence[str], default: T) -> str | T:
        """One of the known names."""
        value = self.body.get(name, _ABSENT)
        if value is _ABSENT:
            return default
        if value not in known:
            self.refuse(name, "must be one of " + ", ".join(known))
            return default
        return str(value)

    def ids(self, name: str) -> frozenset[str]:
        """A list of entry ids."""
        value = self.body.get(name, [])
        if not isinstance(value, list) or len(value) > MOST_EXCLUDED or not all(_is_id(v) for v in value):
            self.refuse(name, f"must be a list of at most {MOST_EXCLUDED} ids")
            return frozenset()
        return frozenset(value)

    def session(self) -> tuple[str, ...]:
        """``session``: what the token of an earlier recall says was sent; null is none."""
        value = self.body.get("session")
        if value is None:
            return ()
        if not isinstance(value, str) or len(value) > MOST_TOKEN:
            self.refuse("session", "must be a token of this server")
            return ()
        try:
            return read_session(value)
        except ValidationError as error:
            self.bad += error.fields
            return ()

    def shares(self, refs: Sequence[str]) -> Mapping[str, float]:
        """``shares``: fractions of the budget by ref, each 0..1 and together at most 1."""
        value = self.body.get("shares", {})
        known = isinstance(value, dict) and set(value) <= set(refs)
        numbers = list(value.values()) if isinstance(value, dict) else []
        if not known or not all(_is_share(n) for n in numbers) or sum(numbers) > 1.000001:
            self.refuse("shares", "must give memoryRefs of this call fractions that sum to at most 1")
            return {}
        return {ref: float(share) for ref, share in value.items()}

    def filter(self) -> Filter:
        """``filter``, compiled."""
        value = self.body.get("filter", _ABSENT)
        if value is _ABSENT:
            return Filter()
        if not isinstance(value, dict):
            self.refuse("filter", "must be an object with at least one condition")
            return Filter()
        try:
            return compile_filter(value)
        except ValidationError as error:
            self.bad += error.fields
            return Filter()


def _is_share(value: object) -> bool:
    return not isinstance(value, bool) and isinstance(value, int | float) and 0 <= value <= 1


def _is_id(value: object) -> bool:
    return isinstance(value, str) and 1 <= len(value) <= 128
