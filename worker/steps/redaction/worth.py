"""Is a value beside a telling word worth hiding?"""

from __future__ import annotations

from worker.steps.redaction.lexicon import PASSWORD, STRONG
from worker.steps.redaction.plausible import (
    is_gibberish,
    is_hex,
    is_identifier_of_things,
    is_passwordlike,
    is_placeholder,
    is_random,
)
from worker.steps.redaction.rule import compiled

_PLAIN = compiled(r"^[\w+/=-]+$")
_JUDGED = 256
_MASK = b"\x81"


def is_secret(value: bytes, rank: int, *, quoted: bool, given: bool) -> bool:
    """`rank` is the word's; `given`: an operator gives the value. Long values are judged by their head."""
    value = value[:_JUDGED]
    if len(value) < 4 or _MASK in value:
        return False
    if rank == PASSWORD:
        return _is_password(value, quoted=quoted, given=given) and not is_placeholder(value)
    return _is_key(value, rank, quoted=quoted, given=given) and not is_placeholder(value)


def _is_key(value: bytes, rank: int, *, quoted: bool, given: bool) -> bool:
    if len(value) < 8 or b" " in value:
        return False
    if is_identifier_of_things(value):
        return rank == STRONG and given
    if rank == STRONG:
        floor = 16 if given else 24
        return (
            is_random(value)
            or (len(value) >= floor and is_hex(value))
            or (given and _is_made_up(value, quoted=quoted))
        )
    if not given or _PLAIN.match(value) is None or (not quoted and len(value) in (40, 64) and is_hex(value)):
        return False
    if len(value) >= 16 and is_random(value):
        return True
    return quoted and len(value) >= 24 and _is_made_up(value, quoted=True)


def _is_made_up(value: bytes, *, quoted: bool) -> bool:
    """Not random enough to be a machine's, but no name either: marks, or cases and digits together."""
    digits = sum(48 <= b <= 57 for b in value)
    letters = not value.islower() and not value.isupper()
    if any(b in b"!@#$%^&*?~" for b in value) and any(b > 64 for b in value):
        return b"/" not in value and (quoted or digits > 0)
    separators = sum(b in b".-/:_" for b in value)
    if digits and letters and len(value) >= 10 and separators * 8 <= len(value):
        return True
    if separators:
        return False
    return (digits >= 3 and len(value) >= 12 and digits < len(value)) or (
        len(value) >= 16 and is_gibberish(value)
    )


def _is_password(value: bytes, *, quoted: bool, given: bool) -> bool:
    if b" " in value.strip() and not (quoted and given):
        return False
    if not given:
        return is_passwordlike(value) and (quoted or _is_dense(value)) and not _is_reference(value)
    if is_passwordlike(value):
        return quoted or not _is_reference(value)
    return len(value) >= 6 and (quoted or value.isdigit())


def _is_dense(value: bytes) -> bool:
    """A digit or a mark among letters, not merely words joined by hyphens, dots or slashes."""
    if any(48 <= b <= 57 for b in value):
        return True
    return any(b in b"!@#$%^&*?~+|\\" for b in value) and any(b > 64 for b in value)


def _is_reference(value: bytes) -> bool:
    """A name of something rather than a thing: only letters, joined."""
    return all(b < 128 and (chr(b).isalpha() or b in b"_-./:") for b in value)
