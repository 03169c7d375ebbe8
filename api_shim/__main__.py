"""``python -m api_shim``: the HTTP server."""

import uvicorn

from api_shim.asgi import app, settings

if __name__ == "__main__":
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
