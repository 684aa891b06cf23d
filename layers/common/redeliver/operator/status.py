"""What is not getting through, channel by channel, at one glance."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Protocol

from redeliver.core.notification import Notification, Status
from redeliver.operator.ports import Archive
from redeliver.ports import ChannelState, Lanes

_MOST_READ = 10_000  # waiting records of one channel; beyond that the counts are lower bounds


class Deliveries(Protocol):
    """What was delivered, as it was measured."""

    def in_the_last_hour(self, channel: str, now: datetime) -> int | None:
        """Return how many records a channel delivered; None if nobody can say."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ChannelStatus:
    """One channel; `complete` False says that pending, retrying, due and dead letters are lower bounds."""

    channel: str
    pending: int
    retrying: int
    due: int
    oldest_due_seconds: int
    dead_letters: int
    sent_last_hour: int | None
    hold_until: datetime | None
    hold_reason: str | None
    hold_note: str | None
    complete: bool


def status(
    archive: Archive,
    lanes: Lanes,
    deliveries: Deliveries,
    states: Sequence[ChannelState],
    now: datetime,
    *,
    most_read: int = _MOST_READ,
) -> list[ChannelStatus]:
    """Return where every channel stands, by name; of each lane about `most_read` rows are counted."""
    return [_status_of(archive, lanes, deliveries, state, now, most_read) for state in states]


def _status_of(
    archive: Archive, lanes: Lanes, deliveries: Deliveries, state: ChannelState, now: datetime, most_read: int
) -> ChannelStatus:
    counts, due, oldest, read = Counter[Status](), 0, now, 0
    for page in archive.waiting_in(state.channel):
        records = [row for row in page if isinstance(row, Notification) and row.next_attempt_at is not None]
        counts.update(record.status for record in records)
        moments = [record.next_attempt_at for record in records if record.next_attempt_at is not None]
        due += sum(moment <= now for moment in moments)
        oldest = min([oldest, *moments])
        read += len(page)
        if read >= most_read:
            break
    dead_letters, counted = lanes.dead_letters(state.channel)
    held = state.held(now)
    return ChannelStatus(
        channel=state.channel,
        pending=counts[Status.PENDING],
        retrying=counts[Status.RETRYING],
        due=due,
        oldest_due_seconds=int((now - oldest).total_seconds()),
        dead_letters=dead_letters,
        sent_last_hour=deliveries.in_the_last_hour(state.channel, now),
        hold_until=state.hold_until if held else None,
        hold_reason=state.hold_reason if held else None,
        hold_note=state.hold_note if held else None,
        complete=read < most_read and counted,
    )
