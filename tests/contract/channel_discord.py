"""Discord, as its documents have a webhook answer."""

import json
from typing import Any

from infra.local.endpoint import Received, Step
from redeliver.core.outcome import CREDENTIALS_REFUSED, Gone, Outcome, Reject, Retry
from tests.contract.channel_cases import Described, Expected

TOKEN = "3d89bb7572e0fb30d8128367b3b1b44fecd1726de135cbe28a41f8b2f777c372ba2939e72279b94526ff5d1bd4358d65cf11"
WEBHOOK = f"/webhooks/223704706495545344/{TOKEN}"
PATH = f"/api/v10{WEBHOOK}?wait=true"
EDGE = "<!DOCTYPE html><title>Access denied | discord.com used Cloudflare to restrict access</title>error code: 1015"


def refused(status: int, code: int, message: str = "", **more: Any) -> Step:
    """Return an error as Discord spells it."""
    return Step(status, {"Content-Type": "application/json"}, json.dumps({"message": message, "code": code, **more}))


def limited(seconds: float, *, everywhere: bool = False, **more: Any) -> Step:
    """Return the answer to too many requests."""
    reply = {"message": "You are being rate limited.", "retry_after": seconds, "global": everywhere, **more}
    headers = {"Retry-After": str(int(seconds) + 1), "X-RateLimit-Scope": "global" if everywhere else "user"}
    return Step(429, headers, json.dumps(reply))


def coded(status: int, code: int, outcome: type[Outcome], reason: str) -> Expected:
    return Expected(step=refused(status, code), outcome=outcome, reason=reason)


def text(received: Received) -> str:
    """Return the embed as its reader sees it, below what else was sent."""
    message = json.loads(received.body)
    (embed,) = message.pop("embeds")
    shown = [f"#{embed['color']:06X}", embed["description"], *(embed.get("footer") or {}).values()]
    return "\n".join([received.path.rpartition("?")[2], json.dumps(message), "", *shown])


def fits(received: Received) -> bool:
    (embed,) = json.loads(received.body)["embeds"]
    length = len(embed["description"].encode("utf-16-le", "surrogatepass")) // 2
    return 0 < length <= 4096 and length + len(embed.get("footer", {}).get("text", "")) <= 6000


ANSWERS = {
    "no content": Expected(step=Step(204), outcome=Retry, reason="unreadable_answer"),
    "a success that is none": Expected(step=Step(body="<html>"), outcome=Retry, reason="unreadable_answer"),
    "unknown webhook": coded(404, 10015, Gone, "unknown_webhook"),
    "unknown channel": coded(404, 10003, Gone, "unknown_channel"),
    "any other 404": coded(404, 0, Retry, "http_404"),
    "bad token": coded(401, 50027, Retry, CREDENTIALS_REFUSED),
    "unauthorized": coded(401, 0, Retry, CREDENTIALS_REFUSED),
    "empty": coded(400, 50006, Reject, "empty"),
    "form body": Expected(
        step=refused(
            400,
            50035,
            "Invalid Form Body",
            errors={"embeds": {"0": {"description": {"_errors": [{"code": "BASE_TYPE_MAX_LENGTH"}]}}}},
        ),
        outcome=Reject,
        reason="invalid_form_body",
    ),
    "no JSON": coded(400, 50109, Reject, "invalid_json"),
    "too large": coded(413, 40005, Reject, "too_large"),
    "explicit": coded(403, 20009, Reject, "explicit_content"),
    "moderation": coded(400, 200000, Reject, "blocked"),
    "harmful links": coded(400, 240000, Reject, "harmful_links"),
    "a forum": coded(400, 220001, Retry, "thread_needed"),
    "disabled": coded(403, 40004, Retry, "disabled"),
    "any other 403": coded(403, 50013, Retry, "http_403"),
    "malformed": coded(400, 0, Retry, "http_400"),
    "limit": Expected(step=limited(64.57), outcome=Retry, reason="http_429", wait=65),
    "global limit": Expected(step=limited(30.2, everywhere=True), outcome=Retry, reason="http_429", wait=31),
    "limit of the channel": Expected(step=limited(40.1, code=20028), outcome=Retry, reason="write_limit", wait=41),
    "limit of the server": Expected(step=limited(40.1, code=20029), outcome=Retry, reason="write_limit", wait=41),
    "limit of the service": Expected(step=limited(40.1, code=40062), outcome=Retry, reason="service_limit", wait=41),
    "limit of the edge": Expected(
        step=Step(429, {"Content-Type": "text/html", "Retry-After": "1800"}, EDGE),
        outcome=Retry,
        reason="http_429",
        wait=1800,
    ),
    "overloaded": coded(503, 130000, Retry, "overloaded"),
    "no gateway": Expected(step=Step(502, body="<html>"), outcome=Retry, reason="http_502"),
}

DESCRIPTIONS = (
    Described(
        type="discord",
        own=lambda base: {"url": f"{base}/api{WEBHOOK}"},
        path=PATH,
        secrets=(TOKEN,),
        success=Step(body=json.dumps({"id": "1", "channel_id": "2", "content": ""})),
        answers=ANSWERS,
        body_decides=True,
        fits=fits,
        text=text,
        recipient="1134639024703815690",
    ),
)
