"""Entry point: ``uvicorn api_shim.asgi:app``."""

import logging

from api_shim.bootstrap import serve
from api_shim.settings import ShimSettings
from foreword.settings import load

settings = load(ShimSettings)
logging.basicConfig(level=settings.log_level, format="%(asctime)s %(levelname)s %(name)s %(message)s")
app = serve(settings)
