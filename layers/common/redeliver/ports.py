"""What the use cases ask of the outside; adapters and fakes provide it, one contract suite each."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from enum import StrEnum
from typing import Protocol

from redeliver.core.finding import DamagedFinding, Finding
from redeliver.core.hold import PROBED, Hold
from redeliver.core.notification import Dispatch, Key, Notification, Row, Unreadable
from redeliver.core.outcome import Outcome


class Unavailable(Exception):
    """A service that we depend on did not do its work this time; the message is fit to be logged."""


class Mode(StrEnum):
    """How a channel sends: each notification by itself, or all that is due in one message."""

    IMMEDIATE = "immediate"
    DIGEST = "digest"


class Channel(Protocol):
    """A configured way out."""

    @property
    def mode(self) -> Mode:
        """Return how the channel sends."""

    @property
    def digest_seconds(self) -> int:
        """Return the length of the digest window; 0 sends with the next sweep."""

    @property
    def announce_sent(self) -> bool:
        """Tell whether others are to hear of each delivery."""

    @property
    def max_age(self) -> timedelta | None:
        """Return how old a notification may get before it is not worth sending; None is any age."""

    @property
    def capacity(self) -> int:
        """Return how much `weigh` may add up to in one digest."""

    def weigh(self, record: Notification) -> int:
        """Return what a record takes of a digest's capacity."""

    def deliver(self, dispatch: Dispatch) -> Outcome:
        """Make one attempt, in-request retries included, inside the attempt's wall-clock budget; never raises."""


@dataclass(frozen=True, slots=True)
class NotConfigured:
    """There is no usable document for the channel; `why` names the field and holds no secret."""

    why: str


class Channels(Protocol):
    """The channel documents."""

    def look_up(self, name: str, now: datetime) -> Channel | NotConfigured:
        """Return the channel; raises Unavailable when the documents cannot be read now."""


@dataclass(frozen=True, slots=True)
class ChannelState:
    """The run-time row of a channel (SPEC 2)."""

    channel: str
    hold_until: datetime | None = None
    hold_reason: str | None = None
    failures: int = 0  # failed attempts in a row
    hold_note: str | None = None  # what the operator who holds it says

    def held(self, now: datetime) -> bool:
        """Tell whether the channel is left alone now."""
        return self.hold_until is not None and self.hold_until > now

    def to_be_probed(self, now: datetime) -> bool:
        """Tell whether the channel's hold is over, but only a single attempt may find out whether its reason is."""
        return self.hold_reason in PROBED and not self.held(now)


class ChannelStates(Protocol):
    """The run-time rows of the channels."""

    def open(self, channel: str) -> ChannelState:
        """Return the row of a channel, made if it was absent."""

    def all(self) -> Sequence[ChannelState]:
        """Return every row."""

    def hold(self, channel: str, hold: Hold, now: datetime, failures: int | None = None) -> bool:
        """Hold a channel, unless held longer or by an operator; `failures` if known; tell whether the row changed."""

    def probe(self, state: ChannelState, now: datetime) -> ChannelState | None:
        """Take the channel for a probe by moving its hold on; None if it is not as read any more."""

    def free(self, state: ChannelState, failures: int) -> bool:
        """Write the failures in a row and end the hold, if it is as read; tell whether it was."""


class Addresses(Protocol):
    """Where recipients have moved; a memory that may forget, since an endpoint says it again."""

    def current(self, channel: str, recipient: str) -> str | None:
        """Return where a recipient has moved, by what was last read of the channel's row; asks nobody."""

    def move(self, channel: str, recipient: str, to: str) -> None:
        """Remember where a recipient has moved; raises Unavailable."""


class Ledger(Protocol):
    """The records, one at a time."""

    def add(self, record: Notification, now: datetime) -> bool:
        """Put a record where there is none, or one past its expiry; tell whether that was so."""

    def get(self, key: Key) -> Row | None:
        """Return what the table holds, read consistently."""

    def replace(self, before: Notification, after: Notification) -> bool:
        """Write what differs, if the stored record still is `before` in all that decides; tell whether it was."""

    def park(self, row: Unreadable, now: datetime) -> bool:
        """Take an unreadable row out of every schedule, once; tell whether this call did it."""


