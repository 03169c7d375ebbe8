"""Operations: what each route takes and gives, beside the route itself in the one table."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from api_shim.doors import schemas
from api_shim.doors.body import JSON, NDJSON
from api_shim.doors.entries import LONGEST_WAIT
from api_shim.doors.memory import MAX_EVENTS
from api_shim.doors.schemas import Schema, ref
from api_shim.options import FIELDS, MAX_QUERY, MAX_TAG, MAX_TOKEN, RANKS
from foreword.budget import MAX_BUDGET

Parameter = dict[str, Any]

TEXT = "text/plain"


@dataclass(frozen=True, kw_only=True)
class Gives:
    """One answer: what it says, its body by media type, its headers."""

    says: str
    content: Mapping[str, Schema] = field(default_factory=dict)
    headers: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, kw_only=True)
class Operation:
    """A route's promise. ``fails`` are the error statuses besides those that its kind of route always has."""

    id: str
    summary: str
    gives: Mapping[int, Gives]
    options: tuple[Parameter, ...] = ()
    part: Parameter | None = None
    takes: Mapping[str, Schema] = field(default_factory=dict)
    fails: tuple[int, ...] = ()

    @property
    def asks(self) -> bool:
        """Whether a request of it can say anything."""
        return bool(self.options or self.part or self.takes)


def _option(name: str, schema: Schema, says: str, *, required: bool = False) -> Parameter:
    return {"name": name, "in": "query", "required": required, "description": says, "schema": schema}


def _part(name: str, schema: Schema) -> Parameter:
    return {"name": name, "in": "path", "required": True, "schema": schema}


def _body(name: str, says: str, **headers: str) -> Gives:
    return Gives(says=says, content={JSON: ref(name)}, headers=headers)


_ETAG = "Digest of the body, for If-None-Match"
_NOT_MODIFIED = Gives(says="The caller has this answer already", headers={"ETag": _ETAG})
_KNOWN: Parameter = {"name": "If-None-Match", "in": "header", "schema": {"type": "string"}}
_REF = _option("memoryRef", {"type": "string"}, "Which memory; one that cannot be is empty", required=True)
_WAIT = _option(
    "wait", {"type": "number", "minimum": 0, "maximum": LONGEST_WAIT}, "Seconds to wait until it is filed"
)
_FIELDS = _option("fields", {"type": "string", "enum": list(FIELDS)}, "Every field, costs included")
_TAG = _option("tag", {**schemas.TEXT, "minLength": 1, "maxLength": MAX_TAG}, "Only entries with this tag")
_TOKEN: Schema = {"type": "string", "minLength": 1, "maxLength": MAX_TOKEN}

_LIST_OPTIONS = (
    _REF,
    _option("tokenBudget", schemas.BUDGET, "Most the entries may cost together"),
    _option("tokenCounter", schemas.COUNTER, "Unit of the budget; default: the advertised one"),
    _option("fit", schemas.FIT, "What a row that does not fit does; default: prefix"),
    _option("limit", {"type": "integer", "minimum": 0, "maximum": MAX_BUDGET}, "Most entries; 0: no limit"),
    _TAG,
    _option("kind", schemas.KIND, "Only entries of this kind"),
    _option("rank", {"type": "string", "enum": list(RANKS)}, "Order; default: recency"),
    _option("query", {**schemas.TEXT, "minLength": 1, "maxLength": MAX_QUERY}, "For rank=relevance"),
    _option("minSimilarity", {"type": "number", "minimum": -1, "maximum": 1}, "For rank=relevance"),
    _option("cursor", _TOKEN, "Where the last page ended"),
    _option("after", _TOKEN, "Position of a write that must be visible; waits up to 5 s"),
    _FIELDS,
    _KNOWN,
)
_WRITTEN = {
    201: _body("Receipt", "Filed: it can be read"),
    202: _body("Receipt", "Accepted: it is kept and will be filed"),
    200: _body("Receipt", "Failed: it cannot be filed, and why"),
}
_WRITTEN_ALL = {
    201: _body("Receipts", "All filed"),
    202: _body("Receipts", "All accepted"),
    200: _body("Receipts", "None waits any more, and some have failed"),
}


def _listing(name: str) -> Operation:
    return Operation(
        id=name,
        summary="The newest entries that fit in a budget",
        options=_LIST_OPTIONS,
        gives={200: _body("Listing", "Whole entries and the report", ETag=_ETAG), 304: _NOT_MODIFIED},
    )


def _fetching(name: str, part: str) -> Operation:
    return Operation(
        id=name,
        summary="One entry",
        part=_part(part, schemas.ENTRY_ID),
        options=(_REF, _FIELDS, _KNOWN),
        gives={200: _body("OneEntry", "The entry", ETag=_ETAG), 304: _NOT_MODIFIED},
        fails=(404,),
    )


def _removing(name: str, part: str, answer: str) -> Operation:
    return Operation(
        id=name,
        summary="Remove one entry, filed or not",
        part=_part(part, schemas.ENTRY_ID),
        options=(_REF,),
        gives={200: _body(answer, "It is gone from every read")},
        fails=(404,),
    )


