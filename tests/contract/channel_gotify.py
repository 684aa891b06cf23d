"""Gotify, as its server's source has it answer."""

import json

from infra.local.endpoint import Received, Step
from redeliver.core.outcome import CREDENTIALS_REFUSED, Reject, Retry
from tests.contract.channel_cases import Described, Expected

TOKEN = "AIM-Ptoh.ZfceYW"
PATH = "/gotify/message"


def refused(status: int, error: str, description: str) -> Step:
    """Return a refusal as error/handler.go spells it."""
    return Step(status, body=json.dumps({"error": error, "errorCode": status, "errorDescription": description}))


def text(received: Received) -> str:
    sent = json.loads(received.body)
    others = {name: value for name, value in sent.items() if name not in ("title", "message")}
    return f"{json.dumps(others)}\n{sent.get('title', '(the name of the application)')}\n\n{sent['message']}"


def fits(received: Received) -> bool:
    sent = json.loads(received.body)
    return 0 < len(sent["message"].encode(errors="replace")) <= 65_535


UNAUTHORIZED = refused(
    401, "Unauthorized", "you need to provide a valid access token or user credentials to access this api"
)
ANSWERS = {
    "success of another": Expected(step=Step(body='{"ok": true}'), outcome=Retry, reason="unreadable_answer"),
    "no message": Expected(
        step=refused(400, "Bad Request", "Field 'message' is required"), outcome=Reject, reason="refused"
    ),
    "bad request of another": Expected(step=Step(400), outcome=Retry, reason="http_400"),
    "bad token": Expected(step=UNAUTHORIZED, outcome=Retry, reason=CREDENTIALS_REFUSED),
    "a client's token": Expected(
        step=refused(403, "Forbidden", "you are not allowed to access this api"),
        outcome=Retry,
        reason=CREDENTIALS_REFUSED,
    ),
    "not found": Expected(step=refused(404, "Not Found", "page not found"), outcome=Retry, reason="http_404"),
    "database": Expected(
        step=refused(500, "Internal Server Error", "database is locked"), outcome=Retry, reason="http_500"
    ),
    "busy proxy": Expected(step=Step(503, {"Retry-After": "40"}), outcome=Retry, reason="http_503", wait=40),
}

DESCRIPTIONS = (
    Described(
        type="gotify",
        own=lambda base: {"url": f"{base}/gotify/", "token": TOKEN},
        path=PATH,
        secrets=(TOKEN,),
        success=Step(body=json.dumps({"id": 25, "appid": 5, "message": "Update now.", "title": "log4j"})),
        answers=ANSWERS,
        body_decides=True,
        fits=fits,
        text=text,
    ),
)
