"""Rows: how an entry, a heading and the advisory look inside a prompt.

A row starts with ``- [``, ends with its only line break, and is counted as it stands. Because no row starts
with a blank or a slash, tokens never span two rows in the BPE counters: a block costs exactly the sum of its
rows, and a reader that adds stored integers knows the exact size of what it sends.

Stored text comes from anyone. Inside a row it can end no line, so it can start no heading, fence, quote or
row of its own; what a reader would not see is spelled out; and what would pass for the frame around it is
broken. Ordinary prose, code and every script are left as they are.
"""

import hashlib
import re
from collections.abc import Mapping
from types import MappingProxyType
from typing import Final

from foreword.draft import DEFAULT_KIND
from foreword.errors import Field, ValidationError

RENDER_VERSION: Final = 1
"""Goes up with every change to the bytes of a row: stored row costs hold for one version only."""

ROW_MARKER: Final = "- ["
"""What every row of an entry and the advisory start with, and nothing else does."""


def render_row(
    *, kind: str, id: str, content: str, observed: str | None = None, confidence: float | None = None
) -> str:
    """One entry as one line: ``- [kind-shortid] text (Observed YYYY-MM-DD, Conf: 0.95)`` and a line break.

    Decoration is paid from the budget on every row, so what says nothing is left out: a confidence of 1, a
    date nobody gave, the brackets when both are missing, the short id of an entry without an id. A kind that
    is no plain word shows as the default kind. Raises ValidationError for an ``observed`` that is not
    ``YYYY-MM-DD`` or a confidence outside 0..1.
    """
    day, sure = decoration(observed, confidence)
    notes = [f"Observed {day}"] if day is not None else []
    if sure is not None:
        notes.append(f"Conf: {sure}")
    parts = [f"{ROW_MARKER}{row_label(kind, id)}]", harmless(content)]
    if notes:
        parts.append(f"({', '.join(notes)})")
    return " ".join(filter(None, parts)) + "\n"


def row_label(kind: str, id: str) -> str:
    """``kind-shortid``, in small letters, a hyphen and digits whatever the kind and the id hold."""
    label = kind if _PLAIN_KIND.fullmatch(kind) else DEFAULT_KIND
    return f"{label}-{short_id(id)}" if id else label


def decoration(observed: str | None, confidence: float | None) -> tuple[str | None, str | None]:
    """Day and confidence as a row shows them, None for what says nothing; ValidationError for bad ones."""
    _check(observed, confidence)
    sure = None if confidence is None else f"{confidence:.2f}"
    return observed, None if sure == "1.00" else sure


def short_id(id: str) -> str:
    """Six decimal digits that stand for an id inside a prompt; always the same ones.

    Three digits are one token in both BPE counters, so six cost two and make a million values; four
    hexadecimal digits cost more and make 65,536.
    """
    digest = hashlib.blake2b(id.encode(errors="replace"), digest_size=8).digest()
    return f"{int.from_bytes(digest) % 10**6:06d}"


def harmless(text: str) -> str:
    r"""``text`` on one line, with nothing in it that hides or that passes for what surrounds it.

    Blanks around it go. A line break of any kind becomes ``\n``; control and bidi characters, stray
    zero-width ones, variation selectors and tags become ``\x1b``, ``\u202e``, ``\U000e0041`` (joiners inside
    a script or an emoji stay); ``<`` before a name used for frames becomes ``&lt;``; an imitated row label or
    decoration gets a backslash.
    """
    line = _LINE_BREAK.sub(r"\\n", text.strip())
    if not line.isascii() or not line.isprintable():
        line = _HIDDEN.sub(_spell_out, line)
    line = _FRAMES.sub("&lt;", line)
    return _DECORATION.sub(r"\\\g<0>", line)


def advisory_row(omitted: int) -> str:
    """The row that says how many entries were left out; its cost is :func:`advisory_cost`."""
    return f"{ROW_MARKER}+{omitted} omitted] Did not fit here; recall finds more.\n"


def advisory_cost(counter: str, omitted: int) -> int:
    """What :func:`advisory_row` costs, without a tokenizer: it depends on the number of digits alone."""
    return ADVISORY_COSTS[counter][len(str(omitted))]


