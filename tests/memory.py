"""The store in memory: what DynamoDB promises and no more, index lag included. Held to the store's contract suite."""

import threading
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, fields, replace
from datetime import datetime

from redeliver.core import moments
from redeliver.core.finding import DamagedFinding, Finding, outdoes
from redeliver.core.hold import PROBE_FOR, Hold
from redeliver.core.notification import Key, Notification, Row, Status, Unreadable
from redeliver.operator.ports import Span
from redeliver.ports import ChannelState, Page, Unavailable, Waiting

_FIELDS = tuple(field.name for field in fields(Notification))
_DECIDING = ("status", "attempt_count", "next_attempt_at", "claimed_until", "redrive_count", "finding_id", "expires_at")


@dataclass(frozen=True)
class Broken:
    """An item that is no record, as far as anybody can tell from outside."""

    row: Unreadable
    next_attempt_at: datetime | None = None
    finding_id: str | None = None
    dead_lettered_at: datetime | None = None


Stored = Notification | Broken


class MemoryNotifications:
    """Ports Ledger, Lanes, FindingRecords and Archive."""

    def __init__(self, findings: "MemoryFindings", page_size: int = 100, finding_page: int = 99) -> None:
        """Start empty."""
        self.rows: dict[Key, Stored] = {}
        self.writes = 0  # those that were done
        self.most_counted = 10**6  # rows behind a page, and dead letters
        self._findings = findings
        self._page_size = page_size
        self._finding_page = finding_page
        self._lock = threading.RLock()
        self._lagging: dict[Key, Stored] | None = None

    def lag(self) -> None:
        """Let the indexes show from now on what the table holds at this moment."""
        self._lagging = dict(self.rows)

    def catch_up(self) -> None:
        """Let the indexes show what the table holds."""
        self._lagging = None

    def plant(self, key: Key, *, next_attempt_at: datetime | None = None, finding_id: str | None = None) -> None:
        """Put an item that is no record."""
        self.rows[key] = Broken(Unreadable(key, "status has a value that no record has"), next_attempt_at, finding_id)

    def add(self, record: Notification, now: datetime) -> bool:
        """Put a record where there is none, or one past its expiry."""
        with self._lock:
            stored = self.rows.get(record.key)
            if stored is not None and not (isinstance(stored, Notification) and stored.expired(now)):
                return False
            self._put(record.key, record)
            return True

    def get(self, key: Key) -> Row | None:
        """Return what the table holds."""
        stored = self.rows.get(key)
        return stored.row if isinstance(stored, Broken) else stored

    def replace(self, before: Notification, after: Notification) -> bool:
        """Write what differs, if the stored record still is `before` in all that decides."""
        asked = ("requested_at",) if before.requested_at != after.requested_at else ()
        with self._lock:
            stored = self.rows.get(before.key)
            if not isinstance(stored, Notification) or not _same(stored, before, (*_DECIDING, *asked)):
                return False
            self._put(before.key, _updated(stored, before, after))
            return True

    def park(self, row: Unreadable, now: datetime) -> bool:
        """Take an unreadable row out of every schedule, once."""
        with self._lock:
            stored = self.rows.get(row.key)
            if isinstance(stored, Notification):  # somebody could not read what we can
                self._put(
                    row.key, replace(stored, status=Status.DEAD_LETTERED, next_attempt_at=None, claimed_until=None)
                )
                return True
            if stored is None or stored.row.parked:
                return False
            self._put(row.key, Broken(replace(stored.row, parked=True), None, stored.finding_id, now))
            return True

    def page(self, channel: str, after: Waiting | None = None) -> Page:
        """Return the next waiting rows of a channel."""
        rows = self._waiting(channel, after)
        page = rows[: self._page_size]
        return Page(page, page[-1] if len(rows) > len(page) else None)

    def fetch(self, keys: Sequence[Key]) -> Sequence[Row]:
        """Return what the table holds of these keys."""
        return [row for key in dict.fromkeys(keys) if (row := self.get(key)) is not None]

    def waiting(self, channel: str, after: Waiting) -> tuple[int, bool]:
        """Return how many rows wait behind `after`."""
        behind = len(self._waiting(channel, after))
        return min(behind, self.most_counted), behind <= self.most_counted

    def dead_letters(self, channel: str) -> tuple[int, bool]:
        """Return how many dead letters a channel has."""
        dead = sum(row.dead_lettered_at is not None for key, row in self._index() if key.channel == channel)
        return min(dead, self.most_counted), dead <= self.most_counted

    def pages(self, finding_id: str) -> Iterator[Sequence[Row]]:
        """Return the records of a finding."""
        keys = sorted((key for key, row in self._index() if row.finding_id == finding_id), key=lambda k: k.dedup_key)
        for first in range(0, max(len(keys), 1), self._finding_page):
            yield self.fetch(keys[first : first + self._finding_page])

    def dead_letters_of(self, channel: str, span: Span, *, newest_first: bool) -> Iterator[Sequence[Row]]:
        """Return what died in that span."""
        dead = [(row.dead_lettered_at, key) for key, row in self._index() if key.channel == channel]
        found = sorted((moment, key) for moment, key in dead if moment is not None and span.holds(moment))
        return self._paged([key for _, key in (reversed(found) if newest_first else found)])

    def waiting_in(self, channel: str) -> Iterator[Sequence[Row]]:
        """Return what waits."""
        return self._paged([row.key for row in self._waiting(channel, None)])

    def of_channel(self, channel: str) -> Iterator[Sequence[Row]]:
        """Return all records of a channel."""
        return self._paged(sorted(key for key in self.rows if key.channel == channel))

    def everything(self) -> Iterator[Sequence[Row]]:
        """Return every row."""
        return self._paged(list(self.rows))

    def _paged(self, keys: Sequence[Key]) -> Iterator[Sequence[Row]]:
        for first in range(0, max(len(keys), 1), self._page_size):
            yield self.fetch(keys[first : first + self._page_size])

    def stamp(self, finding: Finding, pairs: Sequence[tuple[Notification, Notification]]) -> int:
        """Write the expiry of records, if the finding is still as read."""
        with self._lock:
            known = self._findings.rows.get(finding.finding_id)
            if known is None or (known.status, known.changed_at) != (finding.status, finding.changed_at):
                return 0
            return sum(self._stamp(before, after) for before, after in pairs)

    def _stamp(self, before: Notification, after: Notification) -> bool:
        stored = self.rows.get(before.key)
        if not isinstance(stored, Notification) or stored.expires_at is not None:
            return False
        if not _same(stored, before, (*_DECIDING, "requested_at")):
            return False
        self._put(before.key, _updated(stored, before, after))
        return True

    def release(self, before: Notification, after: Notification) -> bool:
        """Take the expiry off a record, if it still has one."""
        with self._lock:
            stored = self.rows.get(before.key)
            if not isinstance(stored, Notification) or stored.expires_at is None:
                return False
            self._put(before.key, _updated(stored, before, after))
            return True

    def _put(self, key: Key, row: Stored) -> None:
        self.rows[key] = row
        self.writes += 1

    def _index(self) -> list[tuple[Key, Stored]]:
        return list((self.rows if self._lagging is None else self._lagging).items())

    def _waiting(self, channel: str, after: Waiting | None) -> list[Waiting]:
        rows = [
            Waiting(key, row.next_attempt_at)
            for key, row in self._index()
            if key.channel == channel and row.next_attempt_at is not None
        ]
        ordered = sorted(rows, key=_place)
        return [row for row in ordered if after is None or _place(row) > _place(after)]


