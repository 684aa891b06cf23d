"""Pushover, as its documents have it answer."""

import json
from typing import Any
from urllib.parse import parse_qsl

from infra.local.endpoint import Received, Step
from redeliver.core.outcome import CREDENTIALS_REFUSED, Delivered, Gone, Reject, Retry
from tests.contract.channel_cases import Described, Expected

TOKEN = "azGDORePK8gMaC0QOYAMyEEuzJnyUi"
USER = "uQiRzpo4DXghDmr9QzzfQu27cmVRsG"
PATH = "/1/messages.json"
FAR_FUTURE = 4_000_000_000  # epoch seconds: the longest wait there is


def refused(error: str, status: int = 400, **named: Any) -> Step:
    """Return a refusal, with the parameter that is named beside `errors`."""
    request = "5042853c-402d-4a18-abcb-168734a801de"
    return Step(status, body=json.dumps({**named, "errors": [error], "status": 0, "request": request}))


def sent(received: Received) -> dict[str, str]:
    return dict(parse_qsl(received.body, keep_blank_values=True, strict_parsing=True))


def text(received: Received) -> str:
    fields = sent(received)
    others = {name: value for name, value in fields.items() if name not in ("title", "message")}
    return f"{json.dumps(others)}\n{fields.get('title', '(the name of the application)')}\n\n{fields['message']}"


def fits(received: Received) -> bool:
    fields = sent(received)
    return 0 < len(fields["message"]) <= 1024 and len(fields.get("title", "")) <= 250


QUOTA = {"X-Limit-App-Limit": "10000", "X-Limit-App-Remaining": "0", "X-Limit-App-Reset": str(FAR_FUTURE)}
NO_USER = "user identifier is not a valid user, group, or subscribed user key"
ANSWERS = {
    "success that says no": Expected(step=Step(body='{"status":0}'), outcome=Retry, reason="unreadable_answer"),
    "success without status": Expected(step=Step(body="{}"), outcome=Retry, reason="unreadable_answer"),
    "nobody to send to": Expected(
        step=Step(body='{"info":"no active devices to send to","status":1,"request":"5042853c"}'),
        outcome=Gone,
        reason="no_devices",
    ),
    "success with a remark": Expected(step=Step(body='{"status":1,"info":"a remark"}'), outcome=Delivered),
    "bad token": Expected(
        step=refused("application token is invalid", token="invalid"), outcome=Retry, reason=CREDENTIALS_REFUSED
    ),
    "bad user": Expected(step=refused(NO_USER, user="invalid"), outcome=Gone, reason="user_invalid"),
    "no message": Expected(
        step=refused("message cannot be blank", message="cannot be blank"), outcome=Reject, reason="message_refused"
    ),
    "another parameter": Expected(
        step=refused("expire must be supplied with priority=2", expire="must be supplied with priority=2"),
        outcome=Reject,
        reason="parameter_refused",
    ),
    "400 of another": Expected(step=Step(400, body="<html>"), outcome=Retry, reason="http_400"),
    "quota": Expected(
        step=Step(429, QUOTA, refused("application has exceeded current limit").body),
        outcome=Retry,
        reason="http_429",
        wait=366 * 86_400,
    ),
    "down": Expected(step=Step(500), outcome=Retry, reason="http_500", wait=5),
    "down for longer": Expected(step=Step(503, {"Retry-After": "40"}), outcome=Retry, reason="http_503", wait=40),
    "down for less": Expected(step=Step(503, {"Retry-After": "1"}), outcome=Retry, reason="http_503", wait=5),
}

DESCRIPTIONS = (
    Described(
        type="pushover",
        own=lambda base: {"token": TOKEN, "user": USER, "api_base": base},
        path=PATH,
        secrets=(TOKEN, USER),
        success=Step(body=json.dumps({"status": 1, "request": "647d2300-702c-4b38-8b2f-d56326ae460b"})),
        answers=ANSWERS,
        body_decides=True,
        least_pause=5.0,
        fits=fits,
        text=text,
    ),
)
