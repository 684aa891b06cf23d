"""The records a page at a time, newest first, however many there are and though no index has them all in that order.

A window of the records is read by their keys and moments alone; of the window, the newest behind the cursor are
fetched. Where all that is asked for fits into one window the order is that of the whole; beyond it, of each window.
"""

from bisect import bisect_right
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from enum import Enum
from typing import Protocol

from redeliver.core.notification import OPEN, Key, Notification, Row
from redeliver.operator.search import DEAD, Filter
from redeliver.ports import Lanes

PAGE = 50


class Source(Enum):
    """Where the records are read."""

    DEAD_LETTERS = "dead_letters"  # keys and moments only, latest death first
    DUE = "due"  # the same, longest due first
    TABLE = "table"  # by dedup key; DynamoDB reads, and charges for, whole records


@dataclass(frozen=True, slots=True)
class Limits:
    """The records of a page, and what one may cost: the rows of a window, and the records fetched to be filtered."""

    page: int = PAGE
    index: int = 100_000
    table: int = 20_000
    fetched: int = 2_000


LIMITS = Limits()


@dataclass(frozen=True, slots=True)
class Entry:
    """A record by its key and the moment that gives it its place."""

    moment: datetime
    key: Key


@dataclass(frozen=True, slots=True)
class Stretch:
    """What was read of a channel: how much it cost in rows, and from where it goes on; None at the channel's end."""

    entries: Sequence[Entry]
    cost: int
    after: Entry | None


class Timeline(Protocol):
    """The records by key and moment."""

    def stretch(self, source: Source, channel: str, wanted: Filter, after: Entry | None, most: int) -> Stretch:
        """Return the next rows of a channel in the order of the source, about `most` of them.

        Of the table only what has the status and the kind that are wanted. What has no moment has that of 1970.
        """


@dataclass(frozen=True, slots=True)
class Cursor:
    """Where the next page begins: in the window that starts in `channel` behind `after`, what comes behind `before`."""

    channel: str | None = None
    after: Entry | None = None
    before: Entry | None = None


@dataclass(frozen=True, slots=True)
class Page:
    """Some records; `total` and `first`, the place of the first of them, are None where nobody has counted."""

    rows: Sequence[Row]
    next: Cursor | None
    ordered: bool  # over all there is, not only this window
    first: int | None = None
    total: int | None = None


@dataclass(frozen=True, slots=True)
class _Window:
    entries: Sequence[Entry]
    next: Cursor | None


def page(
    timeline: Timeline,
    lanes: Lanes,
    channels: Sequence[str],
    wanted: Filter,
    cursor: Cursor,
    now: datetime,
    limits: Limits = LIMITS,
) -> Page:
    """Return the page that begins at a cursor: newest first, what waits longest due first."""
    source = _source(wanted)
    chosen = channels if wanted.channel is None else [wanted.channel]
    left = limits.table if source is Source.TABLE else limits.index
    window = _window(timeline, source, chosen, wanted, cursor, left)
    place = _longest_due if source is Source.DUE else _newest
    ordered = sorted(window.entries, key=place)
    begun = 0 if cursor.before is None else bisect_right(ordered, place(cursor.before), key=place)
    ahead = ordered[begun:]
    rows, passed = _fetched(lanes, ahead[: limits.fetched], wanted, now, limits.page)
    if passed < len(ahead):
        following: Cursor | None = Cursor(cursor.channel, cursor.after, ahead[passed - 1])
    else:
        following = window.next
    whole = window.next is None and cursor.channel is None
    if not (whole and _exact(source, wanted)):
        return Page(rows, following, whole)
    return Page(rows, following, whole, begun + 1, len(ordered))


def _source(wanted: Filter) -> Source:
    if wanted.statuses == DEAD:
        return Source.DEAD_LETTERS
    return Source.DUE if wanted.statuses and wanted.statuses <= OPEN else Source.TABLE


def _exact(source: Source, wanted: Filter) -> bool:
    """Tell whether a source has nothing but what is wanted."""
    return source is Source.TABLE or (wanted.kind is None and wanted.statuses in (DEAD, OPEN))


def _window(
    timeline: Timeline, source: Source, channels: Sequence[str], wanted: Filter, cursor: Cursor, left: int
) -> _Window:
    entries: list[Entry] = []
    for channel in channels:
        if cursor.channel is not None and channel < cursor.channel:
            continue
        if left <= 0:
            return _Window(entries, Cursor(channel))
        after = cursor.after if channel == cursor.channel else None
        stretch = timeline.stretch(source, channel, wanted, after, left)
        entries += stretch.entries
        left -= stretch.cost
        if stretch.after is not None:
            return _Window(entries, Cursor(channel, stretch.after))
    return _Window(entries, None)


def _fetched(lanes: Lanes, ahead: Sequence[Entry], wanted: Filter, now: datetime, most: int) -> tuple[list[Row], int]:
    """Return a page of rows that are what an index said they were, and how many entries it took."""
    rows: list[Row] = []
    for passed, row in enumerate(_looked_at(lanes, ahead, most), start=1):
        if row is not None and wanted.takes(row) and not (isinstance(row, Notification) and row.expired(now)):
            rows.append(row)
        if len(rows) == most:
            return rows, passed
    return rows, len(ahead)


def _looked_at(lanes: Lanes, entries: Sequence[Entry], at_once: int) -> Iterator[Row | None]:
    for first in range(0, len(entries), at_once):
        keys = [entry.key for entry in entries[first : first + at_once]]
        found = {row.key: row for row in lanes.fetch(keys)}
        yield from map(found.get, keys)


# Plain texts: comparing keys as such would take most of a page's time.
def _newest(entry: Entry) -> tuple[float, str, str]:
    return -entry.moment.timestamp(), entry.key.channel, entry.key.dedup_key


def _longest_due(entry: Entry) -> tuple[float, str, str]:
    return entry.moment.timestamp(), entry.key.channel, entry.key.dedup_key
