"""The notifications in DynamoDB: ports Ledger and Lanes."""

import time
from collections.abc import Callable, Sequence
from dataclasses import fields
from datetime import datetime
from functools import reduce
from operator import and_
from typing import Any

from pynamodb.connection import TableConnection
from pynamodb.expressions.condition import Condition
from pynamodb.expressions.operand import Path
from pynamodb.expressions.update import Action

from redeliver.core import moments
from redeliver.core.notification import UNREADABLE, Key, Notification, Row, Status, Unreadable, lane_of
from redeliver.ports import AT_ONCE, Page, Unavailable, Waiting
from redeliver.store import items
from redeliver.store.connection import Refused, put, translated, update
from redeliver.store.models import NotificationModel as N

PAGE = 100  # keys of one index page, and of one batch read: DynamoDB's limit
_COUNT_PAGES = 10  # what counting a backlog, or dead letters, may cost (SPEC 8)
_PAUSES = (0.1, 0.2, 0.4)  # seconds, after answers of a batch read that brought nothing
_FIELDS = tuple(field.name for field in fields(Notification))
# What a write may rely on: if all of it is as read, nobody has moved the record (SPEC 3).
_MOVING = ("status", "attempt_count", "next_attempt_at", "claimed_until", "redrive_count")
_DECIDING = (*_MOVING, "finding_id", "expires_at")


