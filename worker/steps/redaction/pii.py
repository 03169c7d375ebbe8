"""The opt-in layer: e-mail addresses, telephone numbers, payment cards, bank accounts."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator
from typing import Any

from worker.steps.redaction.rule import compiled
from worker.steps.redaction.span import Hit

_EMAIL = compiled(
    r"(?:^|[^\w.%+/-])([A-Za-z0-9_\x80](?:[\w.%+'\x80-]{0,62}[\w+\x80-])?"
    r"@(?:[A-Za-z0-9\x80](?:[A-Za-z0-9\x80-]{0,61}[A-Za-z0-9\x80])?\.){1,8}[A-Za-z\x80]{2,24})(?:$|[^\w:]|:\s|:$)"
)
_PHONE = compiled(
    r"(?i)(?:^|[^\w+.-])((?:\+|00)[1-9]\d{0,2}[ .-]{0,2}(?:\(0?\d{1,4}\)[ .-]{0,2})?\d{1,5}"
    r"(?:[ ./-]{0,2}\d{1,5}){1,6}"
    r"|\(\d{2,5}\)[ .-]{0,2}\d{2,5}(?:[ .-]{1,2}\d{2,5}){1,3}"
    r"|\d{3}[ .-]\d{3}[ .-]\d{4}"
    r"|0\d{1,4}[ ./-]\d{5,8}|0\d{1,4}[ ./-]\d{2,5}(?:[ ./-]\d{2,5}){1,3})(?:$|[^\w-])"
    r"|\b(?:phone|tel|mobile|cell|fax|call|sms|text|whatsapp|number)\b[^\n\d+]{0,24}(\d{9,12})(?:$|[^\w.-])"
)
_CARD = compiled(r"(?:^|[^\w.-])([1-9]\d{3}(?:[ -]?\d{2,6}){2,4}\d?)(?:$|[^\w-])")
_IBAN = compiled(
    r"(?i)(?:^|[^\w])([A-Z]{2}\d{2}(?:[ -]?[A-Z0-9]{2,4}){2,8}(?:[ -]?[A-Z0-9]{1,3})?)(?:$|[^\w])"
)
_ISSUED = compiled(
    r"^(?:1\d{14}|4(?:\d{12}|\d{15}|\d{18})|5[1-5]\d{14}|2(?:22[1-9]|2[3-9]\d|[3-6]\d\d|7[01]\d|720)\d{12}|3[47]\d{13}"
    r"|3(?:0[0-5]|[689]\d)\d{11}|35\d{14}|6(?:011|5\d\d|4[4-9]\d)\d{12,15}|62\d{14,17}|(?:50|5[6-9]|6[0-9])\d{11,17})$"
)
_DIGITS = b"0123456789"


def _luhn(digits: bytes) -> bool:
    total = 0
    for at, code in enumerate(reversed(digits)):
        digit = code - 48
        if at % 2:
            digit = digit * 2 - 9 if digit > 4 else digit * 2
        total += digit
    return total % 10 == 0


def _only(value: bytes, kept: bytes) -> bytes:
    return value.translate(None, bytes(b for b in range(256) if b not in kept))


def _card_in(value: bytes) -> int:
    digits = _only(value, _DIGITS)
    fits = _ISSUED.match(digits) is not None and len(set(digits)) > 1 and _luhn(digits)
    return len(value) if fits else 0


def _is_iban(value: bytes) -> bool:
    plain = value.replace(b" ", b"").replace(b"-", b"").upper()
    if not 15 <= len(plain) <= 34:
        return False
    return int("".join(str(int(chr(c), 36)) for c in plain[4:] + plain[:4])) % 97 == 1


def _iban_in(value: bytes) -> int:
    """How much of a run of groups is an account number: words may follow it."""
    ends = [at for at, code in enumerate(value) if code in b" -"]
    return next((end for end in (len(value), *reversed(ends)) if _is_iban(value[:end])), 0)


def _phone_in(value: bytes) -> int:
    digits = _only(value, _DIGITS)
    return len(value) if 7 <= len(digits) <= 15 and len(set(digits)) > 2 else 0


_LAYERS: dict[str, tuple[Any, Callable[[bytes], int], bytes]] = {
    "email": (_EMAIL, len, b"@"),
    "phone": (_PHONE, _phone_in, b""),
    "card": (_CARD, _card_in, b""),
    "iban": (_IBAN, _iban_in, b""),
}
KINDS = frozenset(_LAYERS)


def personal(data: bytes, kinds: Collection[str]) -> Iterator[Hit]:
    """Every hit of the chosen kinds."""
    for kind in sorted(kinds):
        pattern, extent, needed = _LAYERS[kind]
        if needed and needed not in data:
            continue
        for start, end in _found(pattern, data):
            length = extent(data[start:end])
            if length:
                yield Hit(kind, start, start + length)


def _found(pattern: Any, data: bytes) -> Iterator[tuple[int, int]]:
    """Matches of the first group, the next search beginning where the last group ended: two numbers may
    share the blank between them."""
    at = 0
    while (match := pattern.search(data, at)) is not None:
        start, end = max(match.span(group) for group in range(1, pattern.groups + 1))
        yield start, end
        at = max(end, at + 1)
