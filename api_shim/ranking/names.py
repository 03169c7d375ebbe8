"""Names: who speaks in an entry, and whom a question names.

The name of a speaker is matched as a field. It is taken out of the question's words, because in a
conversation of two it is in half of the entries and says nothing about what was said.
"""

import re
from collections import Counter
from collections.abc import Iterable
from typing import Final

_PREFIX: Final = re.compile(
    r"\s*(?P<name>[^\W\d_][\w.'’-]{0,31}(?: [^\W\d_][\w.'’-]{0,31}){0,2}) ?: (?P<body>\S.*)", re.DOTALL
)
_LABEL_WORDS: Final = """
action agenda answer attention caution caveat conclusion context correction date deadline decision definition
detail error example fact fix goal hint idea important info issue lesson link memo note outcome plan problem
ps question reason reminder result rule source status step subject summary task tip title todo topic update
warning
"""
_LABELS: Final = frozenset(_LABEL_WORDS.split())
_ROLES: Final = frozenset({"assistant", "system", "user"})


def spoken(content: str) -> tuple[str | None, str]:
    """The speaker and the body of ``Name: text``; (None, content) where no name stands in front.

    A name is one to three words that begin in upper case, or a role such as ``user``. Labels (``Note:``) are
    not names.
    """
    found = _PREFIX.match(content)
    if found is None or not _is_name(found["name"]):
        return None, content
    return found["name"], found["body"]


def named(question: str, speakers: Iterable[str]) -> frozenset[str]:
    """The speakers that the question names: in full, or by a word of the name that no other speaker has.

    Upper and lower case count (Will is not "will"), unless the question is typed without capitals.
    """
    typed = _words if question != question.lower() else _folded
    asked = set(typed(question))
    known = {speaker: set(typed(speaker)) for speaker in speakers}
    owners = Counter(word for words in known.values() for word in words)
    return frozenset(
        speaker
        for speaker, words in known.items()
        if words and (words <= asked or any(owners[word] == 1 and len(word) > 1 for word in words & asked))
    )


def without(question: str, speakers: Iterable[str]) -> str:
    """The question without the names of ``speakers`` and the ``'s`` that follows them."""
    names = sorted(
        {re.escape(word) for speaker in speakers for word in _words(speaker)}, key=len, reverse=True
    )
    if not names:
        return question
    return re.sub(rf"\b(?:{'|'.join(names)})(?:['’]s)?\b", " ", question, flags=re.IGNORECASE)


def _is_name(text: str) -> bool:
    words = text.split(" ")
    if text in _ROLES:
        return True
    return all(word[0].isupper() or not word[0].islower() for word in words) and (
        words[0].casefold() not in _LABELS and words[-1].casefold() not in _LABELS
    )


def _words(text: str) -> list[str]:
    return [word.removesuffix("'s") for word in re.findall(r"\w+(?:'\w+)?", text.replace("’", "'"))]


def _folded(text: str) -> list[str]:
    return _words(text.casefold())
