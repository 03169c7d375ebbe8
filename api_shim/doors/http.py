"""The app: the table of routes and the page for people, over built parts."""

from collections.abc import Callable
from contextlib import AbstractAsyncContextManager

from starlette.applications import Starlette
from starlette.routing import Route

from api_shim.doors.errors import no_method, no_route
from api_shim.doors.inspect import PAGE
from api_shim.doors.routes import mounted
from api_shim.parts import Parts

Lifespan = Callable[[Starlette], AbstractAsyncContextManager[None]]


def make_app(parts: Parts, lifespan: Lifespan) -> Starlette:
    """The app over built parts."""
    doors = (*mounted(parts.capabilities), *PAGE)
    app = Starlette(
        routes=[Route(door.path, door.endpoint(parts), methods=[door.method]) for door in doors],
        exception_handlers={404: no_route, 405: no_method},
        lifespan=lifespan,
    )
    app.router.redirect_slashes = False
    return app
