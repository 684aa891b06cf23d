"""What lies between a function and its DynamoDB, so that a test can have it fail."""

import json
from contextlib import closing
from http.client import HTTPConnection
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Event, Thread
from typing import Any, Self
from urllib.parse import urlsplit

PASSED_ON = ("X-Amz-Target", "X-Amz-Date", "Content-Type", "Authorization")


class Relay(ThreadingHTTPServer):
    """Hands requests on to the DynamoDB at an address, but for what it is told to refuse or to leave unanswered."""

    daemon_threads = True

    def __init__(self, target: str) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.target = urlsplit(target).netloc
        self.url = f"http://127.0.0.1:{self.server_address[1]}"
        self.over = Event()
        self._silent: set[str] = set()
        self._refused: dict[tuple[str, str], str] = {}

    def __enter__(self) -> Self:
        Thread(target=self.serve_forever, args=(0.02,), daemon=True).start()
        return self

    def __exit__(self, *exception: Any) -> None:
        self.over.set()
        self.shutdown()
        self.server_close()

    def silence(self, operation: str) -> None:
        """Leave an operation unanswered from now on."""
        self._silent.add(operation)

    def refuse(self, operation: str, code: str, about: str = "") -> None:
        """Answer an operation with an error from now on, if its request holds a text."""
        self._refused[operation, about] = code

    def silent(self, operation: str) -> bool:
        """Return whether an operation gets no answer."""
        return operation in self._silent

    def refusal(self, operation: str, body: bytes) -> str | None:
        """Return the code of the error that a request is answered with, if it is."""
        refused = self._refused.items()
        return next((code for (name, about), code in refused if name == operation and about in body.decode()), None)


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True
    server: Relay

    def do_POST(self) -> None:
        operation = self.headers["X-Amz-Target"].rpartition(".")[2]
        body = self.rfile.read(int(self.headers["Content-Length"]))
        if self.server.silent(operation):
            self.server.over.wait()
            self.close_connection = True
        elif code := self.server.refusal(operation, body):
            error = {"__type": f"com.amazonaws.dynamodb.v20120810#{code}", "message": f"{operation} was refused"}
            self._answer(400, json.dumps(error).encode())
        else:
            self._hand_on(body)

    def _hand_on(self, body: bytes) -> None:
        with closing(HTTPConnection(self.server.target, timeout=30)) as connection:
            connection.request("POST", "/", body, {name: self.headers[name] for name in PASSED_ON})
            response = connection.getresponse()
            self._answer(response.status, response.read())

    def _answer(self, status: int, body: bytes) -> None:
        self.send_response(status)
        self.send_header("Content-Type", "application/x-amz-json-1.0")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *args: Any) -> None:
        """Stay quiet."""