class MemoryFindings:
    """Port Findings."""

    def __init__(self) -> None:
        """Start empty."""
        self.rows: dict[str, Finding] = {}
        self.damaged: list[DamagedFinding] = []
        self.expiry: dict[str, datetime] = {}

    def put(self, finding: Finding) -> bool:
        """Write the news, unless the stored one outdoes it or has expired."""
        expiry, moment = self.expiry.get(finding.finding_id), finding.unsettled
        forgotten = expiry is not None and moment is not None and expiry <= moment
        if not forgotten and not outdoes(finding, self.rows.get(finding.finding_id)):
            return False
        self.rows[finding.finding_id] = finding
        self.expiry.pop(finding.finding_id, None)
        return True

    def get(self, finding_id: str) -> Finding | None:
        """Return what is known of a finding."""
        return self.rows.get(finding_id)

    def all(self) -> Iterator[Finding]:
        """Return every finding."""
        yield from self.rows.values()

    def unsettled(self) -> Iterator[Finding | DamagedFinding]:
        """Return the findings that were not yet found in order since they changed."""
        yield from self.damaged
        yield from [row for row in self.rows.values() if row.unsettled is not None]

    def settle(self, finding: Finding, expires_at: datetime | None) -> bool:
        """Mark a finding as in order, if it is still as read."""
        known = self.rows.get(finding.finding_id)
        if known is None or (known.status, known.changed_at) != (finding.status, finding.changed_at):
            return False
        self.rows[finding.finding_id] = replace(known, unsettled=None)
        if expires_at is not None:
            self.expiry[finding.finding_id] = expires_at
        return True


