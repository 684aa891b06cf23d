"""An HTTP proxy on loopback in front of one target, that makes some requests fail.

    with FaultProxy(FaultPlan(seed, {Fault.LOST: 0.01}), DYNAMODB) as proxy:
        proxy.target = stack.endpoint_url

What meets no fault is forwarded as it came, the Host header included: AWS's signatures cover it.
"""

import http.client
import select
import socket
import struct
import time
from collections.abc import Sequence
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Lock, Thread
from types import TracebackType
from typing import Any, Self
from urllib.parse import urlsplit

from infra.local.faults.plan import LONGEST_DELAY, Fault, FaultPlan, Met
from infra.local.faults.service import Answer, Service

_OF_ONE_CONNECTION = frozenset({"connection", "keep-alive", "proxy-connection", "transfer-encoding", "content-length"})
_NOT_REACHED = Answer(502, body=b"the target of the fault proxy cannot be reached")


@dataclass(frozen=True, slots=True)
class Exchange:
    """A request that the target was asked, and what it answered; `at` in epoch seconds, when it came to the proxy."""

    at: float
    path: str
    body: bytes
    status: int
    met: Met | None


class FaultProxy:
    """The proxy, on a free port; `hang` is for how many seconds a request hangs: longer than its clients wait.

    `exchanges` holds what was forwarded, if `keep` is set.
    """

    def __init__(self, plan: FaultPlan, service: Service, *, hang: float, keep: bool = False) -> None:
        self.plan = plan
        self.service = service
        self.hang = hang
        self.target = ""
        self._keep = keep
        self._exchanges: list[Exchange] = []
        self._lock = Lock()
        self._server = _Server(("127.0.0.1", 0), _Handler)
        self._server.proxy = self

    def __enter__(self) -> Self:
        Thread(target=self._server.serve_forever, args=(0.02,), daemon=True).start()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, tb: TracebackType | None) -> None:
        self._server.shutdown()
        self._server.server_close()

    @property
    def url(self) -> str:
        """Return the address of the proxy."""
        return f"http://127.0.0.1:{self._server.server_address[1]}"

    @property
    def exchanges(self) -> Sequence[Exchange]:
        """Return what was forwarded so far, in the order in which it was answered."""
        with self._lock:
            return tuple(self._exchanges)

    def note(self, exchange: Exchange) -> None:
        """Remember what was forwarded."""
        if self._keep:
            with self._lock:
                self._exchanges.append(exchange)


class _Server(ThreadingHTTPServer):
    request_queue_size = 256
    daemon_threads = True
    proxy: FaultProxy

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Say nothing: clients that go away are what this proxy is for."""


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True
    server: _Server
    upstream: http.client.HTTPConnection | None = None

    def _serve(self) -> None:
        proxy, at = self.server.proxy, time.time()
        length = int(self.headers.get("Content-Length", 0))
        body = self.rfile.read(length)
        if len(body) < length:  # the client died while it sent
            return self._reset()
        met = proxy.plan.draw() if proxy.service.concerns(self.headers) else None
        answer = self._answer(proxy, at, body, met)
        if answer is None:
            return self._reset()
        head = [f"HTTP/1.1 {answer.status} {http.client.responses.get(answer.status, 'Unknown')}"]
        head += [f"{name}: {value}" for name, value in answer.headers if name.lower() not in _OF_ONE_CONNECTION]
        head.append(f"Content-Length: {len(answer.body)}")
        self.wfile.write("\r\n".join([*head, "", ""]).encode("latin-1") + answer.body)
        return None

    do_GET = do_POST = do_PUT = do_DELETE = _serve

    def _answer(self, proxy: FaultProxy, at: float, body: bytes, met: Met | None) -> Answer | None:
        """Return what the client is told, None for a connection that breaks."""
        fault = met and met.fault
        if fault is Fault.RESET:
            return None
        if met and fault in (Fault.ERROR, Fault.THROTTLE):
            return proxy.service.refusal(met)
        if met and fault in (Fault.DELAY, Fault.HANG):
            time.sleep(proxy.hang if fault is Fault.HANG else met.extent * LONGEST_DELAY)
        answer = self._forward(proxy.target, body)
        proxy.note(Exchange(at, self.path, body, answer.status, met))
        if met and fault is Fault.DONE_ERROR:
            return proxy.service.refusal(met)
        return None if fault in (Fault.LOST, Fault.HANG) else answer

    def _forward(self, target: str, body: bytes) -> Answer:
        try:
            connection = self._connection(target)
            connection.putrequest(self.command, self.path, skip_host=True, skip_accept_encoding=True)
            for name, value in self.headers.items():
                if name.lower() not in _OF_ONE_CONNECTION:
                    connection.putheader(name, value)
            connection.putheader("Content-Length", str(len(body)))
            connection.endheaders(body)
            response = connection.getresponse()
            return Answer(response.status, response.getheaders(), response.read())
        except (OSError, http.client.HTTPException):
            self.upstream = None
            return _NOT_REACHED

    def _connection(self, target: str) -> http.client.HTTPConnection:
        """Return the connection to the target that goes with the client's, made anew if it was closed."""
        if self.upstream is not None and self.upstream.sock is not None:
            if not select.select([self.upstream.sock], [], [], 0)[0]:
                return self.upstream
            self.upstream.close()  # there is nothing to be read but its end
        address = urlsplit(target)
        self.upstream = http.client.HTTPConnection(address.hostname or "", address.port, timeout=90)
        return self.upstream

    def finish(self) -> None:
        """End both connections."""
        if self.upstream is not None:
            self.upstream.close()
        super().finish()

    def _reset(self) -> None:
        self.close_connection = True
        self.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        self.connection.close()

    def log_message(self, format: str, *args: Any) -> None:
        """Stay quiet."""
