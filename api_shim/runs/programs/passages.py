"""Passages: text of a wanted size about a subject, made where no tokenizer is at hand.

Sizes are estimates (the shim counts nothing); whoever needs them exact reads the stored costs.
"""

from collections.abc import Mapping, Sequence
from itertools import cycle
from typing import Final

GARDEN: Final = (
    "The tomatoes in the garden want water every morning.",
    "Plant the roses in the sun, and the ferns in the shade.",
    "The soil under the apple tree is dry, so dig it and feed it.",
    "Cut the hedge in spring, before the birds build their nests.",
)
TRAINS: Final = (
    "The night train to the north leaves from the second platform.",
    "Change at the junction, where the fast train stops for a minute.",
    "The railway bridge is closed, so the line ends at the old station.",
    "Seats in the last carriage are cheap when the ticket is bought early.",
)
TAXES: Final = (
    "The tax return of the company is due at the end of March.",
    "Keep every invoice for ten years, and the receipts with them.",
    "The accountant asks for the bank statements of the first quarter.",
    "Value added tax is paid each month, and wages are booked before it.",
)

_PER_WORD: Final[Mapping[str, float]] = {
    "o200k_base": 1.16,
    "cl100k_base": 1.16,
    "chars": 5.45,
    "host-defined": 1.37,
}
"""What a word of these passages costs, its share of blanks and stops included."""


def passage(sentences: Sequence[str], counter: str, cost: float) -> str:
    """About ``cost`` worth of these sentences, over and over, and at least one word."""
    words = (word for sentence in cycle(sentences) for word in sentence.split())
    wanted = max(1, round(cost / _PER_WORD.get(counter, 1.0)))
    return " ".join(next(words) for _ in range(wanted))
