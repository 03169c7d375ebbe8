"""JSON Schemas of what the doors take and give, as components of the OpenAPI document."""

from typing import Any

from api_shim.asked import MOST_EXCLUDED, MOST_QUESTION, MOST_REFS, MOST_TOKEN
from api_shim.block import FORMATS
from api_shim.doors.errors import STATUSES
from api_shim.doors.secrets import LONGEST, SHORTEST
from api_shim.search import MODES
from api_shim.settings import ShimSettings
from foreword.budget import FITS, MAX_BUDGET
from foreword.counters import COUNTERS
from foreword.draft import KINDS
from foreword.errors import ForewordError, ValidationError
from foreword.scope import MAX_REF

Schema = dict[str, Any]

TEXT: Schema = {"type": "string", "pattern": r"^[^\u0000]*$"}
ENTRY_ID: Schema = {"type": "string", "pattern": r"^[A-Za-z0-9._:-]{1,128}$"}
SECRET_ID: Schema = {"type": "string", "pattern": r"^[A-Za-z0-9._-]{1,64}$"}
JOB_ID: Schema = {"type": "string", "pattern": r"^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$"}

_SECONDS = r"[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}"
INSTANT: Schema = {"type": "string", "format": "date-time", "pattern": rf"^{_SECONDS}\.[0-9]{{3}}Z$"}
GIVEN_INSTANT: Schema = {
    "type": "string",
    "format": "date-time",
    "pattern": rf"^{_SECONDS}(\.[0-9]{{1,9}})?(Z|[+-][0-9]{{2}}:[0-9]{{2}})$",
}
COUNT: Schema = {"type": "integer", "minimum": 0}
COUNTER: Schema = {"type": "string", "enum": list(COUNTERS)}
KIND: Schema = {"type": "string", "enum": list(KINDS)}
FIT: Schema = {"type": "string", "enum": list(FITS)}
BUDGET: Schema = {"type": "integer", "minimum": 1, "maximum": MAX_BUDGET}
CONFIDENCE: Schema = {"type": "number", "minimum": 0, "maximum": 1}
COSTS: Schema = {
    "type": "object",
    "propertyNames": {"enum": list(COUNTERS)},
    "additionalProperties": COUNT,
}
WRITABLE_REF: Schema = {
    "type": "string",
    "minLength": 1,
    "maxLength": MAX_REF,
    "pattern": r"^(?!(.*[/\\])?\.\.([/\\]|$))[^\u0000-\u001f\u007f-\u009f]+$",
}


def ref(name: str) -> Schema:
    """A component by name."""
    return {"$ref": f"#/components/schemas/{name}"}


def record(required: Schema, optional: Schema | None = None) -> Schema:
    """An object of exactly these properties."""
    return {
        "type": "object",
        "required": list(required),
        "properties": required | (optional or {}),
        "additionalProperties": False,
    }


def listed(items: Schema, **bounds: int) -> Schema:
    """An array of such items."""
    return {"type": "array", "items": items, **bounds}


def or_null(schema: Schema) -> Schema:
    """The same, or null."""
    return {"anyOf": [schema, {"type": "null"}]}


def error(status: int) -> Schema:
    """The body of every answer with this error status."""
    kind = next(kind for kind, found in STATUSES.items() if found == status)
    return _error(kind)


def _error(kind: type[ForewordError]) -> Schema:
    told = {"error": {"const": kind.code}, "message": {"type": "string"}}
    if kind is ValidationError:
        field = record({"field": {"type": "string"}, "reason": {"type": "string"}})
        return record(told | {"details": record({"fields": listed(field, minItems=1)})})
    return record(told, {"details": {"type": "object"}})


def components(settings: ShimSettings) -> dict[str, Schema]:
    """Every named schema, with this server's limits."""
    draft = _draft(settings)
    created = {"createdAt": or_null(GIVEN_INSTANT)}
    return {
        "Draft": draft,
        "ImportLine": {**draft, "properties": draft["properties"] | created},
        "Batch": record({"entries": listed(ref("Draft"), minItems=1, maxItems=settings.max_batch)}),
        "SecretValue": record({"value": {**TEXT, "minLength": SHORTEST, "maxLength": LONGEST}}),
        "Search": _search(),
        "Recall": _recall(),
        **_ENTRIES,
        **_ANSWERS,
    }


