"""A webhook: any address that takes signed JSON."""

from infra.local.endpoint import Step
from redeliver.core.outcome import CREDENTIALS_REFUSED, Gone, Retry
from tests.contract.channel_cases import Described, Expected

SIGNING_SECRET = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"
HOOK = "/hook/T0KEN-IN-PATH"

DESCRIPTIONS = (
    Described(
        type="webhook",
        own=lambda base: {"url": f"{base}{HOOK}", "secret": SIGNING_SECRET, "headers": {"X-Key": "s3cret-header"}},
        path=HOOK,
        secrets=("T0KEN-IN-PATH", SIGNING_SECRET.removeprefix("whsec_"), "s3cret-header"),
        success=Step(),
        answers={
            "unauthorized": Expected(step=Step(401), outcome=Retry, reason=CREDENTIALS_REFUSED),
            "forbidden": Expected(step=Step(403), outcome=Retry, reason=CREDENTIALS_REFUSED),
            "gone": Expected(step=Step(410), outcome=Gone, reason="http_410"),
            "busy": Expected(step=Step(503, {"Retry-After": "40"}), outcome=Retry, reason="http_503", wait=40),
        },
        body_decides=False,
        repeatable=True,
    ),
)
