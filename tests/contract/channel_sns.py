"""SNS, to a topic and to a phone number, as its documents have it answer."""

import json
import re
from typing import Any
from urllib.parse import parse_qs

from infra.local.endpoint import Received, Step
from redeliver.channels.transport import Answer
from redeliver.core.outcome import CREDENTIALS_REFUSED, Gone, Reject, Retry
from tests.contract.channel_aws import REASONS, as_told, by_code, common
from tests.contract.channel_cases import Described, Expected

LARGEST_MESSAGE = 262_144  # bytes, attributes included
LONGEST_SMS = 1600
XML = {"Content-Type": "text/xml"}


def refused(status: int, code: str) -> Step:
    """Return an error as a service of the query protocol spells it."""
    body = f"<ErrorResponse><Error><Type>Sender</Type><Code>{code}</Code><Message>no</Message></Error></ErrorResponse>"
    return Step(status, XML, body)


def published(result: str) -> Step:
    return Step(headers=XML, body=f"<PublishResponse><PublishResult>{result}</PublishResult></PublishResponse>")


def answer(step: Step) -> Answer:
    code = re.search("<Code>(.*)</Code>", step.body)
    return as_told(step.status, code[1] if code else "", "m1" if "<MessageId>" in step.body else "")


def form(received: Received) -> dict[str, str]:
    return {name: values[0] for name, values in parse_qs(received.body, keep_blank_values=True).items()}


def text(received: Received) -> str:
    fields = form(received)
    message = fields.pop("Message")
    return f"{json.dumps(fields, indent=2, ensure_ascii=False)}\n\n{message}"


def fits(received: Received) -> bool:
    fields = form(received)
    if "PhoneNumber" in fields:
        return len(fields["Message"].encode("utf-16-le")) // 2 <= LONGEST_SMS
    told = sum(len(value.encode()) for name, value in fields.items() if name.startswith("Message"))
    return told + len("kinddedup_key") <= LARGEST_MESSAGE and len(fields.get("Subject", "")) < 100


ANSWERS = {
    "success without an id": Expected(step=published("<Other/>"), outcome=Retry, reason="unreadable_answer"),
    "something new": Expected(step=refused(400, "SomethingNew"), outcome=Retry, reason="http_400"),
    "internal": Expected(step=refused(500, "InternalError"), outcome=Retry, reason="http_500"),
    **by_code(
        refused,
        (
            (400, "InvalidParameter", Reject, "invalid_parameter"),
            (400, "ParameterValueInvalid", Reject, "invalid_parameter"),
            (400, "ValidationException", Reject, "invalid_parameter"),
            (404, "NotFound", Gone, "topic_not_found"),
            (400, "EndpointDisabled", Gone, "endpoint_disabled"),
            (400, "PlatformApplicationDisabled", Retry, "platform_disabled"),
            (400, "OptedOut", Gone, "opted_out"),
            (403, "AuthorizationError", Retry, CREDENTIALS_REFUSED),
            (403, "InvalidSecurity", Retry, CREDENTIALS_REFUSED),
            (400, "KMSAccessDenied", Retry, CREDENTIALS_REFUSED),
            (403, "KMSOptInRequired", Retry, CREDENTIALS_REFUSED),
            (400, "KMSDisabled", Retry, "kms_disabled"),
            (400, "KMSInvalidState", Retry, "kms_invalid_state"),
            (400, "KMSNotFound", Retry, "kms_not_found"),
            (400, "KMSThrottling", Retry, "throttled"),
            (429, "Throttled", Retry, "throttled"),
        ),
    ),
    **common(refused),
}


def described(variant: str, own: dict[str, Any], recipient: str | None = None) -> Described:
    return Described(
        type="sns",
        variant=variant,
        own=lambda _: own,
        path="/",
        secrets=(),
        success=published("<MessageId>m1</MessageId>"),
        answers=ANSWERS,
        body_decides=True,
        fits=fits,
        text=text,
        recipient=recipient,
        http=False,
        answer=answer,
        environment=lambda base: {"AWS_ENDPOINT_URL_SNS": base},
        reasons=REASONS,
    )


DESCRIPTIONS = (
    described("topic", {"topic_arn": "arn:aws:sns:eu-central-1:123456789012:ops"}),
    described("fifo", {"topic_arn": "arn:aws:sns:eu-central-1:123456789012:ops.fifo"}),
    described("sms", {"phone_number": "+4915112345678"}, "+4915187654321"),
)
