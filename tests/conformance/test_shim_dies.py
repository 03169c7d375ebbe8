"""A run whose shim was killed is told as failed, by whichever shim is asked next, once its lease is over."""

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import ExitStack

import pytest

from foreword.embedded import ports
from tests.acceptance.conftest import environment, serves
from tests.conformance.conftest import DOORS
from tests.conformance.host import PREFIX, Host, frames
from tests.services import Product, eventually


@pytest.fixture
def mortal(running_product: Product) -> Iterator[tuple[str, "subprocess.Popen[bytes]"]]:
    """A shim to be killed, whose runs are its own for a second at a time; its URL and process."""
    port = ports.free()
    leased = {**os.environ, **environment(running_product, port), **DOORS, "FOREWORD_OPENWOP_RUN_LEASE": "1"}
    process = subprocess.Popen((sys.executable, "-m", "api_shim"), env=leased)
    with ExitStack() as stack:
        stack.callback(process.wait, 20)
        stack.callback(process.kill)
        url = f"http://127.0.0.1:{port}"
        eventually(lambda: serves(url), "a shim to be killed serves")
        yield url, process


def test_a_killed_shims_run_has_failed(host: Host, mortal: tuple[str, "subprocess.Popen[bytes]"]) -> None:
    """kill -9 in the middle of a run: another shim's stream and snapshot end as run_lost, and stay so."""
    url, process = mortal
    with host.tenant.door(url=url) as door:
        run_id = Host(tenant=host.tenant, door=door).start(f"{PREFIX}ttl")["runId"]
    process.send_signal(signal.SIGKILL)
    process.wait(20)
    answer = host.door.get(f"/v1/runs/{run_id}/events")
    *_, (_, type_, last) = frames(answer.text)
    assert (type_, last["payload"]["error"]["code"]) == ("run.failed", "run_lost")
    found = host.snapshot(run_id)
    assert (found["status"], found["error"]["code"]) == ("failed", "run_lost")
    assert found["completedAt"] == last["timestamp"] or found["completedAt"] <= last["timestamp"]
    events = host.events(run_id)
    assert [event["type"] for event in events].count("run.failed") == 1
    assert host.snapshot(run_id) == found
    replayed = host.ended(host.fork(run_id, mode="replay")["runId"])
    assert replayed["error"] == found["error"]
