import http.client
import json
import threading
import time
from typing import Any
from urllib.request import Request, urlopen

import pytest

from infra.local.endpoint import Endpoint, Step


def call(endpoint: Endpoint, path: str, body: object = None, method: str = "POST") -> tuple[int, Any]:
    connection = http.client.HTTPConnection("127.0.0.1", endpoint.port, timeout=5)
    try:
        connection.request(method, path, json.dumps(body))
        answer = connection.getresponse()
        return answer.status, json.loads(answer.read() or b"null")
    finally:
        connection.close()


def test_steps_then_the_default() -> None:
    with Endpoint() as endpoint:
        endpoint.script("/a", Step(503, times=2), Step(201), default=Step(418))
        assert [call(endpoint, "/a")[0] for _ in range(5)] == [503, 503, 201, 418, 418]
        assert call(endpoint, "/b")[0] == 200
        assert [request.path for request in endpoint.requests()] == ["/a"] * 5 + ["/b"]


def test_it_is_told_and_asked_over_http() -> None:
    with Endpoint() as endpoint:
        call(endpoint, "/_script", {"/a": {"steps": [{"status": 503}], "default": {"status": 202}}}, "PUT")
        assert [call(endpoint, "/a", {"n": n})[0] for n in range(2)] == [503, 202]
        _, requests = call(endpoint, "/_requests", method="GET")
        assert [(request["path"], request["body"]) for request in requests] == [("/a", '{"n": 0}'), ("/a", '{"n": 1}')]
        call(endpoint, "/_telegram", {"blocked": ["7"], "limits": {"*": [1, 3]}}, "PUT")
        assert call(endpoint, "/bot1:x/sendMessage", {"chat_id": 7, "text": "x"})[0] == 429
        assert call(endpoint, "/bot1:x/sendMessage", {"chat_id": 7, "text": "x"})[0] == 403
        assert call(endpoint, "/bot1:x/sendMessage", {"chat_id": 8, "text": "x"})[0] == 200
        assert call(endpoint, "/_messages", method="GET")[1] == {"8": ["x"]}


@pytest.mark.parametrize("failure", ["close", "reset", "reset_unread"])
def test_connections_break_on_purpose(failure: Any) -> None:
    with Endpoint() as endpoint:
        endpoint.script("/a", Step(failure=failure))
        with pytest.raises((http.client.RemoteDisconnected, ConnectionResetError)):
            call(endpoint, "/a")


def test_a_body_is_cut_or_dripped() -> None:
    with Endpoint() as endpoint:
        endpoint.script("/a", Step(body="1234", cut=True), Step(body="1234", drip=0.02))
        with pytest.raises(http.client.IncompleteRead):
            call(endpoint, "/a")
        began = time.monotonic()
        assert call(endpoint, "/a")[1] == 1234
        assert time.monotonic() - began > 0.05


@pytest.mark.parametrize(
    ("message", "status", "description"),
    [
        ({"chat_id": 1, "text": " "}, 400, "Bad Request: message text is empty"),
        ({"chat_id": 1, "text": "x" * 4097}, 400, "Bad Request: message is too long"),
        ({"chat_id": 1, "text": "🚀" * 2049}, 400, "Bad Request: message is too long"),
        ({"chat_id": 1, "text": "<b", "parse_mode": "HTML"}, 400, "Bad Request: can't parse entities"),
        ({"text": "x"}, 400, "Bad Request: chat not found"),
        ({"chat_id": 8, "text": "x"}, 400, "Bad Request: chat not found"),
        ({"chat_id": 7, "text": "x"}, 403, "Forbidden: bot was blocked by the user"),
        ({"chat_id": 9, "text": "x"}, 400, "Bad Request: group chat was upgraded"),
    ],
)
def test_telegram_refuses_as_documented(message: Any, status: int, description: str) -> None:
    with Endpoint() as endpoint:
        endpoint.telegram.configure({"blocked": ["7"], "unknown": ["8"], "moved": {"9": "-1001"}})
        got, reply = call(endpoint, "/bot1:x/sendMessage", message)
        assert (got, reply["ok"], reply["error_code"]) == (status, False, status)
        assert reply["description"].startswith(description)


def test_telegram_knows_its_tokens() -> None:
    with Endpoint() as endpoint:
        endpoint.telegram.configure({"tokens": ["1:right"]})
        assert call(endpoint, "/bot1:wrong/sendMessage", {"chat_id": 1, "text": "x"})[0] == 401
        assert call(endpoint, "/bot1:right/sendMessage", {"chat_id": 1, "text": "x"})[0] == 200


def test_64_clients_at_once() -> None:
    with Endpoint() as endpoint:
        endpoint.script("/a", default=Step(delay=0.05))
        statuses: list[int] = []

        def client() -> None:
            with urlopen(Request(endpoint.url("/a"), b"x"), timeout=5) as answer:
                statuses.append(answer.status)

        threads = [threading.Thread(target=client) for _ in range(64)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert statuses == [200] * 64
