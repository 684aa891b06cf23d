"""The queues of `send`, as ports DeadLetterQueue and Requests."""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import cached_property
from typing import Any

from botocore.exceptions import BotoCoreError, ClientError

from redeliver.core.json_text import encoded
from redeliver.core.redaction import cut, storable
from redeliver.ports import Unavailable

MOST_BYTES = 1_048_576  # of a message, with name, type and value of its attributes (SQS: MessageAttributeValue)
# A call that is not answered ends after these tries and the pauses between them: its callers go by a deadline.
_CONNECT_SECONDS, _READ_SECONDS, _TRIES = 1, 3, 3
_LONGEST_REASON = 1024
_NOT_REQUESTED = "a notification could not be requested"


class _Queue:
    """A queue in SQS; its client is made when something is put into it, which in most containers never happens."""

    def __init__(self, url: str) -> None:
        self._url = url

    @cached_property
    def _client(self) -> Any:
        import boto3  # not at the top: it takes longer to load than all of ours, for what hardly ever happens
        from botocore.config import Config

        config = Config(
            connect_timeout=_CONNECT_SECONDS,
            read_timeout=_READ_SECONDS,
            retries={"total_max_attempts": _TRIES, "mode": "standard"},
        )
        return boto3.client("sqs", config=config)


@contextmanager
def _translated(failure: str) -> Iterator[None]:
    """Raise what SQS could not do as Unavailable."""
    try:
        yield
    except ClientError as error:
        raise Unavailable(f"SQS: {error.response.get('Error', {}).get('Code')}: {failure}") from error
    except BotoCoreError as error:
        raise Unavailable(f"SQS: {type(error).__name__}: {failure}") from error


class SqsDeadLetterQueue(_Queue):
    """Where requests go that no retry can make valid."""

    def put(self, body: str, reason: str) -> None:
        """Keep a request, with the reason why it was refused as attribute `reason`.

        A message and its attributes share MOST_BYTES: the reason takes what the request leaves. A larger request, which
        only a synchronous call can have, is cut.
        """
        kept = _within(body, MOST_BYTES)
        left = MOST_BYTES - len(kept.encode()) - len("reason") - len("String")
        why = _within(cut(storable(reason), _LONGEST_REASON), max(left, 0))
        attributes = {"reason": {"DataType": "String", "StringValue": why}} if why else {}
        with _translated("the refused message could not be put aside"):
            self._client.send_message(QueueUrl=self._url, MessageBody=kept, MessageAttributes=attributes)


def _within(text: str, size: int) -> str:
    return text.encode("utf-8", "backslashreplace")[:size].decode(errors="ignore")


class SqsRequests(_Queue):
    """The queue that `send` takes notifications from."""

    def ask(self, requests: Sequence[Mapping[str, object]]) -> None:
        """Ask for up to MOST_REQUESTS notifications, a message each; raises Unavailable unless all of them could be."""
        if not requests:
            return
        entries = [{"Id": str(number), "MessageBody": encoded(each)} for number, each in enumerate(requests)]
        with _translated(_NOT_REQUESTED):
            answer = self._client.send_message_batch(QueueUrl=self._url, Entries=entries)
        failed = answer.get("Failed")  # SQS answers 200 all the same
        if failed:
            raise Unavailable(f"SQS: {failed[0].get('Code')}: {_NOT_REQUESTED}")
