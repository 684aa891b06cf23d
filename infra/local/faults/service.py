"""What the services behind a fault proxy answer when they fail, and which requests are theirs."""

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from email.message import Message

from infra.local.faults.plan import Fault, Met


@dataclass(frozen=True, slots=True)
class Answer:
    """An HTTP answer."""

    status: int
    headers: Sequence[tuple[str, str]] = ()
    body: bytes = b""


@dataclass(frozen=True, slots=True)
class Service:
    """A service: which requests may meet faults, and its own words for an error and for being throttled."""

    errors: Sequence[Answer]
    throttled: Sequence[Answer]
    concerns: Callable[[Message], bool] = field(default=lambda _: True)

    def refusal(self, met: Met) -> Answer:
        """Return what it answers instead of doing the work, or of saying that it did."""
        answers = self.throttled if met.fault is Fault.THROTTLE else self.errors
        return answers[int(met.extent * len(answers))]


def _dynamodb_error(status: int, code: str, message: str) -> Answer:
    body = json.dumps({"__type": code, "message": message}).encode()
    return Answer(status, [("Content-Type", "application/x-amz-json-1.0")], body)


# https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/Programming.Errors.html
DYNAMODB = Service(
    errors=[
        _dynamodb_error(500, "com.amazonaws.dynamodb.v20120810#InternalServerError", "Internal server error"),
        _dynamodb_error(503, "com.amazonaws.dynamodb.v20120810#ServiceUnavailable", "Service unavailable"),
    ],
    throttled=[
        _dynamodb_error(
            400,
            "com.amazonaws.dynamodb.v20120810#ProvisionedThroughputExceededException",
            "The level of configured provisioned throughput for the table was exceeded.",
        ),
        _dynamodb_error(
            400,
            "com.amazon.coral.availability#ThrottlingException",
            "Rate of requests exceeds the allowed throughput.",
        ),
    ],
    concerns=lambda headers: headers.get("X-Amz-Target", "").startswith("DynamoDB_"),
)

HOOK = Service(
    errors=[Answer(500), Answer(502, body=b"bad gateway"), Answer(503)],
    # Waits that an attempt sits out, and one that is longer than an attempt.
    throttled=[*[Answer(429, [("Retry-After", "1")])] * 3, Answer(429, [("Retry-After", "12")])],
)
