"""Where channel documents are kept: SSM Parameter Store, or one local file."""

import json
from collections.abc import Callable, Mapping
from pathlib import Path
from threading import Lock
from typing import TYPE_CHECKING, Any, Protocol, cast

from redeliver.core.json_text import decoded
from redeliver.ports import NotConfigured, Unavailable

if TYPE_CHECKING:
    from mypy_boto3_ssm import SSMClient


_CONNECT_SECONDS, _READ_SECONDS, _TRIES = 1, 1.4, 2
_SERVER_ERROR = 500  # and above: RFC 9110 15.6
# AWS's codes for it (of SSM: ThrottlingException), with status 400.
_THROTTLED = ("ThrottlingException", "Throttling", "RequestLimitExceeded", "TooManyRequestsException")


class SourceUnavailable(Unavailable):
    """No document can be read now, whichever is asked for."""


class Source(Protocol):
    """A place that keeps channel documents."""

    @property
    def longest_seconds(self) -> float:
        """Return how long `fetch` may take."""

    def fetch(self, name: str) -> object:
        """Return the document of a channel as parsed JSON, or NotConfigured.

        Raises SourceUnavailable if no other can be read either, else Unavailable.
        """


class File:
    """One JSON file, `{name: document}`."""

    longest_seconds = 0.0

    def __init__(self, path: Path) -> None:
        """Read nothing yet."""
        self._path = path

    def fetch(self, name: str) -> object:
        """Return the document."""
        try:
            text = self._path.read_text(encoding="utf-8")
        except (OSError, UnicodeError) as error:
            raise SourceUnavailable(f"the channels file cannot be read: {type(error).__name__}") from None
        documents = _parse(text, "the channels file")
        if isinstance(documents, NotConfigured):
            return documents
        if not isinstance(documents, dict):
            return NotConfigured("the channels file must be a JSON object of documents by channel name")
        return documents.get(name, NotConfigured("the channels file has no document of that name"))


class ParameterStore:
    """SSM SecureStrings, `/redeliver/<stage>/channels/<name>`; region and endpoint come from the environment."""

    longest_seconds = 6.0  # the tries of the client, and a pause of up to a second between them

    def __init__(self, stage: str, make_client: "Callable[[], SSMClient] | None" = None) -> None:
        """Make no client yet: that takes time, and a warm invocation may never need it."""
        self._stage = stage
        self._make_client = make_client or _make_client
        self._client: SSMClient | None = None
        self._lock = Lock()

    def fetch(self, name: str) -> object:
        """Return the document."""
        # Not at the top: a local file does not need it.
        from botocore.exceptions import ClientError, ParamValidationError

        parameter = f"/redeliver/{self._stage}/channels/{name}"
        try:
            answer = self._ready_client().get_parameter(Name=parameter, WithDecryption=True)
            value = str(answer["Parameter"]["Value"])
        except ClientError as error:
            return _refused(error.response, parameter)
        except ParamValidationError:
            return NotConfigured(f"there is no SSM parameter {parameter}")
        # botocore has errors of its own for no answer; one that is not SSM's is an AttributeError, a KeyError …
        except Exception as error:  # noqa: BLE001 - whichever it is, it stops neither a sweep nor what is cached
            raise SourceUnavailable(f"SSM did not answer for {parameter}: {type(error).__name__}") from None
        return _parse(value, f"the SSM parameter {parameter}")

    def _ready_client(self) -> "SSMClient":
        with self._lock:
            if self._client is None:
                self._client = self._make_client()
            return self._client


def _refused(response: Mapping[str, Any], parameter: str) -> NotConfigured:
    """Return that there is no document, if that is what SSM's error says; else raise what it is about."""
    code = response.get("Error", {}).get("Code", "an error")
    if code in ("ParameterNotFound", "ValidationException"):  # the latter: a name that SSM does not take
        return NotConfigured(f"there is no SSM parameter {parameter}")
    status = response.get("ResponseMetadata", {}).get("HTTPStatusCode", 0)
    # Throttled, or its own trouble. Anything else (AccessDeniedException, a KMS key) may be about this parameter alone.
    kind = SourceUnavailable if code in _THROTTLED or status >= _SERVER_ERROR else Unavailable
    raise kind(f"SSM answered {code} for {parameter}")


def _make_client() -> "SSMClient":
    # pynamodb has loaded botocore by now; boto3 would make another tenth of a second, for the same client.
    from botocore.config import Config
    from botocore.session import Session

    config = Config(
        connect_timeout=_CONNECT_SECONDS,
        read_timeout=_READ_SECONDS,
        retries={"total_max_attempts": _TRIES, "mode": "standard"},
    )
    return cast("SSMClient", Session().create_client("ssm", config=config))


def _parse(text: str, what: str) -> object:
    try:
        return decoded(text)
    except json.JSONDecodeError as error:  # without its text: that could hold a secret
        return NotConfigured(f"{what} is not JSON: see line {error.lineno}, column {error.colno}")
    except ValueError:  # Python reads no number of more than 4,300 digits
        return NotConfigured(f"{what} has a number of too many digits")
    except RecursionError:
        return NotConfigured(f"{what} is nested too deeply")