AT_ONCE = datetime.fromtimestamp(0, UTC)  # stands for a moment in the `due` index that cannot be read


@dataclass(frozen=True, slots=True)
class Waiting:
    """One row of the `due` index: says what to look at, not what is true."""

    key: Key
    next_attempt_at: datetime


@dataclass(frozen=True, slots=True)
class Page:
    """A page of a lane, longest due first; `after` continues it, None at its end."""

    rows: Sequence[Waiting]
    after: Waiting | None


class Lanes(Protocol):
    """The records in the order in which they wait."""

    def page(self, channel: str, after: Waiting | None = None) -> Page:
        """Return the next 100 waiting rows of a channel, the ones not due yet included."""

    def fetch(self, keys: Sequence[Key]) -> Sequence[Row]:
        """Return what the table holds of these keys, read consistently, in their order; absent ones are left out."""

    def waiting(self, channel: str, after: Waiting) -> tuple[int, bool]:
        """Return how many rows wait behind `after`, and whether that is all of them (10 pages are counted)."""

    def dead_letters(self, channel: str) -> tuple[int, bool]:
        """Return how many dead letters a channel has, and whether that is all of them (10 pages are counted)."""


class Findings(Protocol):
    """The findings and the records that hang on them."""

    def put(self, finding: Finding) -> bool:
        """Write the news, unless the stored one outdoes it; tell whether it was written."""

    def unsettled(self) -> Iterable[Finding | DamagedFinding]:
        """Return the findings that were not yet found in order since they changed; raises Unavailable, also midway."""

    def settle(self, finding: Finding, expires_at: datetime | None) -> bool:
        """Mark a finding as in order, if it is still as read."""


class FindingRecords(Protocol):
    """The records of a finding and their expiry."""

    def pages(self, finding_id: str) -> Iterable[Sequence[Row]]:
        """Return the records of a finding, read consistently, up to 99 at a time."""

    def stamp(self, finding: Finding, pairs: Sequence[tuple[Notification, Notification]]) -> int:
        """Write the expiry of up to 99 records, if the finding is still resolved as read; return how many."""

    def release(self, before: Notification, after: Notification) -> bool:
        """Take the expiry off a record, if it still has one."""


MOST_REQUESTS = 10  # of one call to the way in


class Requests(Protocol):
    """The way in of notifications."""

    def ask(self, requests: Sequence[Mapping[str, object]]) -> None:
        """Ask for up to MOST_REQUESTS notifications; raises Unavailable if not all of them could be."""


class Deadline(Protocol):
    """The end of the invocation."""

    def left(self) -> timedelta:
        """Return the time that is left."""


class Announcement(StrEnum):
    """What others hear of on the bus, by its detail type."""

    SENT = "Notification Sent"
    DEAD_LETTERED = "Notification Dead Lettered"
    HELD = "Channel Held"
    RECOVERED = "Channel Recovered"


MOST_EVENTS = 10  # of one call to the bus


class Bus(Protocol):
    """Where others listen."""

    def publish(self, events: Sequence[tuple[str, Mapping[str, object]]]) -> None:
        """Put up to MOST_EVENTS on the bus: a detail type and its detail each; raises Unavailable if not all are."""


class Telemetry(Protocol):
    """Counters, gauges, log lines, and what others hear of."""

    def count(self, name: str, by: Mapping[str, str] | None = None, number: int = 1) -> None:
        """Add to a counter, by its dimensions beside `service`."""

    def gauge(self, name: str, value: float) -> None:
        """Set a gauge."""

    def log(self, event: str, **fields: object) -> None:
        """Write one log line: one event name per fact."""

    def warn(self, event: str, **fields: object) -> None:
        """Write one log line that somebody should look at."""

    def announce(self, what: Announcement, **detail: object) -> None:
        """Tell who listens, soon; it may come to nothing, and never raises."""

    def flush(self) -> None:
        """Write what was counted and announced since the last flush; the end of an invocation does it too."""
