"""A real HTTP server that answers by script, for what no healthy product can be made to answer."""

import socketserver
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler


@dataclass
class Script:
    """Raw answers, given in order, and the requests they were given to."""

    answers: list[bytes]
    url: str = ""
    requests: list[tuple[str, str, dict[str, str], bytes]] = field(default_factory=list)


def answer(status: str, body: bytes = b"", *headers: str) -> bytes:
    """An HTTP answer that closes its connection."""
    lines = [f"HTTP/1.1 {status}", f"Content-Length: {len(body)}", "Connection: close", *headers]
    return "\r\n".join(lines).encode() + b"\r\n\r\n" + body


@contextmanager
def server(*answers: bytes) -> Iterator[Script]:
    """Serves the answers on a free port; an empty one closes the connection without a word."""
    script = Script(list(answers))

    class Handler(BaseHTTPRequestHandler):
        def handle_one_request(self) -> None:
            self.raw_requestline = self.rfile.readline()
            self.close_connection = True
            if not self.raw_requestline or not self.parse_request():
                return
            body = self.rfile.read(int(self.headers.get("content-length", 0)))
            script.requests.append((self.command, self.path, dict(self.headers.items()), body))
            self.wfile.write(script.answers.pop(0))

        def log_message(self, *_: object) -> None:
            pass

    with socketserver.ThreadingTCPServer(("127.0.0.1", 0), Handler) as serving:
        serving.daemon_threads = True
        script.url = f"http://127.0.0.1:{serving.server_address[1]}"
        thread = threading.Thread(target=serving.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        try:
            yield script
        finally:
            serving.shutdown()
            thread.join()
