"""The queues of `send`, as ports DeadLetterQueue and Requests."""

from collections.abc import Mapping, Sequence
from functools import cached_property
from typing import Any

from botocore.exceptions import BotoCoreError, ClientError

from redeliver.core.json_text import encoded
from redeliver.core.redaction import cut, storable
from redeliver.ports import Unavailable

MOST_BYTES = 1_048_576  # of a message, with name, type and value of its attributes (SQS: MessageAttributeValue)
_LONGEST_REASON = 1024


class _Queue:
    """A queue in SQS; its client is made when something is put into it, which in most containers never happens."""

    def __init__(self, url: str) -> None:
        self._url = url

    @cached_property
    def _client(self) -> Any:
        import boto3  # not at the top: it takes longer to load than all of ours, for what hardly ever happens
        from botocore.config import Config

        return boto3.client("sqs", config=Config(connect_timeout=1, read_timeout=5, retries={"total_max_attempts": 4}))

    def _send(self, body: str, failure: str, **attributes: object) -> None:
        try:
            self._client.send_message(QueueUrl=self._url, MessageBody=body, MessageAttributes=attributes)
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
        self._send(kept, "the refused message could not be put aside", **attributes)


def _within(text: str, size: int) -> str:
    return text.encode("utf-8", "backslashreplace")[:size].decode(errors="ignore")


class SqsRequests(_Queue):
    """The queue that `send` takes notifications from."""

    def ask(self, requests: Sequence[Mapping[str, object]]) -> None:
        """Ask for notifications, one message each; raises Unavailable if not all of them could be."""
        for request in requests:
            self._send(encoded(request), "a notification could not be requested")
