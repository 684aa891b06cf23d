"""The bus on which others hear what happened: port Bus."""

import json
from collections.abc import Mapping, Sequence
from functools import cached_property
from typing import Any

from botocore.exceptions import BotoCoreError, ClientError

from redeliver.ports import Unavailable

SOURCE = "redeliver"


class EventBridgeBus:
    """A bus of EventBridge; its client is made when there is something to tell."""

    def __init__(self, name: str) -> None:
        """Use the bus of this name."""
        self._name = name

    @cached_property
    def _client(self) -> Any:
        import boto3  # not at the top: it takes longer to load than all of ours
        from botocore.config import Config

        return boto3.client(
            "events", config=Config(connect_timeout=1, read_timeout=2, retries={"total_max_attempts": 2})
        )

    def publish(self, events: Sequence[tuple[str, Mapping[str, object]]]) -> None:
        """Put up to MOST_EVENTS on the bus: a detail type and its detail each; raises Unavailable if not all are."""
        entries = [
            {
                "Source": SOURCE,
                "DetailType": kind,
                "Detail": json.dumps(detail, ensure_ascii=False),
                "EventBusName": self._name,
            }
            for kind, detail in events
        ]
        try:
            answer = self._client.put_events(Entries=entries)
        except ClientError as error:
            raise Unavailable(f"EventBridge: {error.response.get('Error', {}).get('Code')}") from error
        except BotoCoreError as error:
            raise Unavailable(f"EventBridge: {type(error).__name__}") from error
        if answer.get("FailedEntryCount"):
            refused = [entry["ErrorCode"] for entry in answer["Entries"] if "ErrorCode" in entry]
            raise Unavailable(f"EventBridge: {refused[0]}: {len(refused)} of {len(entries)} events were refused")
