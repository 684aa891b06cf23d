"""A scriptable endpoint on loopback: real HTTP that fails on purpose, and imitations of Telegram, Slack and Discord.

In the same process: `with Endpoint() as endpoint: endpoint.script("/hook", Step(status=503), Step())`.
From elsewhere, once it runs (`python -m infra.local.endpoint PORT`):

    PUT  /_script    {"/hook": {"steps": [{"status": 503, "times": 2}], "default": {"status": 200}}}
    PUT  /_telegram  {"blocked": ["7"], "unknown": ["8"], "moved": {"1": "-1001"}, "limits": {"*": [3, 1]}}
    PUT  /_slack     {"errors": {"C1": "is_archived"}, "limits": {"*": [3, 1]}, "tokens": ["xoxb-…"]}
    PUT  /_discord   {"deleted": ["1"], "tokens": {"2": "…"}, "limits": {"*": [3, 0.5, "global"]}}
    GET  /_requests  [{"at", "method", "path", "headers", "body"}]
    GET  /_messages  {chat: [text]} of Telegram; /_slack and /_discord answer with theirs {target: [message]}
"""

import json
import socket
import ssl
import struct
import sys
import time
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field, fields
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Lock, Thread
from types import TracebackType
from typing import Any, Literal, Self

from infra.local.discord import Discord
from infra.local.slack import Slack
from infra.local.telegram import Telegram

# Longer than anybody who is tested may wait; a client that was left behind reads on, and keeps what it reads.
ENDLESS_SECONDS = 5.0
ENDLESS_BYTES_A_SECOND = 4_000_000

Failure = Literal["", "close", "reset", "reset_unread", "hang", "garbage"]


@dataclass(frozen=True, slots=True)
class Step:
    """What to do with one request, or with `times` of them.

    `delay` seconds pass before the answer; with `drip` each byte of it comes so many seconds after the one before
    (`drip_headers`: headers too). `interim` are statuses that are sent ahead of it. `endless` repeats the body until
    the client goes away, `cut` announces one byte more than comes. `failure` is instead of an answer: close, reset,
    reset_unread (before the body is read), hang, garbage (`body` without a head).
    """

    status: int = 200
    headers: Mapping[str, str] = field(default_factory=dict)
    body: str = ""
    raw: bytes = b""
    interim: Sequence[int] = ()
    delay: float = 0.0
    drip: float = 0.0
    drip_headers: bool = False
    endless: bool = False
    cut: bool = False
    failure: Failure = ""
    times: int = 1

    def answer(self) -> tuple[bytes, bytes]:
        """Return the head and the body."""
        body = self.raw or self.body.encode()
        lines = [f"HTTP/1.1 {self.status} Scripted", *(f"{name}: {value}" for name, value in self.headers.items())]
        if self.status < 200 or self.status in (204, 304):  # never have a body (RFC 9110, section 6.4.1)
            body = b""
        elif not self.endless:
            lines.append(f"Content-Length: {len(body) + self.cut}")
        before = "".join(f"HTTP/1.1 {status} Interim\r\nLink: </x>; rel=preload\r\n\r\n" for status in self.interim)
        return (before + "\r\n".join([*lines, "", ""])).encode("latin-1"), body


@dataclass(frozen=True, slots=True)
class Received:
    """A request as it came; `at` in epoch seconds."""

    at: float
    method: str
    path: str
    headers: Mapping[str, str]
    body: str


