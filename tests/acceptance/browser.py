"""A real headless Chromium, driven over the pipe of its DevTools protocol."""

import base64
import json
import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from tests.services import eventually

CHROMIUM = Path("/usr/bin/chromium")
_FLAGS = (
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--disable-dev-shm-usage",
    "--remote-debugging-pipe",
)
_WITH_PIPES = """
import os, sys
os.dup2(int(sys.argv[1]), 3)
os.dup2(int(sys.argv[2]), 4)
os.execv(sys.argv[3], sys.argv[3:])
"""


class Browser:
    """One tab. ``events`` holds what the browser told by itself."""

    def __init__(self, reading: int, writing: int) -> None:
        self._reading, self._writing = reading, writing
        self._rest = b""
        self._sent = 0
        self._tab: str | None = None
        self.events: list[dict[str, Any]] = []
        target = self.call("Target.createTarget", url="about:blank")["targetId"]
        self._tab = self.call("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        for domain in ("Page", "Runtime", "Log", "Network"):
            self.call(f"{domain}.enable")

    def call(self, method: str, **params: Any) -> dict[str, Any]:
        """The result of a command; events that come before it are kept."""
        self._sent += 1
        message = {"id": self._sent, "method": method, "params": params}
        if self._tab is not None:
            message["sessionId"] = self._tab
        os.write(self._writing, json.dumps(message).encode() + b"\0")
        while (told := self._next()).get("id") != self._sent:
            self.events.append(told)
        assert "error" not in told, told["error"]
        return dict(told["result"])

    def run(self, script: str) -> Any:
        """The value of an expression in the page; a promise is awaited."""
        found = self.call("Runtime.evaluate", expression=script, awaitPromise=True, returnByValue=True)
        assert "exceptionDetails" not in found, found["exceptionDetails"]
        return found["result"].get("value")

    def until(self, script: str) -> Any:
        """The first true value of an expression."""
        return eventually(lambda: self.run(script), f"the page says {script}", 30)

    def visit(self, url: str) -> None:
        """Goes to a page and waits until its scripts have run."""
        self.call("Page.navigate", url=url)
        self.until(f"location.href === {json.dumps(url)} && document.readyState === 'complete'")

    def fill(self, field: str, value: str) -> None:
        """Gives a field a value as a person would, who then lets go of it."""
        events = "for (const name of ['input', 'change']) it.dispatchEvent(new Event(name, {bubbles: true}))"
        self.run(
            f"{{ const it = document.getElementById('{field}'); it.value = {json.dumps(value)}; {events} }}"
        )

    def click(self, selector: str) -> None:
        """Clicks what a selector finds first."""
        self.run(f"document.querySelector({json.dumps(selector)}).click()")

    def text(self, selector: str) -> str:
        """What one sees of it, without what is hidden."""
        return str(self.run(f"document.querySelector({json.dumps(selector)}).innerText"))

    def told(self, method: str) -> list[dict[str, Any]]:
        """Params of the events of a kind so far."""
        return [event["params"] for event in self.events if event.get("method") == method]

    def picture(self, path: Path) -> None:
        """The whole page as PNG."""
        shot = self.call("Page.captureScreenshot", format="png", captureBeyondViewport=True)
        path.write_bytes(base64.b64decode(shot["data"]))

    def _next(self) -> dict[str, Any]:
        while b"\0" not in self._rest:
            read = os.read(self._reading, 1 << 20)
            assert read, "the browser has ended"
            self._rest += read
        message, _, self._rest = self._rest.partition(b"\0")
        return dict(json.loads(message))


@contextmanager
def browsing(profile: Path) -> Iterator[Browser]:
    """A browser with an empty profile, gone at the end."""
    commands, writing = os.pipe()
    reading, answers = os.pipe()
    process = subprocess.Popen(
        (
            *(sys.executable, "-c", _WITH_PIPES, str(commands), str(answers)),
            *(str(CHROMIUM), *_FLAGS, f"--user-data-dir={profile}"),
        ),
        pass_fds=(commands, answers),
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    os.close(commands)
    os.close(answers)
    try:
        yield Browser(reading, writing)
    finally:
        os.close(writing)
        os.close(reading)
        try:
            process.wait(20)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
