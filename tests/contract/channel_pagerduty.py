"""PagerDuty's Events API v2, as its documents have it answer."""

import json

from infra.local.endpoint import Received, Step
from redeliver.core.outcome import CREDENTIALS_REFUSED, Outcome, Reject, Retry
from tests.contract.channel_cases import Described, Expected

ROUTING_KEY = "R0123456789abcdefABCDEF012345678"
PATH = "/v2/enqueue"
ACCEPTED = {"status": "success", "message": "Event processed", "dedup_key": "CVE-2021-44228"}


def invalid(*errors: str, message: str = "Event object is invalid") -> Step:
    """Return a refusal as PagerDuty spells it."""
    listed = {"errors": errors} if errors else {}
    return Step(400, body=json.dumps({"status": "invalid event", "message": message, **listed}))


def bad(step: Step, outcome: type[Outcome], reason: str) -> Expected:
    return Expected(step=step, outcome=outcome, reason=reason)


def fits(received: Received) -> bool:
    event = json.loads(received.body)
    summary = event.get("payload", {}).get("summary", "")
    return len(received.body.encode()) <= 512_000 and len(summary) <= 1024 and len(event["dedup_key"]) <= 255


ANSWERS = {
    "success without a status": bad(Step(202, body="{}"), Retry, "unreadable_answer"),
    "short key": bad(
        invalid("Length of 'routing_key' is incorrect (should be 32 characters)"), Retry, CREDENTIALS_REFUSED
    ),
    "odd key": bad(invalid("'routing_key' cannot contain non-alphanumeric characters."), Retry, CREDENTIALS_REFUSED),
    "unknown key": bad(invalid(message="Invalid routing key"), Retry, CREDENTIALS_REFUSED),
    "long summary": bad(invalid("'summary' is too long (maiximum is 1024 characters)"), Reject, "too_long"),
    "invalid": bad(invalid("'payload.severity' is missing or blank"), Reject, "invalid_event"),
    "invalid without errors": bad(invalid(), Reject, "invalid_event"),
    "somebody else's 400": bad(Step(400, body="<html>"), Retry, "http_400"),
    "errors of another shape": bad(Step(400, body='{"errors": {"a": 1}}'), Retry, "http_400"),
    "busy": bad(Step(429), Retry, "http_429"),
    "busy, with a wait": Expected(step=Step(429, {"Retry-After": "9"}), outcome=Retry, reason="http_429", wait=9),
    "server": bad(Step(500), Retry, "http_500"),
}

DESCRIPTIONS = (
    Described(
        type="pagerduty",
        own=lambda base: {"routing_key": ROUTING_KEY, "api_base": base},
        path=PATH,
        secrets=(ROUTING_KEY,),
        success=Step(202, body=json.dumps(ACCEPTED)),
        answers=ANSWERS,
        body_decides=True,
        repeatable=True,
        fits=fits,
        text=lambda received: json.dumps(json.loads(received.body), indent=1, ensure_ascii=False),
    ),
)
