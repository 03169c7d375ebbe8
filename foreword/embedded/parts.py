"""Foreword's own processes: workers, beat and the shim, as children of ``foreword up``."""

import sys
from collections.abc import Mapping
from dataclasses import replace
from functools import partial

from foreword.embedded.child import Spec
from foreword.embedded.environment import Environment
from foreword.embedded.folder import Folder
from foreword.embedded.readiness import Address, model_serves

_PYTHON = (sys.executable, "-P", "-m")
"""``-P``: a folder named ``worker`` where the caller stands must not be taken for ours."""


def parts(folder: Folder, environment: Environment, address: Address, workers: int) -> list[Spec]:
    """Staged as they are stopped: the shim first, to accept nothing new, then beat, then workers."""

    def part(name: str, *module: str, told: Mapping[str, str], stage: int, grace: float = 10.0) -> Spec:
        return Spec(
            name=name,
            command=(*_PYTHON, *module),
            environment=told,
            log=folder.log(name),
            record=folder.record(name),
            stage=stage,
            grace=grace,
        )

    shim = part("shim", "api_shim", told=environment.shim(address), stage=4, grace=20.0)
    beat = part("beat", "worker", "beat", told=environment.beat(), stage=3)
    # a process of its own, so that an embedder that hangs stops no write; it opens no seal
    embed = replace(
        part("embed", "worker", "embed", told=environment.beat(), stage=2, grace=30.0),
        probe=partial(model_serves, environment.servers.database_url),
    )
    return [
        *(
            part(f"worker-{number}", "worker", "run", told=environment.worker(), stage=2, grace=60.0)
            for number in range(1, workers + 1)
        ),
        *([embed] if environment.caller.get("FOREWORD_EMBEDDER") != "none" else []),
        beat,
        replace(shim, probe=address.ready),
    ]