def _advisory_costs() -> Mapping[str, tuple[int, ...]]:
    digits = range(17)
    length = len(advisory_row(0)) - 1
    bpe = tuple(13 + -(-n // 3) for n in digits)
    chars = tuple(length + n for n in digits)
    quarters = tuple(-(-n // 4) for n in chars)
    return MappingProxyType({"o200k_base": bpe, "cl100k_base": bpe, "chars": chars, "host-defined": quarters})


ADVISORY_COSTS: Final = _advisory_costs()
"""Costs of the advisory row by counter, then by number of digits (1 to 16)."""

HEADINGS: Final[Mapping[str, str]] = MappingProxyType(
    {
        "recall": "## Working hypotheses from memory\n",
        "identity": "## Identity\n",
        "continuity": "## Continuity and axioms\n",
        "salient": "## Salient memories\n",
    }
)
"""Heading rows by section. They hold no caller's text."""

HEADING_COSTS: Final[Mapping[str, Mapping[str, int]]] = MappingProxyType(
    {
        "o200k_base": {"recall": 6, "identity": 3, "continuity": 7, "salient": 5},
        "cl100k_base": {"recall": 6, "identity": 3, "continuity": 7, "salient": 5},
        "chars": {name: len(row) for name, row in HEADINGS.items()},
        "host-defined": {name: -(-len(row) // 4) for name, row in HEADINGS.items()},
    }
)
"""Costs of the heading rows by counter, then by section."""


def _check(observed: str | None, confidence: float | None) -> None:
    bad = []
    if observed is not None and _DATE.fullmatch(observed) is None:
        bad.append(Field("observed", "must be a date, YYYY-MM-DD"))
    if confidence is not None and not 0 <= confidence <= 1:
        bad.append(Field("confidence", "must be from 0 to 1"))
    if bad:
        raise ValidationError(bad)


def _spell_out(found: re.Match[str]) -> str:
    if found.lastgroup == "kept":
        return found[0]
    point = ord(found[0])
    return f"\\x{point:02x}" if point < 0x100 else f"\\u{point:04x}" if point < 0x10000 else f"\\U{point:08x}"


_PLAIN_KIND = re.compile(r"[a-z]{1,16}")
_DATE = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}")
_LINE_BREAK = re.compile("\r\n|[\n\r\x0b\x0c\x85\u2028\u2029]")

# Characters that show nothing or move what is around them. Fixed here, not asked of ``unicodedata``, whose
# tables change with the interpreter: the same entry is the same bytes everywhere.
BLIND = (
    "\x00-\x08\x0a-\x1f\x7f-\x9f\xad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b-\u200f\u2028-\u202e"
    "\u2060-\u206f\u3164\ufe00-\ufe0f\ufeff\uffa0\ufff9-\ufffb\ud800-\udfff\U0001d173-\U0001d17a\U000e0000-\U000e0fff"
)
BLIND_BUT_EMOJI_STYLE = BLIND.replace("\ufe00-\ufe0f", "\ufe00-\ufe0e")
_UNSPACED = "\u0e00-\u109f\u1780-\u17ff"
_VIRAMA = "\u094d\u09cd\u0a4d\u0acd\u0b4d\u0bcd\u0c4d\u0ccd\u0d4d\u0dca"
_IDEOGRAPH = "\u2e80-\u9fff\uf900-\ufaff\U00020000-\U0003ffff"
KEPT = "|".join(
    (
        # a flag of England, Scotland, Wales: a black flag spelled on with tags
        "\U0001f3f4[\U000e0030-\U000e0039\U000e0061-\U000e007a]{1,6}\U000e007f",
        # joiners inside an emoji or a script that needs them, and after a virama wherever it stands
        f"(?<=[\u0600-\U0010ffff])(?<![{BLIND_BUT_EMOJI_STYLE}])[\u180e\u200c\u200d](?=[\u0600-\U0010ffff])(?![{BLIND}])",
        f"(?<=[{_VIRAMA}])[\u200c\u200d](?![{BLIND}])",
        # word breaks of scripts written without spaces
        f"(?<=[{_UNSPACED}])\u200b(?=[{_UNSPACED}])",
        # one variation selector on a sign that has variants
        f"(?<=[#*0-9\xa9\xae\u1000-\U0010ffff])(?<![{BLIND}])[\u180b-\u180d\u180f\ufe00-\ufe0f]",
        f"(?<=[{_IDEOGRAPH}])[\U000e0100-\U000e01ef]",
    )
)
_HIDDEN = re.compile(f"(?P<kept>{KEPT})|[{BLIND}]")
FRAME = (
    r"[<\uff1c\ufe64](?=\||\s*+(?:/\s*+)?(?:(?i:memor(?:y|ies)|foreword|system)"
    r"|(?:assistant|context|human|instructions?|tool|user|wake|recall)\b))"
)
_FRAMES = re.compile(FRAME)
_DECORATION = re.compile(r"(?i:\((?=observed\s+\d|conf:))|(?<=- )\[(?=[a-z]{1,16}-\d{6}\]|\+\d+ )")
