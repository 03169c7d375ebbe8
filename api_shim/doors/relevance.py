"""Relevance: search, recall, and ``rank=relevance`` of a list."""

import json
from collections.abc import Mapping
from typing import Any, Final

from starlette.requests import Request
from starlette.responses import Response

from api_shim.answer import Answer, shown
from api_shim.asked import Asked
from api_shim.block import FORMATS
from api_shim.doors.body import JSON, apart, parse_json, read_bytes
from api_shim.doors.reply import answered
from api_shim.doors.request import options, reachable
from api_shim.keyring import Caller
from api_shim.options import FIELDS, ReadOptions
from api_shim.parts import Parts
from api_shim.recall import RecallAsk, Recalled
from api_shim.search import MODES, Outcome, SearchAsk
from api_shim.sources.ranked import Cut
from api_shim.sources.recent import draft_fields, fragment, full_fields
from foreword.budget import FITS, HOST_CAP, Report
from foreword.counters import COUNTERS
from foreword.entry import compact
from foreword.errors import ValidationError
from foreword.scope import Scope

SEARCH_FIELDS: Final = (
    "memoryRef",
    "query",
    "mode",
    "filter",
    "topK",
    "minSimilarity",
    "tokenBudget",
    "tokenCounter",
    "fit",
    "fields",
)
RECALL_FIELDS: Final = (
    "memoryRef",
    "query",
    "tokenBudget",
    "topK",
    "minSimilarity",
    "tokenCounter",
    "format",
    "exclude",
    "session",
    "shares",
)
DEFAULT_TOP: Final = 10
DEFAULT_BUDGET: Final = 1024
DEFAULT_FLOOR: Final = 0.3
MARKDOWN: Final = "text/markdown"


async def search(request: Request, caller: Caller, parts: Parts) -> Response:
    """``POST /v1/memory/search``: best first, within a budget."""
    options(request).close()
    raw = await read_bytes(request, parts.settings.max_body_bytes, JSON)
    memory_ref, ask, full = await apart(raw, lambda: _search_ask(parse_json(raw), parts))
    await parts.reader.counting.require(ask.cut.counter)
    outcome = await parts.searcher.search(_asked_scope(caller, memory_ref), ask)
    return answered(request, _listing(memory_ref, outcome, full=full, scored=True))


async def relevant(request: Request, caller: Caller, parts: Parts, asked: ReadOptions) -> Response:
    """``GET /v1/memory/entries`` with ``rank=relevance``: the budgeted projection of semantic search."""
    if not parts.capabilities.semantic:  # never another order under this name
        raise ValidationError.of("rank", "relevance is not available on this server")
    ask = SearchAsk(
        mode="semantic",
        cut=Cut(
            counter=asked.counter,
            ordinal=COUNTERS[asked.counter].ordinal,
            budget=asked.budget,
            limit=asked.ask().limit,
            fit=asked.fit,
        ),
        text=asked.question or "",
        floor=-1.0 if asked.floor is None else asked.floor,
        chosen=asked.chosen(),
    )
    await parts.reader.counting.require(asked.counter)
    scope = reachable(caller, asked.memory_ref)
    if scope is not None and asked.after is not None:
        await parts.reader.wait_until_filed(scope, asked.after, 5.0)
    outcome = await parts.searcher.search(_asked_scope(caller, asked.memory_ref), ask)
    full = asked.all_fields
    return answered(request, _listing(asked.memory_ref, outcome, full=full, scored=full))


async def recall(request: Request, caller: Caller, parts: Parts) -> Response:
    """``POST /v1/memory/recall``: a ready prompt block, its cost exact, frame included."""
    options(request).close()
    raw = await read_bytes(request, parts.settings.max_body_bytes, JSON)
    refs, ask, sent = await apart(raw, lambda: _recall_ask(parse_json(raw), parts))
    await parts.reader.counting.require(ask.search.cut.counter, json=ask.format == "json")
    scopes = [_asked_scope(caller, ref) for ref in refs]
    recalled = await parts.recaller.recall(scopes, ask, sent)
    if MARKDOWN in request.headers.get("accept", ""):
        answer = Answer.of(recalled.text.encode())
        return answered(request, answer, media_type=f"{MARKDOWN}; charset=utf-8")
    etag = Answer.of(recalled.text.encode()).etag.strip('"')
    return answered(request, Answer.of(compact(_recalled(recalled, etag))))


