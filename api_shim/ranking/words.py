"""Words: a text as tokens, and the content words that say what it speaks of.

English stop words and a light stemmer; other scripts pass as they are. The ledger's full text does the
searching: these words only compare a handful of entries with each other.
"""

import re
import unicodedata
from typing import Final

_TOKEN: Final = re.compile(
    r"(?:(?<![\w)])[-+])?\d+(?:[.,:/]\d+)*%?(?!\w)|\w+(?:'\w+)*|[^\s\w.,;!\"'()\[\]*_`~-]", re.UNICODE
)
_FOLD: Final = str.maketrans("’‘“”–—‒−", "''\"\"----")

_NEGATION_WORDS: Final = """
barely can't cannot except hardly longer neither never no nobody none nor not nothing only rarely seldom stop
stopped unless until without
"""
_NUMBER_WORDS: Final = """
one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen seventeen
eighteen nineteen twenty thirty forty fifty sixty seventy eighty ninety hundred thousand million half double
twice once first second third
"""
_STOP_WORDS: Final = """
a about above after again all also am an and any are as at be because been before being below between both but
by can could did do does doing down during each few for from further had has have having he her here hers him
his how i if in into is it its just may me might more most must my of off on or other our out over own please
same shall she should so some such than that the their them then there these they this those through to too
under up us very was we were what when where which while who whom whose why will with would you your yours
"""
NEGATIONS: Final = frozenset(_NEGATION_WORDS.split())
NUMBERS: Final = frozenset(_NUMBER_WORDS.split())
STOP: Final = frozenset(_STOP_WORDS.split())


def tokens(text: str) -> list[str]:
    """Lower-case words, numbers with sign and unit, and symbols; quotes, commas and full stops go."""
    plain = unicodedata.normalize("NFKC", text).translate(_FOLD).casefold()
    words: list[str] = _TOKEN.findall(plain)
    if "n't" not in plain:
        return words
    found: list[str] = []
    for word in words:
        found += [word.removesuffix("n't"), "not"] if _is_contracted(word) else [word]
    return found


def content_words(text: str) -> frozenset[str]:
    """The stems of the words that carry meaning."""
    return frozenset(
        stem(word)
        for token in tokens(text)
        if (word := token.removesuffix("'s")) not in STOP and word[0].isalnum()
    )


def names(text: str) -> frozenset[str]:
    """The stems of what is written like a name or is a number: what cannot be said in another way."""
    words = re.findall(r"\w+", text.translate(_FOLD))
    return frozenset(
        stem(word.casefold())
        for word in words
        if (word[0].isupper() or word[0].isdigit()) and word.casefold() not in STOP and len(word) > 1
    )


def stem(word: str) -> str:
    """The word without the commonest English endings; the same for most forms of one word."""
    if len(word) < 4 or not word.isascii() or not word.isalpha():
        return word
    for ending in ("ies", "ing", "ed", "es", "s"):
        if word.endswith(ending) and not word.endswith("ss") and len(word) - len(ending) >= 3:
            word = word[: -len(ending)] + ("y" if ending == "ies" else "")
            break
    if len(word) > 3 and word[-1] == word[-2] and word[-1] not in "aeiousl":
        word = word[:-1]
    return word.removesuffix("e")


def _is_contracted(word: str) -> bool:
    return word.endswith("n't") and word not in NEGATIONS
