"""The history page for a browser on this machine: a stand-in for the CloudWatch dashboard that shows it on AWS.

`make local` serves it. In a program: `with LocalStack() as stack, HistoryPage(stack) as page: ... page.url`.
"""

import json
import logging
import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from types import TracebackType
from typing import Any, Protocol, Self

from infra.local.stack import FunctionFailedError

FUNCTION = "HistoryFunction"
_HERE = Path(__file__).parent
_FILES = {"/": ("page.html", "text/html"), "/page.js": ("page.js", "text/javascript")}
# CloudWatch removes JavaScript from what a widget answers; here the browser is told to run none but the stand-in's.
_POLICY = "default-src 'none'; script-src 'self'; style-src 'unsafe-inline'; connect-src 'self'; img-src data:"
_LONGEST = 100_000  # bytes of a call

logger = logging.getLogger(__name__)


class Invokes(Protocol):
    """What we use of a stack."""

    def invoke(self, function: str, payload: object) -> Any:
        """Call a function and return its answer."""


class HistoryPage:
    """The page, served on loopback while the block lasts; `port` 0 takes a free one."""

    def __init__(self, stack: Invokes, port: int = 0) -> None:
        self._server = _Server(port, stack)
        self.port: int = self._server.server_address[1]
        self.url = f"http://127.0.0.1:{self.port}/"

    def __enter__(self) -> Self:
        threading.Thread(target=self._server.serve_forever, args=(0.02,), daemon=True).start()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, tb: TracebackType | None) -> None:
        self._server.shutdown()
        self._server.server_close()


def event_of(call: dict[str, Any]) -> dict[str, Any]:
    """Return the event that CloudWatch makes of a click: the action's parameters, and the widget's context."""
    now = int(time.time() * 1000)
    context = {
        "dashboardName": "local",
        "widgetId": "widget-1",
        "accountId": "000000000000",
        "locale": "en",
        "timezone": {"label": "UTC", "offsetISO": "+00:00", "offsetInMinutes": 0},
        "timeRange": {"mode": "relative", "start": now - 10_800_000, "end": now, "relativeStart": 10_800_000},
        "theme": call["theme"],
        "title": "History of notifications",
        "forms": call["forms"],
        "params": {},
    }
    return {**call["parameters"], "widgetContext": context}


class _Server(ThreadingHTTPServer):
    daemon_threads = True

    def __init__(self, port: int, stack: Invokes) -> None:
        super().__init__(("127.0.0.1", port), _Handler)
        self.stack = stack
        bound: int = self.server_address[1]
        self.hosts = {f"127.0.0.1:{bound}", f"localhost:{bound}"}


class _Handler(BaseHTTPRequestHandler):
    server: _Server
    protocol_version = "HTTP/1.1"

    def do_GET(self) -> None:
        """Answer with the page or its script."""
        name, kind = _FILES.get(self.path.partition("?")[0], ("", ""))
        if not name or self.headers.get("Host") not in self.server.hosts:
            self.send_error(404)
            return
        self._answer((_HERE / name).read_bytes(), kind)

    def do_POST(self) -> None:
        """Call the function for the page, and for no other: others can neither name us nor send this type."""
        length = int(self.headers.get("Content-Length") or 0)
        ours = self.headers.get("Host") in self.server.hosts and self.headers.get("Content-Type") == "application/json"
        if self.path != "/call" or not ours or length > _LONGEST:
            self.send_error(404)
            return
        event = event_of(json.loads(self.rfile.read(length)))
        try:
            answer = self.server.stack.invoke(FUNCTION, event)
        except FunctionFailedError as error:
            self.send_error(502, explain=str(error))
            return
        self._answer(str(answer).encode(), "text/html")

    def _answer(self, content: bytes, kind: str) -> None:
        self.send_response(200)
        self.send_header("Content-Type", f"{kind}; charset=utf-8")
        self.send_header("Content-Length", str(len(content)))
        self.send_header("Content-Security-Policy", _POLICY)
        self.send_header("Cache-Control", "no-store")
        self.end_headers()
        self.wfile.write(content)

    def log_message(self, format: str, *args: object) -> None:
        """Say it the way this program says everything."""
        logger.debug(format, *args)
