"""The store in memory by key and moment. Held to the store's contract suite."""

from collections.abc import Callable, Mapping
from datetime import datetime

from redeliver.core.notification import Notification
from redeliver.operator.paging import Entry, Source, Stretch
from redeliver.operator.search import Filter, moment_of
from redeliver.ports import AT_ONCE
from tests.memory import MemoryNotifications, Stored

_Place = tuple[float, str]
_ORDERS: Mapping[Source, Callable[[Entry], _Place]] = {
    Source.DEAD_LETTERS: lambda entry: (-entry.moment.timestamp(), entry.key.dedup_key),
    Source.DUE: lambda entry: (entry.moment.timestamp(), entry.key.dedup_key),
    Source.TABLE: lambda entry: (0, entry.key.dedup_key),
}


class MemoryTimeline:
    """Port Timeline over the notifications in memory."""

    def __init__(self, notifications: MemoryNotifications) -> None:
        """Read these."""
        self._notifications = notifications

    def stretch(self, source: Source, channel: str, wanted: Filter, after: Entry | None, most: int) -> Stretch:
        """Return the next rows of a channel in the order of the source."""
        place = _ORDERS[source]
        rows = [(key, row) for key, row in self._notifications.rows.items() if key.channel == channel]
        entries = [Entry(moment, key) for key, row in rows if (moment := _moment(source, row)) is not None]
        ahead = sorted((e for e in entries if after is None or place(e) > place(after)), key=place)
        taken = ahead[:most]
        found = [e for e in taken if source is not Source.TABLE or _passes(self._notifications.rows[e.key], wanted)]
        return Stretch(found, len(taken), taken[-1] if len(ahead) > len(taken) else None)


def _passes(row: Stored, wanted: Filter) -> bool:
    if not isinstance(row, Notification):
        return not wanted.statuses and wanted.kind is None
    return (not wanted.statuses or row.status in wanted.statuses) and wanted.kind in (None, row.kind)


def _moment(source: Source, row: Stored) -> datetime | None:
    if source is Source.DUE:
        return row.next_attempt_at
    if source is Source.DEAD_LETTERS:
        return row.dead_lettered_at
    return moment_of(row) if isinstance(row, Notification) else row.dead_lettered_at or AT_ONCE
