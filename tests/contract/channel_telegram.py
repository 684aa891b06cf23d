"""Telegram, as its documents have it answer."""

import json
from typing import Any

from infra.local.endpoint import Received, Step
from redeliver.core.outcome import CREDENTIALS_REFUSED, Gone, Reject, Retry
from tests.contract.channel_cases import Described, Expected

TOKEN = "123456789:AAHfiqksKZ8WmR2zSjiQ7_v4TMoFJzGh7kE"
PATH = f"/bot{TOKEN}/sendMessage"


def refused(status: int, description: str, **parameters: Any) -> Step:
    """Return a refusal as the Bot API spells it."""
    reply = {"ok": False, "error_code": status, "description": description, "parameters": parameters}
    return Step(status, body=json.dumps(reply))


def bad(description: str, outcome: type[Reject | Gone | Retry], reason: str) -> Expected:
    return Expected(step=refused(400, f"Bad Request: {description}"), outcome=outcome, reason=reason)


def forbidden(description: str) -> Expected:
    return Expected(step=refused(403, f"Forbidden: {description}"), outcome=Gone, reason="forbidden")


def text(received: Received) -> str:
    message = json.loads(received.body)
    others = {name: value for name, value in message.items() if name != "text"}
    return f"{json.dumps(others)}\n\n{message['text']}"


def fits(received: Received) -> bool:
    return len(json.loads(received.body)["text"].encode("utf-16-le")) // 2 <= 4096


ANSWERS = {
    "success that says no": Expected(step=Step(body='{"ok": false}'), outcome=Retry, reason="unreadable_answer"),
    "success without ok": Expected(step=Step(body="{}"), outcome=Retry, reason="unreadable_answer"),
    "markup": bad("can't parse entities: Unsupported start tag", Reject, "markup"),
    "too long": bad("message is too long", Reject, "too_long"),
    "empty": bad("message text is empty", Reject, "empty"),
    "empty, of old": bad("text must be non-empty", Reject, "empty"),
    "encoding": bad("text must be encoded in UTF-8", Reject, "encoding"),
    "no chat": bad("chat not found", Gone, "chat_not_found"),
    "no chat id": bad("chat_id is empty", Gone, "chat_not_found"),
    "no user": bad("user not found", Gone, "chat_not_found"),
    "no peer": bad("PEER_ID_INVALID", Gone, "chat_not_found"),
    "group deactivated": bad("group chat was deactivated", Gone, "chat_deactivated"),
    "group deactivated, of old": bad("group is deactivated", Gone, "chat_deactivated"),
    "no such thread": bad("message thread not found", Gone, "topic_not_found"),
    "topic deleted": bad("TOPIC_DELETED", Gone, "topic_not_found"),
    "topic closed": bad("TOPIC_CLOSED", Gone, "topic_closed"),
    "no rights": bad("have no rights to send a message", Gone, "no_rights"),
    "not enough rights": bad("not enough rights to send text messages to the chat", Gone, "no_rights"),
    "no administrator": bad("need administrator rights in the channel chat", Gone, "no_rights"),
    "no administrator, raw": bad("CHAT_ADMIN_REQUIRED", Gone, "no_rights"),
    "no write access": bad("CHAT_WRITE_FORBIDDEN", Gone, "no_rights"),
    "no text": bad("CHAT_SEND_PLAIN_FORBIDDEN", Gone, "no_rights"),
    "restricted": bad("CHAT_RESTRICTED", Gone, "no_rights"),
    "private channel": bad("CHANNEL_PRIVATE", Gone, "chat_not_found"),
    "no channel": bad("CHANNEL_INVALID", Gone, "chat_not_found"),
    "bad chat id": bad("CHAT_ID_INVALID", Gone, "chat_not_found"),
    "too long, raw": bad("MESSAGE_TOO_LONG", Reject, "too_long"),
    "empty, raw": bad("MESSAGE_EMPTY", Reject, "empty"),
    "too much markup": bad("entities too long", Reject, "markup"),
    "too much markup, raw": bad("ENTITIES_TOO_LONG", Reject, "markup"),
    "something new": bad("something new", Retry, "http_400"),
    "blocked": forbidden("bot was blocked by the user"),
    "user deactivated": forbidden("user is deactivated"),
    "kicked": forbidden("bot was kicked from the supergroup chat"),
    "cannot initiate": forbidden("bot can't initiate conversation with a user"),
    "403 of another": Expected(step=refused(403, ""), outcome=Retry, reason="http_403"),
    "bad token": Expected(step=refused(401, "Unauthorized"), outcome=Retry, reason=CREDENTIALS_REFUSED),
    "misshapen token": Expected(step=refused(404, "Not Found"), outcome=Retry, reason=CREDENTIALS_REFUSED),
    "flood": Expected(
        step=refused(429, "Too Many Requests: retry after 33", retry_after=33),
        outcome=Retry,
        reason="http_429",
        wait=33,
    ),
    "conflict": Expected(step=refused(409, "Conflict"), outcome=Retry, reason="http_409"),
    "restart": Expected(step=refused(500, "Internal Server Error: restart"), outcome=Retry, reason="http_500"),
}

DESCRIPTIONS = (
    Described(
        type="telegram",
        own=lambda base: {"bot_token": TOKEN, "chat_id": "42", "api_base": base},
        path=PATH,
        secrets=(TOKEN,),
        success=Step(body=json.dumps({"ok": True, "result": {"message_id": 1}})),
        answers=ANSWERS,
        body_decides=True,
        fits=fits,
        text=text,
        looks={"none": {}, "HTML": {"parse_mode": "HTML"}, "MarkdownV2": {"parse_mode": "MarkdownV2"}},
    ),
)