class MemoryStates:
    """Ports ChannelStates and Addresses."""

    def __init__(self) -> None:
        """Start empty."""
        self.rows: dict[str, ChannelState] = {}
        self.moved: dict[tuple[str, str], str] = {}
        self.writes = 0
        self.reads = 0
        self.broken = False  # no hold can be written

    def open(self, channel: str) -> ChannelState:
        """Return the row of a channel, made if it was absent."""
        self.reads += 1
        return self.rows.setdefault(channel, ChannelState(channel))

    def all(self) -> Sequence[ChannelState]:
        """Return every row."""
        return sorted(self.rows.values(), key=lambda state: state.channel)

    def hold(self, channel: str, hold: Hold, now: datetime, failures: int | None = None) -> bool:
        """Hold a channel, unless it is held longer or by an operator already."""
        state = self._to_write(channel)
        longer = state.hold_until is not None and state.hold_until >= hold.until
        if state.held(now) and (longer or state.hold_reason == "operator"):
            return False
        known = state.failures if failures is None else failures
        self._row(ChannelState(channel, hold.until, hold.reason, known))
        return True

    def probe(self, state: ChannelState, now: datetime) -> ChannelState | None:
        """Take the channel for a probe by moving its hold on."""
        if not _as_read(self._to_write(state.channel), state):
            return None
        taken = replace(state, hold_until=moments.ceil(now + PROBE_FOR))
        self._row(replace(self.rows[state.channel], hold_until=taken.hold_until))
        return taken

    def free(self, state: ChannelState, failures: int) -> bool:
        """Write the failures in a row and end the hold, if it is as read."""
        if not _as_read(self._to_write(state.channel), state):
            return False
        self._row(ChannelState(state.channel, failures=failures))
        return True

    def impose(self, channel: str, hold: Hold, note: str) -> None:
        """Hold a channel, whatever held it before."""
        known = self._to_write(channel)
        self._row(ChannelState(channel, hold.until, hold.reason, known.failures, note))

    def release(self, channel: str) -> bool:
        """End a channel's hold and forget its failures."""
        held = self._to_write(channel).hold_until is not None
        if held:
            self._row(ChannelState(channel))
        return held

    def _to_write(self, channel: str) -> ChannelState:
        if self.broken:
            raise Unavailable("DynamoDB: InternalServerError: not done")
        return self.rows.get(channel, ChannelState(channel))

    def _row(self, state: ChannelState) -> None:
        self.rows[state.channel] = state
        self.writes += 1

    def current(self, channel: str, recipient: str) -> str | None:
        """Return where a recipient has moved."""
        return self.moved.get((channel, recipient))

    def move(self, channel: str, recipient: str, to: str) -> None:
        """Remember where a recipient has moved."""
        if self.broken:
            raise Unavailable("DynamoDB: InternalServerError: not done")
        self.open(channel)
        self.moved[(channel, recipient)] = to


def _as_read(stored: ChannelState, state: ChannelState) -> bool:
    return (stored.hold_until, stored.hold_reason) == (state.hold_until, state.hold_reason)


def _place(row: Waiting) -> tuple[datetime, str, str]:
    return (row.next_attempt_at, row.key.channel, row.key.dedup_key)


def _same(one: Notification, other: Notification, names: Iterable[str]) -> bool:
    return all(getattr(one, name) == getattr(other, name) for name in names)


def _updated(stored: Notification, before: Notification, after: Notification) -> Notification:
    changed = {name: getattr(after, name) for name in _FIELDS if getattr(before, name) != getattr(after, name)}
    return replace(stored, **changed)
