"""Which records an operator means, and the cheapest way to them."""

import heapq
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from itertools import islice

from redeliver.core.notification import OPEN, UNREADABLE, Notification, Row, Status, Unreadable
from redeliver.operator.ports import Archive, Span

DEAD = frozenset({Status.DEAD_LETTERED})


@dataclass(frozen=True, slots=True, kw_only=True)
class Filter:
    """What records have to be like; what is None or empty does not matter.

    `span` is of the moment at which a record came into its state: see `moment_of`.
    """

    channel: str | None = None
    statuses: frozenset[Status] = frozenset()
    kind: str | None = None
    reason: str | None = None
    finding_id: str | None = None
    span: Span = field(default_factory=Span)

    def takes(self, row: Row) -> bool:
        """Tell whether a row is meant. Of one that cannot be read only its channel and that it is parked is known."""
        if isinstance(row, Unreadable):
            return self._takes_unreadable(row)
        wanted = ((self.channel, row.channel), (self.kind, row.kind), (self.finding_id, row.finding_id))
        if any(value is not None and value != actual for value, actual in wanted):
            return False
        if self.reason is not None and self.reason != row.last_reason:
            return False
        return (not self.statuses or row.status in self.statuses) and self.span.holds(moment_of(row))

    def _takes_unreadable(self, row: Unreadable) -> bool:
        if self.kind is not None or self.finding_id is not None or self.span != Span():
            return False
        of_status = not self.statuses or (row.parked and Status.DEAD_LETTERED in self.statuses)
        return of_status and self.channel in (None, row.key.channel) and self.reason in (None, UNREADABLE)


def moment_of(record: Notification) -> datetime:
    """Return when a record came into its state: it died, was sent, or was last moved."""
    return record.dead_lettered_at or record.sent_at or record.updated_at


def search(archive: Archive, channels: Sequence[str], wanted: Filter, *, newest_first: bool = True) -> Iterator[Row]:
    """Return the rows that a filter takes, of these channels, as they are read.

    Dead letters come in the order of their death, what waits longest due first, all else as the table has it.
    """
    if wanted.finding_id is not None:
        meant = set(_of(channels, wanted))
        found = (row for page in archive.pages(wanted.finding_id) for row in page)
        yield from (row for row in found if wanted.takes(row) and _channel_of(row) in meant)
        return
    for channel in _of(channels, wanted):
        yield from _search(archive, channel, wanted, newest_first=newest_first)


def latest(archive: Archive, channels: Sequence[str], wanted: Filter, most: int) -> list[Row]:
    """Return the newest of the rows that a filter takes, newest first, in memory for no more than `most` of them.

    Dead letters are read from their newest on, and no further than needed; all else has to be read whole.
    """
    if wanted.statuses != DEAD or wanted.finding_id is not None:
        return newest(search(archive, channels, wanted), most)
    each = [_search(archive, channel, wanted, newest_first=True) for channel in _of(channels, wanted)]
    return list(islice(heapq.merge(*each, key=_recency, reverse=True), most))


def newest(rows: Iterable[Row], most: int) -> list[Row]:
    """Return the newest of rows, newest first; those that cannot be read come first, since nobody knows."""
    return heapq.nlargest(most, rows, key=_recency)


def _of(channels: Sequence[str], wanted: Filter) -> Sequence[str]:
    return channels if wanted.channel is None else [wanted.channel]


def _search(archive: Archive, channel: str, wanted: Filter, *, newest_first: bool) -> Iterator[Row]:
    # The index of dead letters has seen to the span: what cannot be read lies in it too.
    of_unreadable = replace(wanted, span=Span()) if wanted.statuses == DEAD else wanted
    for page in _pages(archive, channel, wanted, newest_first=newest_first):
        for row in page:
            meant = wanted if isinstance(row, Notification) else of_unreadable
            if meant.takes(row) and _channel_of(row) == channel:
                yield row


def _pages(archive: Archive, channel: str, wanted: Filter, *, newest_first: bool) -> Iterator[Sequence[Row]]:
    if wanted.statuses == DEAD:
        return archive.dead_letters_of(channel, wanted.span, newest_first=newest_first)
    if wanted.statuses and wanted.statuses <= OPEN:
        return archive.waiting_in(channel)
    return archive.of_channel(channel)


def _channel_of(row: Row) -> str:
    return row.channel if isinstance(row, Notification) else row.key.channel


def _recency(row: Row) -> float:
    return moment_of(row).timestamp() if isinstance(row, Notification) else float("inf")
