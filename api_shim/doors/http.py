"""The routes: every path, the key scope it needs, and who answers it."""

from collections.abc import Callable
from contextlib import AbstractAsyncContextManager

from starlette.applications import Starlette
from starlette.routing import Route

from api_shim.doors import entries, memory, secrets, service
from api_shim.doors.errors import no_method, no_route
from api_shim.doors.guard import Handler, OpenHandler, guarded, opened
from api_shim.parts import Parts

OPEN: tuple[tuple[str, str, OpenHandler], ...] = (
    ("GET", "/healthz", service.healthz),
    ("GET", "/readyz", service.readyz),
    ("GET", "/metrics", service.metrics),
    ("GET", "/.well-known/openwop", service.discovery),
)

GUARDED: tuple[tuple[str, str, str | None, Handler], ...] = (
    ("GET", "/v1/memory/entries", "read", entries.list_entries),
    ("POST", "/v1/memory/entries", "write", entries.write_entry),
    ("POST", "/v1/memory/entries:batch", "write", entries.write_batch),
    ("GET", "/v1/memory/entries/{id}", "read", entries.get_entry),
    ("DELETE", "/v1/memory/entries/{id}", "write", entries.remove_entry),
    ("GET", "/v1/memory/receipts/{id}", "read", entries.get_receipt),
    ("DELETE", "/v1/memory", "write", memory.forget),
    ("GET", "/v1/memory/export", "read", memory.export),
    ("POST", "/v1/memory/import", "admin", memory.import_entries),
    ("GET", "/v1/memory/stats", "read", memory.stats),
    ("GET", "/v1/memory/events", "read", memory.events),
    ("GET", "/v1/memory/jobs/{id}", "read", memory.job),
    ("GET", "/v1/secrets", "read", secrets.list_secrets),
    ("PUT", "/v1/secrets/{id}", "write", secrets.put_secret),
    ("DELETE", "/v1/secrets/{id}", "write", secrets.delete_secret),
    ("GET", "/v1/seal-key", None, service.seal_key),
    ("GET", "/v1/host/foreword/memory", "read", entries.list_entries),
    ("GET", "/v1/host/foreword/memory/{id}", "read", entries.get_entry),
    ("DELETE", "/v1/host/foreword/memory/{id}", "write", entries.remove_entry),
)

Lifespan = Callable[[Starlette], AbstractAsyncContextManager[None]]


def make_app(parts: Parts, lifespan: Lifespan) -> Starlette:
    """The app over built parts."""
    open_routes = [
        Route(path, opened(handler, path, parts), methods=[method]) for method, path, handler in OPEN
    ]
    guarded_routes = [
        Route(path, guarded(handler, scope, path, parts), methods=[method])
        for method, path, scope, handler in GUARDED
    ]
    return Starlette(
        routes=[*guarded_routes, *open_routes],
        exception_handlers={404: no_route, 405: no_method},
        lifespan=lifespan,
    )
