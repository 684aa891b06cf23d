"""The imitations of Slack and Discord answer as the providers' documents say."""

import http.client
import json
from typing import Any

import pytest

from infra.local.endpoint import Endpoint

HOOK = "/services/T1/B1/x"
METHOD = "/api/chat.postMessage"
WEBHOOK = "/api/v10/webhooks/1/token"


def call(
    endpoint: Endpoint, path: str, body: object = None, method: str = "POST", **headers: str
) -> tuple[int, dict[str, str], str]:
    connection = http.client.HTTPConnection("127.0.0.1", endpoint.port, timeout=5)
    try:
        sent = body if isinstance(body, str) else json.dumps(body)
        connection.request(method, path, sent, {"Content-Type": "application/json", **headers})
        answer = connection.getresponse()
        return answer.status, dict(answer.headers), answer.read().decode()
    finally:
        connection.close()


def section(text: str) -> dict[str, Any]:
    return {"type": "section", "text": {"type": "mrkdwn", "text": text}}


SLACK_REFUSALS: dict[str, dict[str, Any]] = {
    "no_text": {},
    "msg_too_long": {"text": "x" * 40_001},
    "too_many_attachments": {"text": "x", "attachments": [{}] * 101},
    "invalid_blocks": {"text": "x", "blocks": [section("x" * 3001)]},
    "invalid_attachments": {"attachments": [{"blocks": [section("x")] * 51}]},
    "msg_blocks_too_long": {"text": "x", "blocks": [section("x" * 3000)] * 5},
}


@pytest.mark.parametrize("error", SLACK_REFUSALS)
def test_slack_refuses_a_message(error: str) -> None:
    message = SLACK_REFUSALS[error]
    with Endpoint() as endpoint:
        assert call(endpoint, HOOK, message)[::2] == (400, error)
        status, _, reply = call(endpoint, METHOD, {"channel": "C1", **message}, Authorization="Bearer xoxb-1")
        assert (status, json.loads(reply)) == (200, {"ok": False, "error": error})
        assert not endpoint.slack.messages


def test_slack_is_told_and_asked_over_http() -> None:
    with Endpoint() as endpoint:
        settings = {
            "errors": {"T1/B1/x": "channel_is_archived", "C2": "not_in_channel"},
            "limits": {"*": [1, 7]},
            "tokens": ["xoxb-1"],
        }
        call(endpoint, "/_slack", settings, "PUT")
        status, headers, _ = call(endpoint, HOOK, {"text": "x"})
        assert (status, headers["Retry-After"]) == (429, "7")
        assert call(endpoint, HOOK, {"text": "x"})[::2] == (410, "channel_is_archived")
        call(endpoint, "/_slack", {"errors": {"T1/B1/x": None}}, "PUT")
        assert call(endpoint, HOOK, "{")[::2] == (400, "invalid_payload")
        assert call(endpoint, HOOK, {"text": "x"})[::2] == (200, "ok")
        assert json.loads(call(endpoint, "/_slack", "", "GET")[2]) == {"T1/B1/x": [{"text": "x"}]}


@pytest.mark.parametrize(
    ("authorization", "channel", "error"),
    [
        ("", "C1", "not_authed"),
        ("Bearer xoxb-2", "C1", "invalid_auth"),
        ("Bearer xoxb-1", "C2", "not_in_channel"),
        ("Bearer xoxb-1", "", "channel_not_found"),
        ("Bearer xoxb-1", "C1", None),
    ],
)
def test_slack_knows_its_tokens_and_channels(authorization: str, channel: str, error: str | None) -> None:
    with Endpoint() as endpoint:
        endpoint.slack.configure({"errors": {"C2": "not_in_channel"}, "tokens": ["xoxb-1"]})
        message = {"channel": channel, "text": "x"}
        reply = json.loads(call(endpoint, METHOD, message, Authorization=authorization)[2])
        assert (reply["ok"], reply.get("error")) == (error is None, error)
        endpoint.slack.configure({"limits": {channel: [1, 9]}})
        status, headers, body = call(endpoint, METHOD, message, Authorization=authorization)
        assert (status, headers["Retry-After"], json.loads(body)["error"]) == (429, "9", "ratelimited")


@pytest.mark.parametrize(
    ("message", "code"),
    [
        ("{", 50109),
        ([], 50035),
        ({}, 50006),
        ({"content": "x" * 2001}, 50035),
        ({"embeds": [{"description": "x"}] * 11}, 50035),
        ({"embeds": [{"description": "x" * 4097}]}, 50035),
        ({"embeds": [{"title": "x" * 257}]}, 50035),
        ({"embeds": [{"description": "x" * 4000}, {"description": "x" * 2001}]}, 50035),
    ],
)
def test_discord_refuses_a_message(message: object, code: int) -> None:
    with Endpoint() as endpoint:
        status, _, reply = call(endpoint, WEBHOOK, message)
        assert (status, json.loads(reply)["code"]) == (400, code)
        assert not endpoint.discord.messages


def test_discord_is_told_and_asked_over_http() -> None:
    with Endpoint() as endpoint:
        settings = {
            "deleted": ["2"],
            "unknown": ["8"],
            "tokens": {"3": "right"},
            "limits": {"1": [1, 0.5, "global"], "*": [1, 7, "edge"]},
        }
        call(endpoint, "/_discord", settings, "PUT")
        message = {"content": "x"}
        status, headers, reply = call(endpoint, WEBHOOK, message)
        assert (status, headers["Retry-After"]) == (429, "1")
        assert (json.loads(reply)["retry_after"], json.loads(reply)["global"]) == (0.5, True)
        status, headers, reply = call(endpoint, WEBHOOK, message)
        assert (status, headers["Retry-After"], reply[:9]) == (429, "7", "<!DOCTYPE")
        assert json.loads(call(endpoint, "/api/webhooks/2/token", message)[2])["code"] == 10015
        status, _, reply = call(endpoint, "/api/webhooks/3/wrong", message)
        assert (status, json.loads(reply)["code"]) == (401, 50027)
        assert json.loads(call(endpoint, f"{WEBHOOK}?thread_id=8", message)[2])["code"] == 10003
        assert call(endpoint, WEBHOOK, message)[0] == 204
        status, _, reply = call(endpoint, f"{WEBHOOK}?wait=true", message)
        assert (status, json.loads(reply)["webhook_id"]) == (200, "1")
        assert json.loads(call(endpoint, "/_discord", "", "GET")[2]) == {"1": [message, message]}