LIST = _listing("listEntries")
GET = _fetching("getEntry", "id")
REMOVE = _removing("removeEntry", "id", "Removed")
HOST_LIST = _listing("listMemory")
HOST_GET = _fetching("getMemory", "memoryId")
HOST_REMOVE = _removing("removeMemory", "memoryId", "RemovedMemory")

SEARCH = Operation(
    id="searchMemory",
    summary="The most relevant entries that fit in a budget",
    takes={JSON: ref("Search")},
    gives={
        200: _body("Ranking", "Whole entries, best first, and the report", ETag=_ETAG),
        304: _NOT_MODIFIED,
    },
    options=(_KNOWN,),
    fails=(413, 415),
)
RECALL = Operation(
    id="recallMemory",
    summary="A ready prompt block of what bears on a question",
    takes={JSON: ref("Recall")},
    gives={
        200: Gives(
            says="The block, its exact cost and the report; with Accept: text/markdown the block alone",
            content={JSON: ref("Recalled"), "text/markdown": {"type": "string"}},
            headers={"ETag": _ETAG},
        ),
        304: _NOT_MODIFIED,
    },
    options=(_KNOWN,),
    fails=(413, 415),
)
WRITE = Operation(
    id="writeEntry",
    summary="Remember one thing",
    options=(_WAIT,),
    takes={JSON: ref("Draft")},
    gives=_WRITTEN,
    fails=(409,),
)
BATCH = Operation(
    id="writeEntries",
    summary="Remember many things, all or none",
    options=(_WAIT,),
    takes={JSON: ref("Batch")},
    gives=_WRITTEN_ALL,
    fails=(409,),
)
RECEIPT = Operation(
    id="getReceipt",
    summary="How far a write is",
    part=_part("id", schemas.ENTRY_ID),
    options=(_REF,),
    gives={200: _body("Receipt", "The receipt as it stands")},
    fails=(404,),
)
FORGET = Operation(
    id="forget",
    summary="Remove a memory, or what has a tag or is older than an instant",
    options=(_REF, _TAG, _option("before", schemas.GIVEN_INSTANT, "Only what was created earlier")),
    gives={200: _body("Forgotten", "How many are gone")},
)
EXPORT = Operation(
    id="export",
    summary="A whole memory as JSON Lines, oldest first",
    options=(_REF,),
    gives={200: Gives(says="One entry a line", content={NDJSON: {"type": "string"}})},
)
IMPORT = Operation(
    id="import",
    summary="Take in what export gave, all or none",
    takes={NDJSON: {"type": "string"}, JSON: ref("ImportLine")},
    gives={202: _body("Imported", "How many are accepted, and the position of the last")},
    fails=(409,),
)
STATS = Operation(
    id="stats",
    summary="Counts and costs of a memory",
    options=(_REF,),
    gives={200: _body("Stats", "The numbers")},
)
EVENTS = Operation(
    id="events",
    summary="What happened in a memory, oldest first, ids only",
    options=(
        _REF,
        _option("after", {"type": "integer", "minimum": 0, "maximum": MAX_BUDGET}, "The last answer's after"),
        _option("limit", {"type": "integer", "minimum": 1, "maximum": MAX_EVENTS}, "Most commits told"),
    ),
    gives={200: _body("Events", "Events, and where to go on")},
)
JOB = Operation(
    id="getJob",
    summary="How far a job is",
    part=_part("jobId", schemas.JOB_ID),
    gives={200: _body("Job", "The job as it stands")},
    fails=(404,),
)
SECRETS = Operation(
    id="listSecrets",
    summary="Ids of the registered secrets",
    gives={200: _body("SecretIds", "Ids, never values")},
)
PUT_SECRET = Operation(
    id="putSecret",
    summary="Register a secret value; what is already filed is swept",
    part=_part("secretId", schemas.SECRET_ID),
    takes={JSON: ref("SecretValue")},
    gives={204: Gives(says="Registered", headers={"Location": "The job that sweeps what is filed"})},
)
DELETE_SECRET = Operation(
    id="deleteSecret",
    summary="Drop a registered secret; what is redacted stays redacted",
    part=_part("secretId", schemas.SECRET_ID),
    gives={204: Gives(says="Dropped")},
    fails=(404,),
)
SEAL_KEY = Operation(
    id="sealKey",
    summary="The public key that queued Drafts are sealed to",
    gives={200: _body("SealKey", "id:base64")},
)
HEALTHZ = Operation(
    id="healthz", summary="Whether this process answers", gives={200: _body("Health", "It does")}
)
READYZ = Operation(
    id="readyz",
    summary="Whether the parts it stands on answer",
    gives={200: _body("Health", "They do")},
    fails=(503,),
)
METRICS = Operation(
    id="metrics",
    summary="Prometheus metrics, where the setting allows",
    gives={200: Gives(says="Text exposition", content={TEXT: {"type": "string"}})},
    fails=(404,),
)
DISCOVERY = Operation(
    id="discovery",
    summary="What this OpenWOP host does",
    gives={200: _body("Discovery", "The capabilities document")},
)
OPENAPI = Operation(id="openapi", summary="This document", gives={200: _body("OpenApi", "OpenAPI 3.1")})
