"""The routes: every path, who may take it, who answers it, and what it promises."""

from dataclasses import dataclass

from starlette.requests import Request
from starlette.responses import Response

from api_shim.capabilities import Capabilities
from api_shim.doors import entries, memory, operations, relevance, secrets, service
from api_shim.doors.guard import Endpoint, Handler, OpenHandler, guarded, opened
from api_shim.doors.openapi import document
from api_shim.doors.openwop import agents, runs, seams, stream, workflows
from api_shim.doors.openwop import operations as described
from api_shim.doors.operations import Operation
from api_shim.parts import Parts
from foreword.entry import compact


@dataclass(frozen=True, slots=True)
class Open:
    """A route that anybody may take."""

    method: str
    path: str
    handler: OpenHandler
    operation: Operation
    open: bool = True
    scope: str | None = None

    def endpoint(self, parts: Parts) -> Endpoint:
        """The handler behind the rim."""
        return opened(self.handler, self.path, parts)


@dataclass(frozen=True, slots=True)
class Guarded:
    """A route for keys that have ``scope`` (None: for any valid key)."""

    method: str
    path: str
    scope: str | None
    handler: Handler
    operation: Operation
    open: bool = False

    def endpoint(self, parts: Parts) -> Endpoint:
        """The handler behind the guard."""
        return guarded(self.handler, self.scope, self.path, parts)


async def openapi(_: Request, parts: Parts) -> Response:
    """``GET /v1/openapi.json``: this table, described."""
    told = document(mounted(parts.capabilities), parts.settings)
    return Response(compact(told), media_type="application/json")


ROUTES: tuple[Open | Guarded, ...] = (
    Guarded("GET", "/v1/memory/entries", "read", entries.list_entries, operations.LIST),
    Guarded("POST", "/v1/memory/entries", "write", entries.write_entry, operations.WRITE),
    Guarded("POST", "/v1/memory/entries:batch", "write", entries.write_batch, operations.BATCH),
    Guarded("GET", "/v1/memory/entries/{id}", "read", entries.get_entry, operations.GET),
    Guarded("DELETE", "/v1/memory/entries/{id}", "write", entries.remove_entry, operations.REMOVE),
    Guarded("GET", "/v1/memory/receipts/{id}", "read", entries.get_receipt, operations.RECEIPT),
    Guarded("POST", "/v1/memory/search", "read", relevance.search, operations.SEARCH),
    Guarded("POST", "/v1/memory/recall", "read", relevance.recall, operations.RECALL),
    Guarded("DELETE", "/v1/memory", "write", memory.forget, operations.FORGET),
    Guarded("GET", "/v1/memory/export", "read", memory.export, operations.EXPORT),
    Guarded("POST", "/v1/memory/import", "admin", memory.import_entries, operations.IMPORT),
    Guarded("GET", "/v1/memory/stats", "read", memory.stats, operations.STATS),
    Guarded("GET", "/v1/memory/events", "read", memory.events, operations.EVENTS),
    Guarded("GET", "/v1/memory/jobs/{jobId}", "read", memory.job, operations.JOB),
    Guarded("GET", "/v1/secrets", "read", secrets.list_secrets, operations.SECRETS),
    Guarded("PUT", "/v1/secrets/{secretId}", "write", secrets.put_secret, operations.PUT_SECRET),
    Guarded("DELETE", "/v1/secrets/{secretId}", "write", secrets.delete_secret, operations.DELETE_SECRET),
    Guarded("GET", "/v1/seal-key", None, service.seal_key, operations.SEAL_KEY),
    Guarded("GET", "/v1/host/foreword/memory", "read", entries.list_entries, operations.HOST_LIST),
    Guarded("GET", "/v1/host/foreword/memory/{memoryId}", "read", entries.get_entry, operations.HOST_GET),
    Guarded(
        "DELETE",
        "/v1/host/foreword/memory/{memoryId}",
        "write",
        entries.remove_memory,
        operations.HOST_REMOVE,
    ),
    Open("GET", "/healthz", service.healthz, operations.HEALTHZ),
    Open("GET", "/readyz", service.readyz, operations.READYZ),
    Open("GET", "/metrics", service.metrics, operations.METRICS),
    Open("GET", "/.well-known/openwop", service.discovery, operations.DISCOVERY),
    Open("GET", "/v1/openapi.json", openapi, operations.OPENAPI),
)

RUNS: tuple[Guarded, ...] = (
    Guarded("POST", "/v1/runs", "write", runs.create_run, described.CREATE),
    Guarded("GET", "/v1/runs/{runId}", "read", runs.get_run, described.GET),
    Guarded("GET", "/v1/runs/{runId}/events", "read", stream.run_events, described.EVENTS),
    Guarded("GET", "/v1/runs/{runId}/events/poll", "read", stream.poll_events, described.POLL),
    Guarded("POST", "/v1/runs/{runId}:fork", "write", runs.fork_run, described.FORK),
    Guarded("GET", "/v1/agents", "read", agents.list_agents, described.AGENTS),
    Guarded("GET", "/v1/workflows/{workflowId}", "read", workflows.get_workflow, described.WORKFLOW),
)
"""OpenWOP's runs, agents and workflows: mounted where ``FOREWORD_OPENWOP_RUNS`` says so."""

SEAMS: tuple[Guarded, ...] = (Guarded("POST", "/v1/test/memory/seed", "write", seams.seed, described.SEED),)
"""OpenWOP's test seams, of features that there are: mounted where ``FOREWORD_OPENWOP_SEAMS`` says so."""


def mounted(capabilities: Capabilities) -> tuple[Open | Guarded, ...]:
    """The routes of a server that does this."""
    runs, seams = RUNS if capabilities.runs else (), SEAMS if capabilities.seams else ()
    return (*ROUTES, *runs, *seams)
