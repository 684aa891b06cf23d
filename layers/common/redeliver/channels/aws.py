"""AWS's own services as ways out: a client made at first use, its results as the answers that tables are read by."""

import json
from collections.abc import Mapping
from contextvars import ContextVar
from functools import cache
from threading import Lock
from typing import Any

from requests.structures import CaseInsensitiveDict

from redeliver.channels.answers import SUCCESS, Means, Row
from redeliver.channels.attempt import Attempt
from redeliver.channels.bounded import within
from redeliver.channels.http import reply, text
from redeliver.channels.rules import Text
from redeliver.channels.transport import LONGEST_ANSWER, Answer, NoAnswer

REGION = Text(r"[a-z]{2,5}(?:-[a-z]{2,12}){1,3}-\d{1,2}", "a region such as eu-central-1")

# What every service may answer, "Common Errors" of each API reference. Not by status: it differs between protocols.
COMMON_ROWS = (
    *(Row(None, code, Means.BUSY, "throttled") for code in ("ThrottlingException", "Throttling")),
    *(
        Row(None, code, Means.CREDENTIALS)
        for code in (
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
    ),
)

_CONNECTIONS = 32  # as many as a sweep makes attempts at once by default; more are made, and not kept
_CONNECT_SECONDS = 1
_READ_SECONDS = 8  # only ends what an attempt has left behind

# What came, for when botocore cannot make sense of it; a call never leaves its thread.
_RAW: ContextVar[Mapping[str, Any] | None] = ContextVar("raw_answer", default=None)


class Client:
    """A client of one service; region and endpoint come from the environment unless they are given.

    Used from many threads. An error is an answer whose body is `{"code", "message"}`, a success one with the result.
    """

    def __init__(self, service: str, region: str | None = None) -> None:
        """Make nothing yet: other channels never pay for it."""
        self._service = service
        self._region = region
        self._client: Any = None
        self._lock = Lock()

    def call(self, attempt: Attempt, operation: str, arguments: Mapping[str, Any]) -> Answer | NoAnswer:
        """Call an operation, such as `publish`, as often as one attempt may."""
        return attempt.tries(lambda: self._once(attempt.left(), operation, arguments))

    def _once(self, seconds: float, operation: str, arguments: Mapping[str, Any]) -> Answer | NoAnswer:
        try:
            return within(seconds, lambda: self._answer(operation, arguments), "aws")
        except TimeoutError:
            return NoAnswer("timeout", f"out of time while waiting for {self._service}", sent=True, again=False)

    def _answer(self, operation: str, arguments: Mapping[str, Any]) -> Answer | NoAnswer:
        from botocore import exceptions  # not at the top: other channels never pay for it
        from botocore.parsers import ResponseParserError

        _RAW.set(None)
        try:
            result = getattr(self._ready(), operation)(**_encodable(arguments))
            return _as_answer(result.pop("ResponseMetadata", {}), result)
        except exceptions.ClientError as error:
            told = error.response.get("Error", {})
            parsed = {"code": told.get("Code", ""), "message": told.get("Message", "")}
            return _as_answer(error.response.get("ResponseMetadata", {}), parsed)
        except exceptions.ParamValidationError as error:
            return Answer(400, json.dumps({"code": "ParamValidationError", "message": str(error)}).encode())
        except exceptions.BotoCoreError as error:
            return _no_answer(error, self._service)
        except (ResponseParserError, LookupError, TypeError, ValueError, AttributeError, RecursionError):
            raw = _RAW.get()
            if raw is None:  # nothing was there to be parsed: that is a bug of ours
                raise
            return _unparsed(raw, self._service)

    def _ready(self) -> Any:
        from botocore.config import Config
        from botocore.session import Session

        with self._lock:
            if self._client is None:
                config = Config(
                    connect_timeout=_CONNECT_SECONDS,
                    read_timeout=_READ_SECONDS,
                    max_pool_connections=_CONNECTIONS,
                    retries={"total_max_attempts": 1},
                    proxies={},
                )
                session = Session()
                session.register_component("data_loader", _models())
                client = session.create_client(self._service, region_name=self._region, config=config)
                client.meta.events.register("before-parse", _keep)
                self._client = client
            return self._client


@cache
def _models() -> Any:
    """Return what reads the descriptions of services, kept: they are most of what a client costs."""
    from botocore.loaders import create_loader

    return create_loader()


def aws_code(answer: Answer) -> str:
    """Return the code of an error; the column of a table."""
    return text(reply(answer).get("code"))


def success_or_code(answer: Answer) -> str:
    """Return the code of an error, or `MessageId` for a success that has one: the column of a table."""
    if answer.status in SUCCESS:
        return "MessageId" if text(reply(answer).get("MessageId")) else ""
    return aws_code(answer)


def _as_answer(metadata: Mapping[str, Any], body: Mapping[str, Any]) -> Answer:
    headers: CaseInsensitiveDict[str] = CaseInsensitiveDict(metadata.get("HTTPHeaders", {}))
    headers.pop("Location", None)
    return Answer(int(metadata.get("HTTPStatusCode", 500)), json.dumps(body, default=str).encode(), headers)


def _no_answer(error: BaseException, service: str) -> NoAnswer:
    from botocore import exceptions

    name = f"{service}: {type(error).__name__}"
    match error:
        case exceptions.ReadTimeoutError():
            return NoAnswer("timeout", name, sent=True, again=False)
        case exceptions.SSLError():
            return NoAnswer("tls_failed", name)
        case exceptions.EndpointConnectionError() | exceptions.ConnectTimeoutError():
            return NoAnswer("connection_failed", name)
        case exceptions.ConnectionClosedError() | exceptions.HTTPClientError():
            return NoAnswer("connection_lost", name, sent=True, again=False)
    return NoAnswer("request_failed", name, again=False)  # no credentials, no region: nothing has left


def _keep(response_dict: dict[str, Any], **_: Any) -> None:
    _RAW.set(response_dict)


def _unparsed(raw: Mapping[str, Any], service: str) -> Answer | NoAnswer:
    if raw["status_code"] < 300:  # a success that cannot be read may have been one
        return NoAnswer("unreadable_answer", f"{service}: unreadable answer", sent=True, again=False)
    return Answer(raw["status_code"], raw["body"][:LONGEST_ANSWER], CaseInsensitiveDict(raw["headers"]))


def _encodable(value: Any) -> Any:
    """Return arguments without lone surrogates, which no AWS protocol can carry."""
    if isinstance(value, str):
        return value.encode("utf-8", "replace").decode()
    if isinstance(value, Mapping):
        return {name: _encodable(each) for name, each in value.items()}
    return [_encodable(each) for each in value] if isinstance(value, list) else value
