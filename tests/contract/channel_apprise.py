"""Apprise, for real: its `json://` service, which posts to any address."""

import json

import apprise

from infra.local.endpoint import Received, Step
from redeliver.channels.transport import Answer
from redeliver.core.outcome import Retry
from tests.contract.channel_cases import Described, Expected

apprise.Apprise.instantiate("json://localhost")  # loads all of the library, before any test's clock runs

PATH = "/hook/T0KEN-IN-PATH"
LOST = ("closed", "reset after the body was read", "reset before the body was read", "an answer that is no HTTP")


def answer(step: Step) -> Answer:
    """Return what Apprise makes of a step."""
    return Answer(step.status, b"yes" if 200 <= step.status <= 299 else b"no")


def message(received: Received) -> str:
    found: str = json.loads(received.body)["message"]
    return found


def failed(status: int) -> Expected:
    return Expected(step=Step(status), outcome=Retry, reason="apprise_failed")


DESCRIPTIONS = (
    Described(
        type="apprise",
        own=lambda base: {"url": f"json://{base.partition('://')[2]}{PATH}"},
        path=PATH,
        secrets=("T0KEN-IN-PATH",),
        success=Step(),
        answers={"no": failed(500), "busy": failed(429), "gone": failed(410)},
        body_decides=False,
        fits=lambda received: 0 < len(message(received)) <= 2000,
        http=False,
        yes_or_no=True,
        answer=answer,
        reasons=dict.fromkeys(LOST, "apprise_failed"),
    ),
)
