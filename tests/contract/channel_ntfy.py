"""ntfy, as its server's source has it answer."""

import json

from infra.local.endpoint import Received, Step
from redeliver.core.outcome import CREDENTIALS_REFUSED, Gone, Outcome, Reject, Retry
from tests.contract.channel_cases import Described, Expected

TOPIC = "backups-9fQx7T2m"
TOKEN = "tk_AgQdq7mVBoFD37zQVN29RhuMzNIz2"
PUBLISHED = {"id": "sPs71M8A2T", "time": 1772366400, "event": "message", "topic": "backups", "message": "Update now."}


def refused(status: int, code: int, error: str) -> Step:
    """Return an error as ntfy spells it."""
    body = json.dumps({"code": code, "http": status, "error": error, "link": "https://ntfy.sh/docs/publish/"})
    return Step(status, {"Content-Type": "application/json"}, body)


def bad(status: int, code: int, error: str, outcome: type[Outcome], reason: str) -> Expected:
    return Expected(step=refused(status, code, error), outcome=outcome, reason=reason)


def text(received: Received) -> str:
    message = json.loads(received.body)
    others = {name: value for name, value in message.items() if name != "message"}
    return f"{json.dumps(others, ensure_ascii=False)}\n\n{message['message']}"


def fits(received: Received) -> bool:
    """Tell whether ntfy would take it as a message, and not as an attachment (`util.Peek`, `transformBodyJSON`)."""
    message = json.loads(received.body)["message"].encode("utf-8", "replace")
    return len(message) < 4096 and len(received.body.encode()) <= 2 * 4096


ANSWERS = {
    "no message": Expected(step=Step(body='{"id": "x", "event": "open"}'), outcome=Retry, reason="unreadable_answer"),
    "no id": Expected(step=Step(body='{"event": "message"}'), outcome=Retry, reason="unreadable_answer"),
    "priority": bad(400, 40007, "invalid priority parameter", Reject, "invalid_message"),
    "topic": bad(400, 40009, "invalid request: topic invalid", Gone, "topic_invalid"),
    "topic's name": bad(400, 40010, "invalid request: topic name is not allowed", Gone, "topic_invalid"),
    "encoding": bad(400, 40011, "invalid message: message must be UTF-8 encoded", Reject, "encoding"),
    "attachment": bad(400, 40014, "invalid request: attachments not allowed", Reject, "too_long"),
    "no message JSON": bad(400, 40017, "request body must be message JSON", Reject, "invalid_message"),
    "no JSON": bad(400, 40024, "invalid request: request body must be valid JSON", Reject, "invalid_message"),
    "something new": bad(400, 40099, "invalid request: something new", Retry, "http_400"),
    "unauthorized": bad(401, 40101, "unauthorized", Retry, CREDENTIALS_REFUSED),
    "forbidden": bad(403, 40301, "forbidden", Retry, CREDENTIALS_REFUSED),
    "not ntfy's root": bad(404, 40401, "page not found", Retry, "http_404"),
    "large attachment": bad(413, 41301, "attachment too large, or bandwidth limit reached", Reject, "too_long"),
    "large JSON": bad(413, 41303, "JSON body too large", Reject, "too_long"),
    "a proxy's 413": Expected(step=Step(413, body="<html>"), outcome=Retry, reason="http_413"),
    "requests": bad(429, 42901, "limit reached: too many requests, please be nice", Retry, "http_429"),
    "quota": bad(429, 42908, "limit reached: daily message quota reached", Retry, "http_429"),
    "a proxy's 429": Expected(step=Step(429, {"Retry-After": "7"}), outcome=Retry, reason="http_429", wait=7),
    "server": bad(500, 50001, "internal server error", Retry, "http_500"),
    "no subscriber": bad(507, 50701, "topic is inactive; no device available", Retry, "no_subscriber"),
}

DESCRIPTIONS = (
    Described(
        type="ntfy",
        own=lambda base: {"server": base, "topic": TOPIC, "token": TOKEN},
        path="/",
        secrets=(TOPIC, TOKEN),
        success=Step(body=json.dumps(PUBLISHED)),
        answers=ANSWERS,
        body_decides=True,
        fits=fits,
        text=text,
    ),
)
