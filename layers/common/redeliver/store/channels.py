"""The run-time rows of the channels in DynamoDB: ports ChannelStates and Addresses."""

from collections.abc import Sequence
from datetime import datetime
from typing import Any

from pynamodb.connection import TableConnection

from redeliver.core import moments
from redeliver.ports import ChannelState
from redeliver.store.connection import conditional, translated
from redeliver.store.models import ChannelModel as C

OPERATOR = "operator"  # a hold that only an operator ends
MOST_MOVED = 200  # recipients of a channel: every sweep reads them with the row


class DynamoChannelStates:
    """The table of channels."""

    def __init__(self, table: TableConnection) -> None:
        """Use a connection of `store.connection`."""
        self._table = table
        self._moved: dict[str, dict[str, str]] = {}  # by channel, as its row was last read

    def open(self, channel: str) -> ChannelState:
        """Return the row of a channel, made if it was absent."""
        with translated():
            item = self._table.get_item(channel).get("Item")
        if item:
            return self._read(item)
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
            states += map(self._read, answer["Items"])
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

    def current(self, channel: str, recipient: str) -> str | None:
        """Return where a recipient has moved, by what was last read of the channel's row."""
        return self._moved.get(channel, {}).get(recipient)

    def move(self, channel: str, recipient: str, to: str) -> None:
        """Remember where a recipient has moved; not when MOST_MOVED have."""
        if not self._add(channel, recipient, to):  # another has written since the row was read
            self.open(channel)
            self._add(channel, recipient, to)

    def _add(self, channel: str, recipient: str, to: str) -> bool:
        known = self._moved.get(channel, {})
        moved = {**known, recipient: to}
        if len(moved) > MOST_MOVED:
            return True
        self._moved[channel] = moved
        # All of it: a path of DynamoDB's cannot name a recipient that has a dot or a bracket in it.
        unchanged = C.moved == known if known else C.moved.does_not_exist()
        with conditional() as met:
            self._table.update_item(channel, actions=[C.moved.set(moved)], condition=unchanged)
        return met[0]

    def _read(self, item: dict[str, Any]) -> ChannelState:
        state = _state(item)
        stored = item.get("moved", {}).get("M", {})
        self._moved[state.channel] = {name: value["S"] for name, value in stored.items() if "S" in value}
        return state


def _state(item: dict[str, Any]) -> ChannelState:
    """Return a row as it is meant; one that an operator mistyped holds nothing rather than stopping every sweep."""
    try:
        until = moments.from_epoch(int(item["hold_until"]["N"]))
    except (KeyError, ValueError):
        until = None
    reason = item.get("hold_reason", {}).get("S")
    return ChannelState(item["channel"]["S"], until, reason)
