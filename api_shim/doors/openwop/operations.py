"""What the routes of OpenWOP's runs, agents and seams take and give."""

from typing import Any, Final

from api_shim.doors import schemas
from api_shim.doors.body import JSON
from api_shim.doors.openwop.asked import MOST_SEQUENCE, MOST_TAG, MOST_TAGS
from api_shim.doors.openwop.stream import EVENT_STREAM, LONGEST_POLL_S
from api_shim.doors.operations import Gives, Operation
from api_shim.doors.schemas import Schema, listed, record
from api_shim.runs.agents import NEEDS
from api_shim.runs.failure import FAILURES
from api_shim.runs.run import MODES, STREAM_MODES
from api_shim.runs.workflows import WORKFLOWS

_RUN_ID: Final[Schema] = {"type": "string", "pattern": "^[A-Za-z0-9-]{1,64}$"}
_OBJECT: Final[Schema] = {"type": "object"}
_TEXT: Final[Schema] = {"type": "string"}
_STATUS: Final[Schema] = {"type": "string", "enum": ["running", "completed", "failed"]}
_WORKFLOW: Final[Schema] = {"type": "string", "enum": list(WORKFLOWS)}
_MODE: Final[Schema] = {"type": "string", "enum": list(MODES)}
_SEQUENCE: Final[Schema] = {"type": "integer", "minimum": 0, "maximum": MOST_SEQUENCE}


def _tolerant(required: Schema, optional: Schema) -> Schema:
    """An object whose other properties nobody reads."""
    return {"type": "object", "required": list(required), "properties": required | optional}


def _gives(says: str, schema: Schema) -> Gives:
    return Gives(says=says, content={JSON: schema})


_PART: Final[dict[str, Any]] = {"name": "runId", "in": "path", "required": True, "schema": _RUN_ID}
_STARTED: Final[Schema] = {"runId": _RUN_ID, "status": _STATUS, "eventsUrl": _TEXT}
_SNAPSHOT: Final = record(
    {
        "runId": _RUN_ID,
        "workflowId": _WORKFLOW,
        "status": _STATUS,
        "startedAt": schemas.INSTANT,
        "variables": _OBJECT,
    },
    {
        "completedAt": schemas.INSTANT,
        "error": record({"code": {"type": "string", "enum": list(FAILURES)}, "message": _TEXT}),
    },
)
_EVENT: Final = record(
    {
        "eventId": _TEXT,
        "runId": _RUN_ID,
        "type": _TEXT,
        "payload": _OBJECT,
        "timestamp": schemas.INSTANT,
        "sequence": _SEQUENCE,
    },
    {"nodeId": _TEXT},
)
_EVENTS: Final = record({"events": listed(_EVENT), "isComplete": {"type": "boolean"}})
_AGENT: Final = record(
    {
        **dict.fromkeys(("agentId", "persona", "label", "description", "modelClass"), _TEXT),
        "packName": _TEXT,
        "packVersion": _TEXT,
        "toolAllowlist": listed(_TEXT),
        "hasHandoffSchemas": {"type": "boolean"},
        "memoryShape": record({part: {"type": "boolean"} for part in NEEDS}),
    },
    {
        "memoryDegraded": {"const": True},
        "degradedMemoryDimensions": listed(_TEXT, minItems=1),
    },
)

CREATE = Operation(
    id="createRun",
    summary="Start a run of a conformance workflow",
    takes={
        JSON: _tolerant(
            {"workflowId": _WORKFLOW},
            {
                **dict.fromkeys(("inputs", "configurable", "metadata"), _OBJECT),
                **dict.fromkeys(("tenantId", "scopeId", "callbackUrl"), _TEXT),
                "tags": listed({"type": "string", "maxLength": MOST_TAG}, maxItems=MOST_TAGS),
            },
        )
    },
    gives={201: _gives("Started", record(_STARTED | {"statusUrl": _TEXT}))},
)
GET = Operation(
    id="getRun",
    summary="A run as it stands",
    part=_PART,
    gives={200: _gives("The snapshot", _SNAPSHOT)},
    fails=(404,),
)
EVENTS = Operation(
    id="runEvents",
    summary="What happened in a run: JSON where Accept asks for it, else a stream until it is over",
    part=_PART,
    options=(
        {
            "name": "streamMode",
            "in": "query",
            "required": False,
            "description": "One or more of " + ", ".join(STREAM_MODES) + "; default: updates",
            "schema": {"type": "string"},
        },
        {
            "name": "bufferMs",
            "in": "query",
            "required": False,
            "description": "Taken, and of no effect: each event is sent when it is known",
            "schema": _SEQUENCE,
        },
        {"name": "Last-Event-ID", "in": "header", "schema": {"type": "string"}},
    ),
    gives={
        200: Gives(
            says="The events",
            content={
                EVENT_STREAM: {"type": "string"},
                JSON: _EVENTS,
            },
        )
    },
    fails=(404,),
)
POLL = Operation(
    id="pollRunEvents",
    summary="What is new in a run, waited for",
    part=_PART,
    options=(
        {
            "name": "lastSequence",
            "in": "query",
            "required": False,
            "description": "Sequence of the last event seen",
            "schema": _SEQUENCE,
        },
        {
            "name": "timeout",
            "in": "query",
            "required": False,
            "description": "Seconds to wait until there is something new; default: 0",
            "schema": {"type": "number", "minimum": 0, "maximum": LONGEST_POLL_S},
        },
    ),
    gives={200: _gives("The events", _EVENTS)},
    fails=(404,),
)
FORK = Operation(
    id="forkRun",
    summary="Tell an ended run again (replay), or run its workflow anew (branch)",
    part=_PART,
    takes={JSON: _tolerant({"mode": _MODE}, {"fromSeq": _SEQUENCE, "runOptionsOverlay": _OBJECT})},
    gives={
        201: _gives(
            "Started, or told again",
            record(_STARTED | {"sourceRunId": _RUN_ID, "fromSeq": _SEQUENCE, "mode": _MODE}),
        )
    },
    fails=(404, 409),
)
AGENTS = Operation(
    id="listAgents",
    summary="Who runs here, and what of their memory this host lacks",
    gives={200: _gives("The inventory", record({"total": schemas.COUNT, "agents": listed(_AGENT)}))},
)
WORKFLOW = Operation(
    id="getWorkflow",
    summary="What a workflow is made of, and the inputs it reads",
    part={"name": "workflowId", "in": "path", "required": True, "schema": _TEXT},
    gives={
        200: _gives(
            "The manifest",
            record(
                {
                    "workflowId": _WORKFLOW,
                    "version": _TEXT,
                    "nodes": listed(record({"id": _TEXT, "typeId": _TEXT, "config": _OBJECT})),
                    "edges": listed(_OBJECT),
                    "inputs": _OBJECT,
                }
            ),
        )
    },
    fails=(404,),
)
SEED = Operation(
    id="seedMemory",
    summary="Test seam: entries under given ids, readable when this answers",
    takes={
        JSON: _tolerant(
            {
                "memoryRef": schemas.WRITABLE_REF,
                "entries": listed(
                    _tolerant(
                        {"content": {**schemas.TEXT, "minLength": 1}},
                        {"id": schemas.ENTRY_ID, "tags": listed(schemas.TEXT)},
                    ),
                    minItems=1,
                ),
            },
            {},
        )
    },
    gives={
        201: _gives(
            "They can be read", record({"memoryRef": _TEXT, "ids": listed(schemas.ENTRY_ID, minItems=1)})
        )
    },
    fails=(409,),
)