class DynamoNotifications:
    """The table of notifications."""

    def __init__(self, table: TableConnection, pause: Callable[[float], None] = time.sleep) -> None:
        """Use a connection of `store.connection`."""
        self._table = table
        self._pause = pause

    def add(self, record: Notification, now: datetime) -> bool:
        """Put a record where there is none, or one past its expiry."""
        absent = N.channel.does_not_exist() | (N.expires_at <= moments.to_epoch(now))
        return put(self._table, record.channel, record.dedup_key, item=items.to_item(record), condition=absent)

    def get(self, key: Key) -> Row | None:
        """Return what the table holds, read consistently."""
        with translated():
            item = self._table.get_item(key.channel, key.dedup_key, consistent_read=True).get("Item")
        return items.from_item(item) if item else None

    def replace(self, before: Notification, after: Notification) -> bool:
        """Write what differs, if the stored record still is `before` in all that decides."""
        condition = unmoved(before)
        if before.requested_at != after.requested_at:  # an older request must not undo a newer one
            condition &= as_requested(before)
        # Who only notes that it was asked for again leaves the token of a claim: its claimant may be asking about it.
        moved = any(getattr(before, name) != getattr(after, name) for name in _MOVING)
        actions = differences(before, after)
        return update(self._table, before.channel, before.dedup_key, actions=actions, condition=condition, signed=moved)

    def park(self, row: Unreadable, now: datetime) -> bool:
        """Take an unreadable row out of every schedule, once; the rest stays as found."""
        moment = moments.to_epoch(now)
        parked = (N.status == Status.DEAD_LETTERED.value) & (N.last_reason == UNREADABLE)
        actions = [
            N.status.set(Status.DEAD_LETTERED.value),
            N.last_reason.set(UNREADABLE),
            N.dead_lettered_at.set(moment),
            N.updated_at.set(moment),
            N.next_attempt_at.remove(),
            N.claimed_until.remove(),
        ]
        try:
            return self._park(row, actions, ~parked)
        except Refused:  # not one byte more fits: out of the one index and into the other takes none, a token would
            actions = [N.dead_lettered_at.set(moment), N.next_attempt_at.remove(), N.lane.remove()]
            return self._park(row, actions, N.next_attempt_at.exists(), signed=False)

    def _park(self, row: Unreadable, actions: Sequence[Action], condition: Condition, *, signed: bool = True) -> bool:
        return update(
            self._table,
            row.key.channel,
            row.key.dedup_key,
            actions=actions,
            condition=N.channel.exists() & condition,
            signed=signed,
        )

    def page(self, channel: str, after: Waiting | None = None) -> Page:
        """Return the next 100 waiting rows of a channel, longest due first."""
        start = self._start(channel, after) if after else None
        with translated():
            answer = self._table.query(
                lane_of(channel), index_name=N.due.Meta.index_name, exclusive_start_key=start, limit=PAGE
            )
        rows = [_waiting(item) for item in answer["Items"]]
        last = _waiting(answer["LastEvaluatedKey"]) if "LastEvaluatedKey" in answer else None
        if last is not None and last.next_attempt_at == AT_ONCE:
            last = None  # there is no going on from an unreadable row: the next sweep does, when it has been parked
        return Page(rows, last)

    def _fetch(self, keys: Sequence[Key], found: dict[Key, Row]) -> None:
        wanted: Any = [{"channel": key.channel, "dedup_key": key.dedup_key} for key in keys]
        fruitless = 0
        while wanted:  # DynamoDB answers with what fits into 16 MB, and with what it is not too busy for
            with translated():
                answer = self._table.batch_get_item(wanted, consistent_read=True)
            got = answer["Responses"].get(self._table.table_name, ())
            for item in got:
                row = items.from_item(item)
                found[row.key] = row
            wanted = answer.get("UnprocessedKeys", {}).get(self._table.table_name, {}).get("Keys")
            if wanted and not got:
                fruitless += 1
                if fruitless > len(_PAUSES):
                    raise Unavailable(f"DynamoDB: {len(wanted)} keys of a batch read stay unprocessed: throttled")
                self._pause(_PAUSES[fruitless - 1])

    def waiting(self, channel: str, after: Waiting) -> tuple[int, bool]:
        """Return how many rows wait behind `after`, and whether that is all of them."""
        return self._count(lane_of(channel), N.due.Meta.index_name, self._start(channel, after))

    def dead_letters(self, channel: str) -> tuple[int, bool]:
        """Return how many dead letters a channel has; those DynamoDB has not yet deleted are among them."""
        return self._count(channel, N.dead_letters.Meta.index_name, None)

    def _count(self, key: str, index: str, start: dict[str, Any] | None) -> tuple[int, bool]:
        found = 0
        for _ in range(_COUNT_PAGES):
            with translated():
                answer = self._table.query(key, index_name=index, select="COUNT", exclusive_start_key=start)
            found += int(answer["Count"])
            start = answer.get("LastEvaluatedKey")
            if start is None:
                return found, True
        return found, False

    def fetch(self, keys: Sequence[Key]) -> Sequence[Row]:
        """Return what the table holds of these keys, read consistently, in their order."""
        found: dict[Key, Row] = {}
        distinct = list(dict.fromkeys(keys))  # an index that is catching up can name a record twice
        for first in range(0, len(distinct), PAGE):
            self._fetch(distinct[first : first + PAGE], found)
        return [found[key] for key in distinct if key in found]

    def _start(self, channel: str, after: Waiting) -> dict[str, Any]:
        return {
            "channel": {"S": after.key.channel},
            "dedup_key": {"S": after.key.dedup_key},
            "lane": {"S": lane_of(channel)},
            "next_attempt_at": items.write("next_attempt_at", after.next_attempt_at),
        }


def differences(before: Notification, after: Notification) -> list[Action]:
    """Return the update that makes one record of the other."""
    changed = [name for name in _FIELDS if getattr(before, name) != getattr(after, name)]
    values = {name: items.write(name, getattr(after, name)) for name in changed}
    return [Path(name).remove() if value is None else Path(name).set(value) for name, value in values.items()]


def unmoved(before: Notification) -> Condition:
    """Return the condition that a record still is as read in all that decides."""
    values = {name: items.write(name, getattr(before, name)) for name in _DECIDING}
    terms = [Path(name).does_not_exist() if value is None else Path(name) == value for name, value in values.items()]
    return reduce(and_, terms)


def as_requested(before: Notification) -> Condition:
    """Return the condition that a record was last asked for when it says."""
    condition: Condition = N.requested_at == moments.to_epoch(before.requested_at)
    return condition


def _waiting(item: items.Item) -> Waiting:
    try:
        return Waiting(items.key_of(item), moments.from_epoch(int(item["next_attempt_at"]["N"])))
    except ValueError:  # no moment that a record has: to be looked at, and parked, at once
        return Waiting(items.key_of(item), AT_ONCE)
