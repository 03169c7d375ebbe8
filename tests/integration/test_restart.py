"""The hot view over a real restart of its server: what another run was given is never served."""

import os
import signal
from collections.abc import Iterator
from pathlib import Path
from shutil import rmtree

import pytest

from foreword import instant
from foreword.draft import Draft
from foreword.embedded.child import Child
from foreword.embedded.credentials import Credentials
from foreword.embedded.folder import Folder
from foreword.embedded.servers import Servers
from foreword.keys import view_keys
from foreword.scope import Scope
from tests.integration.rig import Rig, everything, ids_of
from tests.integration.stepwise import Drain
from tests.services import Services, start
from worker.stores.rebuild import rebuild
from worker.write import drain


class Restartable:
    """A Valkey of its own, and a rig whose hot view is there."""

    def __init__(self, services: Services, at: Path) -> None:
        self._folder = Folder(at)
        self._folder.create()
        outside = {"FOREWORD_DATABASE_URL": services.owner_url}
        servers = Servers.of(self._folder, Credentials.fresh(), outside)
        self._child = Child(servers.specs()[0])
        start(self._child)
        self.rig = Rig(services, servers.redis_url)

    def restart(self, *, keep: bool) -> None:
        """Kills the server; with ``keep`` its file is there when it comes back."""
        self.rig.valkey.execute_command("CONFIG", "SET", "appendfsync", "always")
        self.rig.valkey.set("synced", 1)
        pid = self._child.pid
        assert pid is not None
        os.kill(pid, signal.SIGKILL)
        while self._child.alive():
            pass
        if not keep:
            rmtree(self._folder.valkey)
        start(self._child)

    def close(self) -> None:
        self.rig.close()
        self._child.stop()


@pytest.fixture(scope="module")
def server(services: Services, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Restartable]:
    """A hot view that can be restarted."""
    made = Restartable(services, tmp_path_factory.mktemp("restartable"))
    yield made
    made.close()


@pytest.mark.parametrize("keep", [True, False])
def test_a_restart_makes_every_scope_cold(server: Restartable, keep: bool) -> None:
    """With its file or without, nothing of the old run is served; a rebuild, not asked twice, mends it."""
    rig, parts = server.rig, server.rig.parts()
    scope = rig.scope(rig.tenant())
    _write(rig, scope, "first")
    drain(scope.tenant, parts)
    assert _read(rig, scope) == ("head", ["first"])
    assert parts.hot_view.is_warm(scope, instant.now_ms())
    server.restart(keep=keep)
    assert rig.valkey.exists(view_keys(scope).head) == keep
    assert not parts.hot_view.is_warm(scope, instant.now_ms())
    assert _read(rig, scope) == ("ledger", ["first"])
    assert rebuild(scope, rig.ledger, parts.hot_view, instant.now_ms())
    assert _read(rig, scope) == ("head", ["first"])


@pytest.mark.parametrize("keep", [True, False])
@pytest.mark.parametrize("stage", ["opened", "committed"])
def test_a_restart_in_the_middle_of_a_write(server: Restartable, stage: str, keep: bool) -> None:
    """A writer that opened on the old run shows nothing on the new one, and what it filed is read."""
    rig, parts = server.rig, server.rig.parts()
    scope = rig.scope(rig.tenant())
    _write(rig, scope, "first")
    drain(scope.tenant, parts)
    _write(rig, scope, "second")
    writer = Drain(scope.tenant, parts)
    while writer.stage != stage:
        writer.step()
    server.restart(keep=keep)
    expected = ["second", "first"] if stage == "committed" else ["first"]
    assert _read(rig, scope) == ("ledger", expected)
    while writer.stage != "done":
        writer.step()
    assert _read(rig, scope) == ("ledger", ["second", "first"])
    rebuild(scope, rig.ledger, parts.hot_view, instant.now_ms())
    assert _read(rig, scope) == ("head", ["second", "first"])


def test_a_lost_script_costs_no_warmth(server: Restartable) -> None:
    """A worker whose script the server forgot gives it again and shows at once."""
    rig, parts = server.rig, server.rig.parts()
    scope = rig.scope(rig.tenant())
    for name in ("first", "second"):
        _write(rig, scope, name)
        drain(scope.tenant, parts)
        rig.valkey.script_flush()
    assert _read(rig, scope) == ("head", ["second", "first"])


def test_a_window_that_lost_a_key_is_mended(server: Restartable) -> None:
    """A half-evicted scope is cold to a read that needs the lost half, also after a further write."""
    rig = server.rig
    parts = rig.parts(rig.hot_view(head_entries=1))
    for key in ("order", "rows"):
        scope = rig.scope(rig.tenant())
        for name in ("first", "second"):
            _write(rig, scope, name)
            drain(scope.tenant, parts)
        assert _read(rig, scope) == ("window", ["second", "first"])
        rig.valkey.unlink(getattr(view_keys(scope), key))
        assert _read(rig, scope) == ("ledger", ["second", "first"])
        _write(rig, scope, "third")
        drain(scope.tenant, parts)
        assert _read(rig, scope) == ("ledger", ["third", "second", "first"])
        assert not parts.hot_view.is_warm(scope, instant.now_ms())
        assert rebuild(scope, rig.ledger, parts.hot_view, instant.now_ms())
        assert _read(rig, scope) == ("window", ["third", "second", "first"])


def _write(rig: Rig, scope: Scope, name: str) -> None:
    rig.accept(scope.tenant, [Draft(memory_ref=scope.memory_ref, content=f"the {name}", id=name)])


def _read(rig: Rig, scope: Scope) -> tuple[str, list[str]]:
    """Where a read was answered from, and what with."""
    now = instant.now_ms()
    glance = rig.run(rig.glance(scope, everything(), now))
    found = glance.page or rig.from_ledger(scope, everything(), now)
    return glance.source, ids_of(found)