class Endpoint:
    """The endpoint; `port` 0 takes a free one. A `context` makes it speak TLS."""

    def __init__(self, port: int = 0, context: ssl.SSLContext | None = None) -> None:
        self.telegram = Telegram()
        self.slack = Slack()
        self.discord = Discord()
        self.received: list[Received] = []
        self._scripts: dict[str, list[Step]] = {}
        self._defaults: dict[str, Step] = {}
        self._lock = Lock()
        self._server = _Server(port, self, context)
        self._scheme = "https" if context else "http"
        self.port: int = self._server.server_address[1]

    def __enter__(self) -> Self:
        Thread(target=self._server.serve_forever, args=(0.02,), daemon=True).start()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, tb: TracebackType | None) -> None:
        self._server.shutdown()
        self._server.server_close()

    def url(self, path: str = "") -> str:
        """Return the address of a path."""
        return f"{self._scheme}://127.0.0.1:{self.port}{path}"

    def script(self, path: str, *steps: Step, default: Step | None = None) -> None:
        """Answer the next requests to a path by these steps, and later ones by the default."""
        with self._lock:
            self._scripts[path] = [step for step in steps for _ in range(step.times)]
            self._defaults[path] = default or Step()

    def requests(self, path: str | None = None) -> list[Received]:
        """Return what came, in order."""
        with self._lock:
            return [request for request in self.received if path in (None, request.path)]

    def take(self, path: str) -> Step | None:
        """Return what to do with a request that has just come; None if its path has no script."""
        with self._lock:
            steps = self._scripts.get(path)
            return steps.pop(0) if steps else self._defaults.get(path)

    def unscript(self, path: str) -> None:
        """Forget the script of a path."""
        with self._lock:
            self._scripts.pop(path, None)
            self._defaults.pop(path, None)

    def note(self, request: Received) -> None:
        """Remember a request."""
        with self._lock:
            self.received.append(request)

    def imitate(self, path: str, headers: Mapping[str, str], body: str) -> Step:
        """Answer a request as the provider whose path it is; an empty 200 if it is none's."""
        token, _, method = path.removeprefix("/bot").partition("/")
        if path.startswith("/bot") and method == "sendMessage":
            status, reply = self.telegram.send_message(token, json.loads(body))
            return Step(status, {"Content-Type": "application/json"}, json.dumps(reply))
        answer = self.slack.answer(path, headers, body) or self.discord.answer(path, headers, body)
        return Step(*answer) if answer else Step()

    def control(self, path: str, body: str) -> Step:
        """Answer a control request."""
        if path == "/_script":
            for target, script in json.loads(body).items():
                self.script(target, *map(_step, script.get("steps", [])), default=_step(script.get("default", {})))
        elif path == "/_telegram":
            self.telegram.configure(json.loads(body))
        elif path in ("/_slack", "/_discord"):
            imitation = self.slack if path == "/_slack" else self.discord
            imitation.configure(json.loads(body or "{}"))
            with imitation.lock:
                return Step(body=json.dumps(imitation.messages))
        elif path == "/_requests":
            return Step(body=json.dumps([asdict(request) for request in self.requests()]))
        elif path == "/_messages":
            with self.telegram.lock:
                return Step(body=json.dumps(self.telegram.messages))
        return Step(body="{}")


def _step(settings: Mapping[str, Any]) -> Step:
    known = {each.name for each in fields(Step)} - {"raw"}
    if unknown := set(settings) - known:
        raise ValueError(f"unknown step fields {sorted(unknown)}: allowed are {sorted(known)}")
    return Step(**settings)


class _Server(ThreadingHTTPServer):
    request_queue_size = 256
    daemon_threads = True

    def __init__(self, port: int, endpoint: Endpoint, context: ssl.SSLContext | None) -> None:
        self.endpoint = endpoint
        self.context = context
        super().__init__(("127.0.0.1", port), _Handler)

    def finish_request(self, request: Any, client_address: Any) -> None:
        if self.context is None:
            return super().finish_request(request, client_address)
        # Here, in the connection's own thread: a handshake that hangs must not stop the others.
        with self.context.wrap_socket(request, server_side=True) as secured:
            return super().finish_request(secured, client_address)

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Say nothing: clients that go away are what this endpoint is for."""


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True
    server: _Server

    def _serve(self) -> None:
        endpoint = self.server.endpoint
        if self.path.startswith("/_"):
            return self._answer(endpoint.control(self.path, self._body()))
        scripted = endpoint.take(self.path)
        step = scripted or Step()
        body = "" if step.failure == "reset_unread" else self._body()
        endpoint.note(Received(time.time(), self.command, self.path, dict(self.headers), body))
        if scripted is None:
            step = endpoint.imitate(self.path, dict(self.headers), body)
        time.sleep(step.delay)
        if step.failure == "garbage":
            self.wfile.write(step.body.encode())
        return self._fail(step.failure) if step.failure else self._answer(step)

    do_GET = do_POST = do_PUT = _serve

    def _body(self) -> str:
        return self.rfile.read(int(self.headers.get("Content-Length", 0))).decode()

    def _fail(self, failure: Failure) -> None:
        self.close_connection = True
        if failure == "hang":
            self.connection.recv(1)  # until the client goes away
        elif failure.startswith("reset"):  # a reset instead of an orderly end
            self.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
            self.connection.close()

    def _answer(self, step: Step) -> None:
        head, body = step.answer()
        self._write(head, step.drip if step.drip_headers else 0)
        self._write(body, step.drip)
        end = time.monotonic() + ENDLESS_SECONDS
        while step.endless and time.monotonic() < end:
            self._write(body or b"x", step.drip)
            time.sleep(len(body) / ENDLESS_BYTES_A_SECOND)
        self.close_connection = self.close_connection or step.cut or step.endless

    def _write(self, data: bytes, drip: float) -> None:
        for piece in (data[i : i + 1] for i in range(len(data))) if drip else (data,):
            self.wfile.write(piece)
            time.sleep(drip)

    def log_message(self, format: str, *args: Any) -> None:
        """Stay quiet."""


if __name__ == "__main__":
    with Endpoint(int(sys.argv[1])):
        while True:
            time.sleep(3600)
