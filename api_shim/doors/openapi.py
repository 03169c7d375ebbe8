"""The OpenAPI document, built from the table of routes."""

from collections.abc import Iterable
from typing import Any, Protocol

from api_shim.doors import schemas
from api_shim.doors.body import JSON
from api_shim.doors.errors import STATUSES
from api_shim.doors.operations import Gives, Operation
from api_shim.settings import ShimSettings
from foreword import __version__

_GUARDED = (400, 401, 429, 503)
_BODIED = (413, 415)
_RETRIED = (429, 503)


class Described(Protocol):
    """A route as the document needs it. ``open`` without a key; ``scope`` is what the key must have."""

    @property
    def method(self) -> str: ...
    @property
    def path(self) -> str: ...
    @property
    def open(self) -> bool: ...
    @property
    def scope(self) -> str | None: ...
    @property
    def operation(self) -> Operation: ...


def document(doors: Iterable[Described], settings: ShimSettings) -> dict[str, Any]:
    """OpenAPI 3.1 of these routes, with this server's limits."""
    paths: dict[str, Any] = {}
    for door in doors:
        paths.setdefault(door.path, {})[door.method.lower()] = _operation(door)
    return {
        "openapi": "3.1.0",
        "info": {
            "title": "Foreword",
            "version": __version__,
            "description": "A memory back end for agent runtimes that can never overrun a context window.",
            "license": {"name": "Apache-2.0", "identifier": "Apache-2.0"},
        },
        "paths": paths,
        "components": {
            "schemas": schemas.components(settings),
            "responses": {_name(status): _failure(status) for status in STATUSES.values()},
            "securitySchemes": {"key": {"type": "http", "scheme": "bearer", "bearerFormat": "fw_..."}},
        },
    }


def _operation(door: Described) -> dict[str, Any]:
    operation = door.operation
    parameters = [*([operation.part] if operation.part else []), *operation.options]
    answers: dict[str, Any] = {str(status): _answer(gives) for status, gives in operation.gives.items()}
    answers |= {str(s): {"$ref": f"#/components/responses/{_name(s)}"} for s in _fails(door)}
    found: dict[str, Any] = {
        "operationId": operation.id,
        "summary": operation.summary,
        "parameters": parameters,
        "responses": dict(sorted(answers.items())),
        "security": [] if door.open else [{"key": []}],
    }
    if door.scope is not None:
        found["x-foreword-scope"] = door.scope
    if operation.takes:
        content = {media: {"schema": schema} for media, schema in operation.takes.items()}
        found["requestBody"] = {"required": True, "content": content}
    return found


def _fails(door: Described) -> list[int]:
    statuses = {*door.operation.fails}
    if not door.open:
        statuses |= {*_GUARDED}
    if door.scope is not None:
        statuses.add(403)
    if door.operation.takes:
        statuses |= {*_BODIED}
    return sorted(statuses)


def _answer(gives: Gives) -> dict[str, Any]:
    found: dict[str, Any] = {"description": gives.says}
    if gives.content:
        found["content"] = {media: {"schema": schema} for media, schema in gives.content.items()}
    if gives.headers:
        found["headers"] = {name: _header(says) for name, says in gives.headers.items()}
    return found


def _failure(status: int) -> dict[str, Any]:
    kind = next(kind for kind, found in STATUSES.items() if found == status)
    return _answer(
        Gives(
            says=str(kind.__doc__),
            content={JSON: schemas.error(status)},
            headers={"Retry-After": "Seconds until it is worth another try"} if status in _RETRIED else {},
        )
    )


def _header(says: str) -> dict[str, Any]:
    return {"description": says, "required": True, "schema": {"type": "string"}}


def _name(status: int) -> str:
    return next(kind.__name__ for kind, found in STATUSES.items() if found == status)