def _question() -> Schema:
    return {
        "type": "string",
        "minLength": 1,
        "maxLength": MOST_QUESTION,
        "pattern": r"^[^\u0000]*\S[^\u0000]*$",
    }


_FLOOR: Schema = {"type": "number", "minimum": -1, "maximum": 1}


def _search() -> Schema:
    return record(
        {"memoryRef": {"type": "string"}},
        {
            "query": _question(),
            "mode": {"type": "string", "enum": list(MODES)},
            "filter": {"type": "object"},
            "topK": BUDGET,
            "minSimilarity": _FLOOR,
            "tokenBudget": BUDGET,
            "tokenCounter": COUNTER,
            "fit": FIT,
            "fields": {"const": "all"},
        },
    )


def _recall() -> Schema:
    refs = listed({"type": "string"}, minItems=1, maxItems=MOST_REFS)
    return record(
        {"memoryRef": {"anyOf": [{"type": "string"}, refs]}, "query": _question()},
        {
            "tokenBudget": BUDGET,
            "topK": BUDGET,
            "minSimilarity": _FLOOR,
            "tokenCounter": COUNTER,
            "format": {"type": "string", "enum": list(FORMATS)},
            "exclude": listed({"type": "string", "minLength": 1, "maxLength": 128}, maxItems=MOST_EXCLUDED),
            "session": or_null({"type": "string", "maxLength": MOST_TOKEN}),
            "shares": {"type": "object", "additionalProperties": CONFIDENCE},
        },
    )


def _draft(settings: ShimSettings) -> Schema:
    limits = settings.limits()
    name = or_null({**TEXT, "minLength": 1, "maxLength": limits.name_chars})
    target = record({"to": ENTRY_ID}, {"type": {"type": "string", "pattern": "^[a-z_]{1,32}$"}})
    replaced = listed(ENTRY_ID, maxItems=limits.links)
    return record(
        {
            "memoryRef": WRITABLE_REF,
            "content": {**TEXT, "minLength": 1, "maxLength": limits.content_bytes},
        },
        {
            "id": or_null(ENTRY_ID),
            "tags": listed({**TEXT, "maxLength": limits.tag_chars}, maxItems=limits.tags),
            "kind": KIND,
            "confidence": CONFIDENCE,
            "pinned": {"type": "boolean"},
            "metadata": {"type": "object"},
            "source": or_null({**TEXT, "minLength": 1, "maxLength": limits.source_chars}),
            "speaker": name,
            "conversation": name,
            "observedAt": or_null(GIVEN_INSTANT),
            "links": listed({"anyOf": [ENTRY_ID, target]}, maxItems=limits.links),
            "supersedes": {"anyOf": [ENTRY_ID, replaced, {"type": "null"}]},
            "expiresAt": or_null(GIVEN_INSTANT),
        },
    )


_TOLD: Schema = {
    "id": ENTRY_ID,
    "content": {"type": "string"},
    "tags": listed({"type": "string"}),
    "createdAt": INSTANT,
}
_SCORES: Schema = {
    "score": {"type": "number"},
    "similarity": or_null({"type": "number", "minimum": -1.001, "maximum": 1.001}),
}
_LINK = record({"to": ENTRY_ID, "type": {"type": "string"}})

_FULL: Schema = {
    **_TOLD,
    "kind": KIND,
    "confidence": CONFIDENCE,
    "pinned": {"type": "boolean"},
    "metadata": {"type": "object"},
    "observedAt": INSTANT,
    "links": listed(_LINK),
    "supersedes": listed(ENTRY_ID),
    "status": {"const": "active"},
    "costs": COSTS,
    "rowCosts": COSTS,
}
_OWN: Schema = {
    "expiresAt": INSTANT,
    "source": {"type": "string"},
    "speaker": {"type": "string"},
    "conversation": {"type": "string"},
}

_ENTRIES: dict[str, Schema] = {
    "Entry": record(_TOLD, {"expiresAt": INSTANT}),
    "FullEntry": record(_FULL, _OWN),
    "ScoredEntry": record(_TOLD | _SCORES, {"expiresAt": INSTANT}),
    "FullScoredEntry": record(_FULL | _SCORES, _OWN),
    "AnyEntry": {"anyOf": [ref("Entry"), ref("FullEntry")]},
}

_REF: Schema = {"memoryRef": {"type": "string"}}
_OMITTED = record({"oversize": COUNT, "budget": COUNT, "limit": COUNT, "similarity": COUNT})
_EVENT = record({"type": {"type": "string"}, **_REF, "memoryId": ENTRY_ID, "at": INSTANT})

