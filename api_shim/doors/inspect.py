"""The page for people: files of this folder, which ask the same API as everybody, with the reader's key.

The files are open where the setting allows, since they hold nothing; whatever the page shows it fetched with
the key. Stored text is hostile, so the policy leaves no way for any of it to run.
"""

from dataclasses import dataclass

from starlette.requests import Request
from starlette.responses import Response

from api_shim.doors.guard import Endpoint, opened
from api_shim.parts import Parts
from foreword.errors import NotFound
from foreword.resources import text

POLICY = "; ".join(
    (
        "default-src 'none'",
        "script-src 'self'",
        "style-src 'self'",
        "connect-src 'self'",
        "base-uri 'none'",
        "form-action 'none'",  # without its script the form would put the key into a URL
        "frame-ancestors 'none'",
        "require-trusted-types-for 'script'",
        "trusted-types 'none'",
    )
)
HEADERS = {
    "Content-Security-Policy": POLICY,
    "Cache-Control": "no-store",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Referrer-Policy": "no-referrer",
    "X-Content-Type-Options": "nosniff",
}


@dataclass(frozen=True, slots=True)
class File:
    """A file of the page, served where the setting allows."""

    path: str
    name: str
    media_type: str
    method: str = "GET"

    def endpoint(self, parts: Parts) -> Endpoint:
        """The file, or 404 as for a path that is not there."""

        async def handler(_: Request, given: Parts) -> Response:
            if not given.settings.inspect:
                raise NotFound("There is no such path.")
            return Response(text(__package__, self.name), headers=HEADERS, media_type=self.media_type)

        return opened(handler, self.path, parts)


PAGE = (
    File("/inspect", "inspect.html", "text/html"),
    File("/inspect/inspect.css", "inspect.css", "text/css"),
    File("/inspect/inspect.js", "inspect.js", "text/javascript"),
)
"""For people, so not in the OpenAPI document."""
