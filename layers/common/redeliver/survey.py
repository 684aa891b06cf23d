"""What waits: the first look of a sweep at every channel, and the gauges that come of it."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime

from redeliver.core import lifecycle
from redeliver.core.notification import Key, Notification, Unreadable
from redeliver.ports import AT_ONCE, ChannelState, Lanes, Page, Waiting


@dataclass(frozen=True, slots=True)
class Lane:
    """A channel as the survey found it."""

    state: ChannelState
    page: Page
    pending: int
    complete: bool  # False: `pending` is a lower bound

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
    """Return what waits for a channel: one index query, more only to count a backlog."""
    page = lanes.page(state.channel)
    behind, complete = lanes.waiting(state.channel, page.after) if page.after else (0, True)
    return Lane(state, page, len(page.rows) + behind, complete)


def in_order(records: Iterable[Notification]) -> list[Notification]:
    """Return records by fewest attempts, then longest due (SPEC 5)."""
    return sorted(records, key=lambda r: (r.attempt_count, r.next_attempt_at, r.channel, r.dedup_key))


def gather(
    lanes: Lanes,
    surveyed: Sequence[Lane],
    now: datetime,
    most: int,
    unreadable: Callable[[Unreadable], None],
) -> tuple[list[Notification], int]:
    """Return up to `most` records to attempt, in order, and how many rows were looked at.

    Every lane's first page is read before any second one, and what a later page holds takes no place from it; leased,
    moved and unreadable rows do not count.
    """
    chosen: list[Notification] = []
    looked_at = 0
    readers = [_pages(lanes, lane, now) for lane in surveyed]
    while readers and len(chosen) < most:
        found: list[Notification] = []
        for reader in list(readers):
            keys = next(reader, None)
            if keys is None:
                readers.remove(reader)
                continue
            looked_at += len(keys)
            for row in lanes.fetch(keys):
                if isinstance(row, Unreadable):
                    unreadable(row)
                elif lifecycle.due(row, now):
                    found.append(row)
        chosen += in_order(found)[: most - len(chosen)]
    return in_order(chosen), looked_at


def _pages(lanes: Lanes, lane: Lane, now: datetime) -> Iterator[list[Key]]:
    page = lane.page
    while due := [row.key for row in page.rows if row.next_attempt_at <= now]:
        yield due
        if page.after is None or len(due) < len(page.rows):
            return
        page = lanes.page(lane.channel, page.after)
