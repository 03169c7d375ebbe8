"""The parts the doors open on, built once per process by bootstrap."""

from dataclasses import dataclass

from api_shim.accept import Acceptor
from api_shim.backlog import Backlog
from api_shim.bell import Bell
from api_shim.capabilities import Capabilities
from api_shim.database import Database
from api_shim.keyring import Keyring
from api_shim.metrics import Metrics
from api_shim.question import Questions
from api_shim.read import Reader
from api_shim.recall import Recaller
from api_shim.remove import Remover
from api_shim.runs.engine import Engine
from api_shim.search import Searcher
from api_shim.serving import Serving
from api_shim.settings import ShimSettings
from api_shim.sources.hot import HotView
from api_shim.throttle import Throttle
from foreword.seal import Sealer


@dataclass(frozen=True, kw_only=True)
class Parts:
    """Everything a door may need."""

    settings: ShimSettings
    capabilities: Capabilities
    serving: Serving
    database: Database
    hot_view: HotView
    keyring: Keyring
    reader: Reader
    questions: Questions
    searcher: Searcher
    recaller: Recaller
    acceptor: Acceptor
    remover: Remover
    engine: Engine
    sealer: Sealer
    bell: Bell
    metrics: Metrics
    backlog: Backlog
    throttle: Throttle
