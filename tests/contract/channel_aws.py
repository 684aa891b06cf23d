"""What the AWS types share: how their services answer, and what botocore makes of what is no answer."""

import json
from collections.abc import Callable, Iterable, Mapping

from infra.local.endpoint import Step
from redeliver.channels.transport import Answer
from redeliver.core.outcome import CREDENTIALS_REFUSED, Retry
from tests.contract.channel_cases import Expected

Refused = Callable[[int, str], Step]

# botocore ends a connection that it cannot read, and has one name for all of them.
REASONS: Mapping[str, str] = {"an answer that is no HTTP": "connection_lost"}

CREDENTIALS = (
    "AccessDeniedException",
    "AccessDenied",
    "ExpiredTokenException",
    "ExpiredToken",
    "IncompleteSignature",
    "InvalidClientTokenId",
    "InvalidSignatureException",
    "MissingAuthenticationToken",
    "NotAuthorized",
    "OptInRequired",
    "SignatureDoesNotMatch",
    "UnrecognizedClientException",
)


def common(refused: Refused) -> dict[str, Expected]:
    """Return what every service may answer."""
    credentials = {
        code: Expected(step=refused(403, code), outcome=Retry, reason=CREDENTIALS_REFUSED) for code in CREDENTIALS
    }
    throttled = {
        code: Expected(step=refused(400, code), outcome=Retry, reason="throttled")
        for code in ("ThrottlingException", "Throttling")
    }
    return {**credentials, **throttled}


def by_code(refused: Refused, cases: Iterable[tuple[int, str, type, str]]) -> dict[str, Expected]:
    """Return documented answers: status, code, outcome and reason of each."""
    return {
        code: Expected(step=refused(status, code), outcome=outcome, reason=reason)
        for status, code, outcome, reason in cases
    }


def as_told(status: int, code: str, message_id: str) -> Answer:
    """Return an answer as the client tells it."""
    body = {"MessageId": message_id} if status < 300 and message_id else {"code": code} if status >= 300 else {}
    return Answer(status, json.dumps(body).encode())
