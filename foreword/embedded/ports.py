"""Ports: which are free, and which an embedded server had the last time."""

import json
import random
import socket
from pathlib import Path

from foreword.embedded import atomic
from foreword.errors import ConfigurationError

_RANGE = range(20_000, 32_000)
"""Below where Linux and macOS take the ports of outgoing connections: a client that keeps calling a server
which is down would sooner or later be given that server's port, and connect to itself."""


def refusal(host: str, port: int) -> str | None:
    """Why nothing can listen there, as the system words it; None when it can."""
    try:
        family, kind, protocol, _, address = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0]
        with socket.socket(family, kind, protocol) as probe:
            probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            probe.bind(address)
            probe.listen(1)
    except OSError as error:
        return error.strerror or str(error)
    return None


def free(host: str = "127.0.0.1") -> int:
    """A port nobody listens on. Raises ConfigurationError when none is found or the host is not ours."""
    reason: str | None = None
    for port in random.sample(_RANGE, 200):
        reason = refusal(host, port)
        if reason is None:
            return port
    raise ConfigurationError(f"No free port on {host}: {reason}.")


def kept(path: Path, *names: str) -> dict[str, int]:
    """One port a name: those of the last time that are still free, else new ones; written to ``path``."""
    try:
        before = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        before = {}
    chosen: dict[str, int] = {}
    for name in names:
        port = before.get(name)
        while port is None or port in chosen.values() or refusal("127.0.0.1", port) is not None:
            port = free()
        chosen[name] = port
    atomic.write(path, before | chosen)
    return chosen
