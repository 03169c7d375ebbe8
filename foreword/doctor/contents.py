"""What is stored: Drafts that nobody files, and entries that no usual budget will ever show."""

from collections.abc import Iterator
from typing import Any

from foreword.doctor.finding import Check, Finding, Place
from foreword.draft import DEFAULT_LIMITS
from foreword.resources import queries

USUAL_BUDGET = 1024
"""Tokens of o200k_base: what an injection door gives when it is asked without a budget."""

LONGEST_WAIT_S = 60.0
_TIMEOUT_S = 5


def contents(place: Place) -> Iterator[Finding]:
    """The inbox is worked off, and what is stored can be read."""
    if place.database_url is None:
        return
    import psycopg  # noqa: PLC0415

    ask = queries("foreword.doctor", "contents.sql")
    try:
        with psycopg.connect(place.database_url, connect_timeout=_TIMEOUT_S) as conn:
            conn.execute(f"SET statement_timeout = '{_TIMEOUT_S}s'")
            if not _row(conn.execute(ask["sees_all"].encode()))[0]:
                yield Finding(
                    check="inbox",
                    state="warning",
                    message="Contents not examined: this role sees only its own tenant.",
                    mend="give the owner's URL: foreword doctor --database-url URL",
                )
                return
            yield from _inbox(*_row(conn.execute(ask["inbox"].encode())))
            yield from _costs(*_row(conn.execute(ask["uncounted"].encode())))
            budget = {"budget": USUAL_BUDGET, "near_bytes": DEFAULT_LIMITS.content_bytes * 9 // 10}
            sizes = _row(conn.execute(ask["sizes"].encode(), budget))
            yield from _sizes(*sizes, *_row(conn.execute(ask["hopeless"].encode(), budget)))
    except psycopg.errors.QueryCanceled:
        yield Finding(check="entries", state="ok", message="too many to be counted in a few seconds")
    except psycopg.Error:
        return  # the ledger's own check says so


def _inbox(waiting: int, failed: int, oldest_s: float) -> Iterator[Finding]:
    if waiting and oldest_s > LONGEST_WAIT_S:
        yield Finding(
            check="inbox",
            state="problem",
            message=f"{waiting:,} Drafts wait, the oldest for {oldest_s:,.0f} s: no worker files them.",
            mend="foreword worker",
        )
    else:
        yield Finding(check="inbox", state="ok", message=f"{waiting:,} Drafts wait")
    if failed:
        yield Finding(
            check="inbox",
            state="warning",
            message=f"{failed:,} Drafts failed; their receipts say why.",
            mend="foreword retry",
        )


def _costs(uncounted: list[str] | None, json: bool) -> Iterator[Finding]:
    lacking = [*(uncounted or ()), *([] if json else ["recalls as json"])]
    if lacking:
        yield Finding(
            check="entries",
            state="warning",
            message=f"Entries lack costs, so reads refuse: {', '.join(lacking)}.",
            mend="foreword recount",
        )


def _sizes(entries: int, oversize: int, near_limit: int, hopeless: int) -> Iterator[Finding]:
    yield Finding(check="entries", state="ok", message=f"{entries:,} filed")
    if oversize:
        yield Finding(
            check="entries",
            state="warning",
            message=f"{oversize:,} entries alone exceed {USUAL_BUDGET:,} tokens: usual reads omit them.",
            mend="write them in smaller pieces, or read with a larger --token-budget",
        )
    if hopeless:
        yield Finding(
            check="entries",
            state="warning",
            message=f"In {hopeless:,} memories no entry fits {USUAL_BUDGET:,} tokens: usual reads are empty.",
            mend="read them with a larger --token-budget",
        )
    if near_limit:
        limit = DEFAULT_LIMITS.content_bytes
        yield Finding(
            check="entries",
            state="warning",
            message=f"{near_limit:,} entries are within 10 % of the largest content, {limit:,} bytes.",
            mend="raise FOREWORD_MAX_CONTENT_BYTES, or write smaller pieces",
        )


def _row(cursor: Any) -> Any:
    return cursor.fetchone()


CHECKS: tuple[Check, ...] = (contents,)
