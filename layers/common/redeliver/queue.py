"""The dead-letter queue of `send`: port DeadLetterQueue."""

from functools import cached_property
from typing import Any

from botocore.exceptions import BotoCoreError, ClientError

from redeliver.core.redaction import cut, storable
from redeliver.ports import Unavailable

_LONGEST_REASON = 1024


class SqsDeadLetterQueue:
    """A queue in SQS; its client is made when the first message is refused, which most containers never see."""

    def __init__(self, url: str) -> None:
        """Use the queue of this address."""
        self._url = url

    @cached_property
    def _client(self) -> Any:
        import boto3  # not at the top: it takes longer to load than all of ours, for what hardly ever happens
        from botocore.config import Config

        return boto3.client("sqs", config=Config(connect_timeout=1, read_timeout=5, retries={"total_max_attempts": 4}))

    def put(self, body: str, reason: str) -> None:
        """Keep a message with the reason why it was refused, as attribute `reason`."""
        attribute = {"DataType": "String", "StringValue": cut(storable(reason), _LONGEST_REASON)}
        try:
            self._client.send_message(QueueUrl=self._url, MessageBody=body, MessageAttributes={"reason": attribute})
        except (BotoCoreError, ClientError) as error:
            raise Unavailable(f"SQS: {type(error).__name__}: the refused message could not be put aside") from error
