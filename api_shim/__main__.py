"""``python -m api_shim``: the HTTP server."""

import sys

import uvicorn

from foreword.errors import ConfigurationError


def main() -> int:
    """Serves until stopped; the exit code."""
    try:
        from api_shim.asgi import app, settings  # noqa: PLC0415 - the entry point reads its settings on import
    except ConfigurationError as error:
        sys.stderr.write(f"{error.message}\n")
        return 2
    uvicorn.run(
        app,
        host=settings.host,
        port=settings.port,
        log_level="warning",
        access_log=False,
        server_header=False,
        date_header=False,
        timeout_graceful_shutdown=10,
    )
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
