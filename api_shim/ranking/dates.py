"""Dates: how near an entry's observation lies to the dates that a question mentions.

English month names, ISO dates, years, seasons and quarters. Things are often told some days after they
happened, so the days behind a date count more than the days before it. What depends on today ("last
week") is left alone: a ranking must not change with the clock.
"""

import re
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import date
from typing import Final

MS_PER_DAY: Final = 86_400_000
_EPOCH: Final = date(1970, 1, 1).toordinal()
_LAST: Final = date.max.toordinal()

_MONTHS: Final = {
    name: number
    for number, names in enumerate(
        (
            "january jan",
            "february feb",
            "march mar",
            "april apr",
            "may",
            "june jun",
            "july jul",
            "august aug",
            "september sept sep",
            "october oct",
            "november nov",
            "december dec",
        ),
        1,
    )
    for name in names.split()
}
_AMBIGUOUS: Final = frozenset({"may", "march", "mar", "jan", "sep", "dec", "jun"})
"""Month names that are also words or names: alone they count only after a preposition of time."""

_SEASONS: Final = {
    "spring": (3, 4, 5),
    "summer": (6, 7, 8),
    "autumn": (9, 10, 11),
    "fall": (9, 10, 11),
    "q1": (1, 2, 3),
    "q2": (4, 5, 6),
    "q3": (7, 8, 9),
    "q4": (10, 11, 12),
}
_YEAR = r"(?:19[7-9]\d|20\d\d)"
_NAME = "|".join(sorted(_MONTHS, key=len, reverse=True))
_DAY = r"(?:3[01]|[12]\d|0?[1-9])(?:st|nd|rd|th)?"
_MENTION: Final = re.compile(
    rf"""\b(?:
      (?P<iso>{_YEAR}-(?:0[1-9]|1[0-2])(?:-(?:0[1-9]|[12]\d|3[01]))?)(?![-\d])
    | (?P<day>{_DAY})\s+(?:of\s+)?(?P<month>{_NAME})\b\.?(?:,?\s*(?P<year>{_YEAR})\b)?
    | (?P<month2>{_NAME})\b\.?\s+(?P<day2>{_DAY})\b(?:,?\s*(?P<year2>{_YEAR})\b)?
    | (?P<lead>(?:in|of|during|since|until|till|by|before|after|last|this|early|mid|late|around)[\s-]+)?
      (?P<month3>{_NAME})\b(?:\.?,?\s*(?:of\s+)?(?P<year3>{_YEAR})\b)?
    | (?P<season>{"|".join(_SEASONS)})\s+(?:of\s+)?(?P<year4>{_YEAR})\b
    | (?P<year5>{_YEAR})\b
    )""",
    re.IGNORECASE | re.VERBOSE,
)


@dataclass(frozen=True, kw_only=True, slots=True)
class Mention:
    """A date in a question, as exact as it was given: a year, or months, or a day of one month."""

    year: int | None = None
    months: tuple[int, ...] = ()
    day: int | None = None


def mentions(question: str) -> tuple[Mention, ...]:
    """The dates that the question mentions. Take names out first: April and June are people too."""
    return tuple(mention for found in _MENTION.finditer(question) if (mention := _read(found)) is not None)


def nearness(asked: Iterable[Mention], instants: Iterable[int | None]) -> list[float]:
    """For each instant in milliseconds 0 to 1: how near it is to the nearest of the dates asked for."""
    mentioned = tuple(asked)
    known: dict[int, float] = {}
    result = []
    for instant in instants:
        day = 0 if instant is None else instant // MS_PER_DAY + _EPOCH
        if (near := known.get(day)) is None:
            near = known[day] = max((_near(mention, day) for mention in mentioned), default=0.0)
        result.append(near)
    return result


def _near(asked: Mention, ordinal: int) -> float:
    if not 1 <= ordinal <= _LAST:
        return 0.0
    told = date.fromordinal(ordinal)
    if not asked.months:
        return float(told.year == asked.year)
    same_month = told.month in asked.months and asked.year in (None, told.year)
    if asked.day is not None:
        late = _days_late(asked, told)
        return 1.0 if -1 <= late <= 2 else 0.7 if 2 < late <= 10 else 0.3 if same_month else 0.0
    if same_month:
        return 1.0
    year, month = (told.year, told.month - 1) if told.month > 1 else (told.year - 1, 12)
    return 0.5 if told.day <= 12 and month in asked.months and asked.year in (None, year) else 0.0


def _days_late(asked: Mention, told: date) -> int:
    """How many days after the date asked for; of a date without year, the year that makes it nearest."""
    years = (asked.year,) if asked.year is not None else (told.year - 1, told.year, told.year + 1)
    lates = [
        told.toordinal() - day.toordinal()
        for year in years
        if (day := _date(year, asked.months[0], asked.day or 1)) is not None
    ]
    return min(lates, key=abs, default=366)


def _date(year: int, month: int, day: int) -> date | None:
    try:
        return date(year, month, day)
    except ValueError:
        return None


def _read(found: re.Match[str]) -> Mention | None:
    if iso := found["iso"]:
        year, month, *day = (int(part) for part in iso.split("-"))
        return Mention(year=year, months=(month,), day=day[0] if day else None)
    if season := found["season"]:
        return Mention(year=int(found["year4"]), months=_SEASONS[season.lower()])
    if year5 := found["year5"]:
        return Mention(year=int(year5))
    name = found["month"] or found["month2"] or found["month3"]
    written_year = found["year"] or found["year2"] or found["year3"]
    written_day = found["day"] or found["day2"]
    if written_day is None and written_year is None and not _is_month(name, found["lead"]):
        return None
    return Mention(
        year=int(written_year) if written_year else None,
        months=(_MONTHS[name.lower()],),
        day=int(re.sub(r"\D", "", written_day)) if written_day else None,
    )


def _is_month(name: str, lead: str | None) -> bool:
    return name[0].isupper() and (lead is not None or name.lower() not in _AMBIGUOUS)
