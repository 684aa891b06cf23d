"""E-mail, as the documents of SES v2 have it answer."""

import json
from email.header import decode_header, make_header

from infra.local.endpoint import Received, Step
from redeliver.channels.transport import Answer
from redeliver.core.outcome import Reject, Retry
from tests.contract.channel_aws import REASONS, as_told, by_code, common
from tests.contract.channel_cases import Described, Expected

LARGEST_MESSAGE = 40_000_000  # of SES v2
CLIPPED = 102_000  # bytes of HTML, by Gmail


def refused(status: int, code: str) -> Step:
    """Return an error as a service of the REST-JSON protocol spells it."""
    headers = {"Content-Type": "application/json", "x-amzn-ErrorType": code}
    return Step(status, headers, json.dumps({"message": "no"}))


def answer(step: Step) -> Answer:
    return as_told(step.status, step.headers.get("x-amzn-ErrorType", ""), "m1" if "MessageId" in step.body else "")


def text(received: Received) -> str:
    """Return the message as a mail program would show it, and then its HTML."""
    message = json.loads(received.body)
    simple = message["Content"]["Simple"]
    headers = {
        "From": message["FromEmailAddress"],
        "To": ", ".join(message["Destination"]["ToAddresses"]),
        "Subject": str(make_header(decode_header(simple["Subject"]["Data"]))),
        **{each["Name"]: each["Value"] for each in simple["Headers"]},
    }
    shown = "\n".join(f"{name}: {value}" for name, value in headers.items())
    html = simple["Body"]["Html"]["Data"].replace("<div", "\n<div").replace("<h3", "\n<h3")
    return f"{shown}\n\n{simple['Body']['Text']['Data']}\n\n{html}"


def fits(received: Received) -> bool:
    simple = json.loads(received.body)["Content"]["Simple"]
    subject, parts = simple["Subject"]["Data"], simple["Body"]
    return (
        subject.isascii()
        and len(f"Subject: {subject}") <= 998
        and len(parts["Html"]["Data"].encode()) <= CLIPPED
        and len(received.body.encode()) <= LARGEST_MESSAGE
    )


ANSWERS = {
    "success without an id": Expected(step=Step(body="{}"), outcome=Retry, reason="unreadable_answer"),
    "something new": Expected(step=refused(400, "SomethingNew"), outcome=Retry, reason="http_400"),
    "internal": Expected(step=refused(500, "InternalFailure"), outcome=Retry, reason="http_500"),
    **by_code(
        refused,
        (
            (429, "TooManyRequestsException", Retry, "http_429"),
            (400, "LimitExceededException", Retry, "limit_exceeded"),
            (400, "SendingPausedException", Retry, "sending_paused"),
            (400, "AccountSuspendedException", Retry, "account_suspended"),
            (400, "MailFromDomainNotVerifiedException", Retry, "sender_not_verified"),
            (400, "MessageRejected", Retry, "message_rejected"),
            (404, "NotFoundException", Retry, "configuration_set_not_found"),
            (400, "BadRequestException", Reject, "bad_request"),
        ),
    ),
    **common(refused),
}

DESCRIPTIONS = (
    Described(
        type="email",
        own=lambda _: {"from": "Ops ✓ <ops@example.com>", "to": "team@example.com"},
        path="/v2/email/outbound-emails",
        secrets=(),
        success=Step(headers={"Content-Type": "application/json"}, body=json.dumps({"MessageId": "m1"})),
        answers=ANSWERS,
        body_decides=True,
        fits=fits,
        text=text,
        recipient="someone@example.com",
        http=False,
        answer=answer,
        environment=lambda base: {"AWS_ENDPOINT_URL_SESV2": base},
        reasons=REASONS,
    ),
)
