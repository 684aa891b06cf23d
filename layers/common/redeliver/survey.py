"""What waits: the first look of a sweep at every channel, and the gauges that come of it."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime

from redeliver.core import lifecycle
from redeliver.core.notification import Notification, Row, Unreadable
from redeliver.ports import AT_ONCE, ChannelState, Lanes, Page, Unavailable, Waiting

NOTHING = Page((), None)
Failed = Callable[[str, Unavailable], None]  # told of a channel that could not be read, and why


@dataclass(frozen=True, slots=True)
class Lane:
    """A channel as the survey found it."""

    state: ChannelState
    page: Page
    pending: int
    complete: bool  # False: `pending` is a lower bound
    problem: Unavailable | None = None  # why not all of it could be read

    @property
    def channel(self) -> str:
        """Return the name of the channel."""
        return self.state.channel

    def due(self, now: datetime) -> list[Waiting]:
        """Return the rows of the first page whose moment has come."""
        return [row for row in self.page.rows if row.next_attempt_at <= now]

    def oldest_due_seconds(self, now: datetime) -> int:
        """Return for how long the first row has been due; 0 if none is."""
        first = next((row.next_attempt_at for row in self.page.rows if row.next_attempt_at > AT_ONCE), now)
        return max(int((now - first).total_seconds()), 0)


def survey(lanes: Lanes, state: ChannelState) -> Lane:
    """Return what waits for a channel: one index query, more only to count a backlog; never raises Unavailable."""
    page = NOTHING
    try:
        page = lanes.page(state.channel)
        behind, complete = lanes.waiting(state.channel, page.after) if page.after else (0, True)
    except Unavailable as error:
        return Lane(state, page, len(page.rows), complete=False, problem=error)
    return Lane(state, page, len(page.rows) + behind, complete)


def count_dead_letters(
    lanes: Lanes, channels: Iterable[str], failed: Failed, time_left: Callable[[], bool]
) -> tuple[int, list[str]]:
    """Return how many dead letters there are at least, and the channels of which not all could be counted."""
    number, partly = 0, []
    for channel in channels:
        counted, complete = 0, False
        try:
            if time_left():
                counted, complete = lanes.dead_letters(channel)
        except Unavailable as error:
            failed(channel, error)
        number += counted
        if not complete:
            partly.append(channel)
    return number, partly


def in_order(records: Iterable[Notification]) -> list[Notification]:
    """Return records by fewest attempts, then longest due (SPEC 5)."""
    return sorted(records, key=lambda r: (r.attempt_count, r.next_attempt_at, r.channel, r.dedup_key))


def gather(
    lanes: Lanes,
    surveyed: Iterable[Lane],
    now: datetime,
    most: int,
    unreadable: Callable[[Unreadable], None],
    failed: Failed,
    time_left: Callable[[], bool],
) -> tuple[list[Notification], int]:
    """Return up to `most` records to attempt, in order, and how many rows were looked at.

    Every lane's first page is read before any second one, and what a later page holds takes no place from it; leased,
    moved and unreadable rows do not count. A lane that cannot be read, and a row that is no channel's of its lane,
    cost themselves alone.
    """
    chosen: list[Notification] = []
    looked_at = 0
    readers = {lane.channel: _read(lanes, lane, now) for lane in surveyed}
    while readers and len(chosen) < most:
        found: list[Notification] = []
        for channel, reader in list(readers.items()):
            try:
                page = next(reader, None) if time_left() else None
            except Unavailable as error:
                failed(channel, error)
                page = None
            if page is None:
                del readers[channel]
                continue
            number, rows = page
            looked_at += number
            for row in rows:
                if isinstance(row, Unreadable):
                    unreadable(row)
                elif row.channel == channel and lifecycle.due(row, now):
                    found.append(row)
        chosen += in_order(found)[: most - len(chosen)]
    return in_order(chosen), looked_at


def _read(lanes: Lanes, lane: Lane, now: datetime) -> Iterator[tuple[int, Sequence[Row]]]:
    """Return page by page how many rows are due by the index, and what the table holds of them."""
    page = lane.page
    while due := [row.key for row in page.rows if row.next_attempt_at <= now]:
        yield len(due), lanes.fetch(due)
        if page.after is None or len(due) < len(page.rows):
            return
        page = lanes.page(lane.channel, page.after)
