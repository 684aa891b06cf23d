"""The run-time rows of the channels in DynamoDB: port ChannelStates."""

from collections.abc import Sequence
from datetime import datetime
from typing import Any

from pynamodb.connection import TableConnection

from redeliver.core import moments
from redeliver.ports import ChannelState
from redeliver.store.connection import conditional, translated
from redeliver.store.models import ChannelModel as C

OPERATOR = "operator"  # a hold that only an operator ends


class DynamoChannelStates:
    """The table of channels."""

    def __init__(self, table: TableConnection) -> None:
        """Use a connection of `store.connection`."""
        self._table = table

    def open(self, channel: str) -> ChannelState:
        """Return the row of a channel, made if it was absent."""
        with translated():
            item = self._table.get_item(channel).get("Item")
        if item:
            return _state(item)
        with conditional():  # another may have made it since
            self._table.put_item(channel, attributes={}, condition=C.channel.does_not_exist())
        return ChannelState(channel)

    def all(self) -> Sequence[ChannelState]:
        """Return every row."""
        states: list[ChannelState] = []
        start: Any = None
        while True:
            with translated():
                answer = self._table.scan(exclusive_start_key=start, consistent_read=True)
            states += map(_state, answer["Items"])
            start = answer.get("LastEvaluatedKey")
            if start is None:
                return sorted(states, key=lambda state: state.channel)

    def hold(self, channel: str, until: datetime, reason: str, now: datetime) -> bool:
        """Hold a channel, unless it is held longer or by an operator already."""
        moment = moments.to_epoch(now)
        over = C.hold_until.does_not_exist() | (C.hold_until <= moment)
        shorter = (C.hold_until < moments.to_epoch(until)) & (C.hold_reason != OPERATOR)
        with conditional() as met:
            self._table.update_item(
                channel,
                actions=[C.hold_until.set(moments.to_epoch(until)), C.hold_reason.set(reason)],
                condition=over | shorter,
            )
        return met[0]


def _state(item: dict[str, Any]) -> ChannelState:
    """Return a row as it is meant; one that an operator mistyped holds nothing rather than stopping every sweep."""
    try:
        until = moments.from_epoch(int(item["hold_until"]["N"]))
    except (KeyError, ValueError):
        until = None
    reason = item.get("hold_reason", {}).get("S")
    return ChannelState(item["channel"]["S"], until, reason)