_ANSWERS: dict[str, Schema] = {
    "Report": record(
        {"counter": COUNTER, "used": COUNT, "returned": COUNT, "omitted": _OMITTED},
        {
            "tokenBudget": BUDGET,
            "smallestOmitted": COUNT,
            "legs": listed({"type": "string", "enum": list(MODES)}),
        },
    ),
    "Listing": record(
        {
            **_REF,
            "entries": listed({"anyOf": [ref("AnyEntry"), ref("FullScoredEntry")]}),
            "budget": ref("Report"),
        },
        {"nextCursor": {"type": "string"}, "queryTruncated": {"const": True}},
    ),
    "Ranking": record(
        {
            **_REF,
            "entries": listed({"anyOf": [ref("ScoredEntry"), ref("FullScoredEntry")]}),
            "budget": ref("Report"),
        },
        {"queryTruncated": {"const": True}},
    ),
    "Recalled": record(
        {
            "text": {"type": "string"},
            "entries": listed(ENTRY_ID),
            "budget": ref("Report"),
            "etag": {"type": "string"},
            "session": {"type": "string"},
        },
        {"queryTruncated": {"const": True}},
    ),
    "OneEntry": record({**_REF, "entry": ref("AnyEntry")}),
    "Receipt": record(
        {
            "id": ENTRY_ID,
            **_REF,
            "status": {"type": "string", "enum": ["accepted", "filed", "failed"]},
            "createdAt": INSTANT,
            "position": {"type": "string"},
        },
        {"reason": {"type": "string"}},
    ),
    "Receipts": record({"receipts": listed(ref("Receipt"), minItems=1)}),
    "Imported": record({"accepted": COUNT, "position": {"type": "string"}}),
    "Removed": record({**_REF, "id": ENTRY_ID, "removed": {"const": True}}),
    "RemovedMemory": record({**_REF, "memoryId": ENTRY_ID, "removed": {"const": True}}),
    "Forgotten": record({"removed": COUNT}),
    "Stats": record(
        {
            **_REF,
            "entries": COUNT,
            "pending": COUNT,
            "failed": COUNT,
            "kinds": {
                "type": "object",
                "propertyNames": {"enum": list(KINDS)},
                "additionalProperties": COUNT,
            },
            "costs": COSTS,
            "hotWindow": or_null(COUNT),
        }
    ),
    "Events": record({**_REF, "events": listed(_EVENT), "after": {"type": "string", "pattern": "^[0-9]+$"}}),
    "Job": record(
        {
            "jobId": JOB_ID,
            "status": {"type": "string", "enum": ["queued", "running", "succeeded", "failed", "cancelled"]},
            "progress": CONFIDENCE,
        },
        {"error": {"type": "object"}},
    ),
    "SecretIds": record({"secrets": listed(SECRET_ID)}),
    "SealKey": record({"sealKey": {"type": "string", "pattern": "^[^:]+:[A-Za-z0-9+/]+=*$"}}),
    "Health": record({"status": {"const": "ok"}}, {"parts": {"type": "object"}}),
    "Discovery": {
        "type": "object",
        "required": [
            *("protocolVersion", "implementation", "supportedEnvelopes", "schemaVersions", "limits"),
            *("fixtures", "memory", "agents", "capabilities"),
        ],
        "properties": {
            "protocolVersion": {"const": "1.0"},
            "limits": {"type": "object", "additionalProperties": {"type": "integer", "minimum": 0}},
            "fixtures": {"type": "array", "items": {"type": "string"}},
            "memory": {
                "type": "object",
                "required": [
                    "supported",
                    "injectionBudget",
                    "retention",
                    "maxEntrySizeBytes",
                    "ttlSupported",
                ],
                "properties": {
                    "supported": {"const": True},
                    "injectionBudget": {
                        "type": "object",
                        "required": ["supported", "tokenCounter"],
                        "properties": {"supported": {"const": True}, "tokenCounter": COUNTER},
                        "additionalProperties": False,
                    },
                },
            },
            "agents": {
                "type": "object",
                "required": ["memoryBackends"],
                "properties": {"memoryBackends": {"type": "array", "items": {"type": "string"}}},
            },
            "capabilities": {"type": "object", "required": ["memory", "agents"]},
        },
    },
    "OpenApi": {"type": "object", "required": ["openapi", "info", "paths"]},
}