def _search_ask(body: Any, parts: Parts) -> tuple[str, SearchAsk, bool]:
    asked = Asked(body, SEARCH_FIELDS)
    mode = asked.choice("mode", MODES, "hybrid")
    counter = str(asked.choice("tokenCounter", tuple(COUNTERS), parts.settings.token_counter))
    memory_ref = asked.refs(many=False)[0]
    ask = SearchAsk(
        mode=mode,  # type: ignore[arg-type]
        cut=Cut(
            counter=counter,
            ordinal=COUNTERS[counter].ordinal,
            budget=asked.integer("tokenBudget", None),
            limit=asked.top(DEFAULT_TOP),
            fit=asked.choice("fit", FITS, "prefix"),  # type: ignore[arg-type]
        ),
        text=asked.question(required=mode != "filter"),
        floor=asked.floor(-1.0),
        chosen=asked.filter(),
    )
    full = asked.choice("fields", FIELDS, None) is not None
    if mode == "semantic" and not parts.capabilities.semantic:
        asked.refuse("mode", "semantic is not available on this server")
    asked.close()
    return memory_ref, ask, full


def _recall_ask(body: Any, parts: Parts) -> tuple[list[str], RecallAsk, tuple[str, ...]]:
    asked = Asked(body, RECALL_FIELDS)
    refs = asked.refs(many=True)
    counter = str(asked.choice("tokenCounter", tuple(COUNTERS), parts.settings.token_counter))
    sent = asked.session()
    # a budget that is named bounds by itself; without one, ten entries do too
    most = HOST_CAP if "tokenBudget" in asked.body else DEFAULT_TOP
    ask = RecallAsk(
        search=SearchAsk(
            mode="hybrid",
            cut=Cut(
                counter=counter,
                ordinal=COUNTERS[counter].ordinal,
                budget=asked.integer("tokenBudget", DEFAULT_BUDGET),
                limit=asked.top(most),
            ),
            text=asked.question(required=True),
            floor=asked.floor(DEFAULT_FLOOR),
            exclude=asked.ids("exclude"),
        ),
        format=asked.choice("format", FORMATS, "markdown-prompt"),  # type: ignore[arg-type]
        shares=_fractions(refs, asked.shares(refs)),
    )
    asked.close()
    return refs, ask, sent


def _asked_scope(caller: Caller, memory_ref: str) -> Scope:
    """The scope of a ref; one that nobody can write to where the ref can hold nothing for this caller.

    So what is out of reach is searched like what is empty, and answers alike.
    """
    return reachable(caller, memory_ref) or Scope(caller.tenant, "")


def _fractions(refs: list[str], shares: Mapping[str, float]) -> tuple[float, ...]:
    """A fraction for each ref; those without one share alike what the others leave, if any has one."""
    if not shares:
        return (0.0,) * len(refs)
    left = max(1.0 - sum(shares.values()), 0.0) / max(len(refs) - len(shares), 1)
    return tuple(shares.get(ref, left) for ref in refs)


def _listing(memory_ref: str, outcome: Outcome, *, full: bool, scored: bool) -> Answer:
    fragments = [_fragment(row, full=full, scored=scored) for row in outcome.rows]
    cut = b',"queryTruncated":true' if outcome.is_cut else b""
    body = (
        b'{"memoryRef":'
        + compact(shown(memory_ref))
        + b',"entries":['
        + b",".join(fragments)
        + b'],"budget":'
        + _report(outcome.report, outcome.legs)
        + cut
        + b"}"
    )
    return Answer.of(body)


def _fragment(row: dict[str, Any], *, full: bool, scored: bool) -> bytes:
    if not scored:
        return fragment(row)
    kept = full_fields(row) if full else {n: v for n, v in draft_fields(row).items() if n in _WIRE}
    similarity = row["similarity"]
    return compact(
        kept
        | {
            "score": round(row["score"], 6),
            "similarity": None if similarity is None else round(similarity, 6),
        }
    )


_WIRE: Final = ("id", "content", "tags", "createdAt", "expiresAt")


def _report(told: Report, legs: tuple[str, ...]) -> bytes:
    return told.to_json()[:-1] + b',"legs":' + compact(list(legs)) + b"}"


def _recalled(recalled: Recalled, etag: str) -> dict[str, Any]:
    body: dict[str, Any] = {
        "text": recalled.text,
        "entries": list(recalled.ids),
        "budget": json.loads(_report(recalled.report, recalled.legs)),
        "etag": etag,
        "session": recalled.session,
    }
    return body | {"queryTruncated": True} if recalled.is_cut else body
