"""The run-time rows of the channels in DynamoDB: ports ChannelStates and Addresses."""

from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime
from typing import Any

from pynamodb.connection import TableConnection

from redeliver.core import moments
from redeliver.core.hold import OPERATOR, PROBE_FOR, Hold
from redeliver.ports import ChannelState
from redeliver.store.connection import put, translated, update
from redeliver.store.models import ChannelModel as C

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
        put(self._table, channel, item={}, condition=C.channel.does_not_exist())  # another may have made it since
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

    def hold(self, channel: str, hold: Hold, now: datetime, failures: int | None = None) -> bool:
        """Hold a channel, unless it is held longer or by an operator already."""
        until = moments.to_epoch(hold.until)
        over = C.hold_until.does_not_exist() | (C.hold_until <= moments.to_epoch(now))
        shorter = (C.hold_until < until) & (C.hold_reason != OPERATOR)
        actions: list[Any] = [C.hold_until.set(until), C.hold_reason.set(hold.reason), C.hold_note.remove()]
        if failures is not None:
            actions.append(C.failures.set(failures))
        return update(self._table, channel, actions=actions, condition=over | shorter)

    def probe(self, state: ChannelState, now: datetime) -> ChannelState | None:
        """Take the channel for a probe by moving its hold on; None if it is not as read any more."""
        until = moments.ceil(now + PROBE_FOR)
        actions = [C.hold_until.set(moments.to_epoch(until))]
        taken = update(self._table, state.channel, actions=actions, condition=_as_read(state))
        return replace(state, hold_until=until) if taken else None

    def free(self, state: ChannelState, failures: int) -> bool:
        """Write the failures in a row and end the hold, if it is as read."""
        actions = [C.failures.set(failures), C.hold_until.remove(), C.hold_reason.remove(), C.hold_note.remove()]
        return update(self._table, state.channel, actions=actions, condition=_as_read(state))

    def impose(self, channel: str, hold: Hold, note: str) -> None:
        """Hold a channel, whatever held it before."""
        until = moments.to_epoch(hold.until)
        actions = [C.hold_until.set(until), C.hold_reason.set(hold.reason), C.hold_note.set(note)]
        update(self._table, channel, actions=actions)

    def release(self, channel: str) -> bool:
        """End a channel's hold and forget its failures; tell whether it was held."""
        actions = [C.hold_until.remove(), C.hold_reason.remove(), C.hold_note.remove(), C.failures.remove()]
        return update(self._table, channel, actions=actions, condition=C.hold_until.exists())

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
        # Unsigned: it leaves a hold as it is, and who writes one may be asking about it.
        return update(self._table, channel, actions=[C.moved.set(moved)], condition=unchanged, signed=False)

    def _read(self, item: dict[str, Any]) -> ChannelState:
        state = _state(item)
        stored = item.get("moved", {}).get("M", {})
        self._moved[state.channel] = {name: value["S"] for name, value in stored.items() if "S" in value}
        return state


def _as_read(state: ChannelState) -> Any:
    if state.hold_until is None:
        return C.hold_until.does_not_exist()
    return (C.hold_until == moments.to_epoch(state.hold_until)) & (C.hold_reason == state.hold_reason)


def _state(item: dict[str, Any]) -> ChannelState:
    """Return a row as it is meant; one that an operator mistyped holds nothing rather than stopping every sweep."""
    try:
        until = moments.from_epoch(int(item["hold_until"]["N"]))
    except (KeyError, ValueError):
        until = None
    reason = item.get("hold_reason", {}).get("S")
    try:
        failures = max(int(item["failures"]["N"]), 0)
    except (KeyError, ValueError):
        failures = 0
    return ChannelState(item["channel"]["S"], until, reason, failures, item.get("hold_note", {}).get("S"))
