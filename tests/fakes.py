"""The outside, in memory: a clock, a deadline, channels, telemetry, a ledger with faults. The store is elsewhere."""

import threading
from collections import Counter, deque
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any

from redeliver.core.notification import Dispatch, Key, Notification, Row, Unreadable
from redeliver.core.outcome import Delivered, Outcome
from redeliver.ports import Announcement, Channel, Ledger, Mode, NotConfigured, Unavailable
from tests.builders import NOW

Respond = Callable[[Dispatch], Outcome]


@dataclass
class Clock:
    """Stands still unless told otherwise; `off` is what the machine that reads it is ahead."""

    now: datetime = NOW
    off: timedelta = timedelta()

    def __call__(self) -> datetime:
        return self.now + self.off

    def pass_by(self, seconds: float) -> None:
        """Let time pass."""
        self.now += timedelta(seconds=seconds)


@dataclass
class Until:
    """A deadline on the clock."""

    clock: Clock
    end: datetime

    def left(self) -> timedelta:
        """Return the time that is left."""
        return self.end - self.clock.now


@dataclass
class FakeChannel:
    """Answers as it is told: by the script first, then by `respond`."""

    mode: Mode = Mode.IMMEDIATE
    digest_seconds: int = 0
    max_age: timedelta | None = None
    announce_sent: bool = False
    capacity: int = 1000
    script: deque[Outcome] = field(default_factory=deque)
    respond: Respond = lambda dispatch: Delivered()
    calls: list[Dispatch] = field(default_factory=list)
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def weigh(self, record: Notification) -> int:
        """Return the length of the body."""
        return len(record.body)

    def deliver(self, dispatch: Dispatch) -> Outcome:
        """Return what the script, or else `respond`, says."""
        with self._lock:
            self.calls.append(dispatch)
            scripted = self.script.popleft() if self.script else None
        return self.respond(dispatch) if scripted is None else scripted

    def will(self, *outcomes: Outcome) -> "FakeChannel":
        """Add to the script."""
        self.script.extend(outcomes)
        return self

    def always(self, outcome: Outcome) -> "FakeChannel":
        """Answer everything alike."""
        self.respond = lambda dispatch: outcome
        return self

    @property
    def sent(self) -> list[list[str]]:
        """Return the dedup keys of each call."""
        return [[member.dedup_key for member in dispatch.members] for dispatch in self.calls]


@dataclass
class FakeChannels:
    """The channel documents; one that is not there is not configured."""

    known: dict[str, Channel] = field(default_factory=dict)
    down: bool = False
    looked_up: list[str] = field(default_factory=list)

    def look_up(self, name: str, now: datetime) -> Channel | NotConfigured:
        """Return the channel, or why there is none."""
        self.looked_up.append(name)
        if self.down:
            raise Unavailable("SSM: ThrottlingException: too fast")
        return self.known.get(name, NotConfigured(f"{name}: there is no document"))


@dataclass
class FakeRequests:
    """The way in of notifications: remembers what was asked for."""

    asked: list[Mapping[str, object]] = field(default_factory=list)
    down: bool = False

    def ask(self, requests: Sequence[Mapping[str, object]]) -> None:
        """Ask for notifications."""
        if self.down:
            raise Unavailable("SQS: EndpointConnectionError: a notification could not be requested")
        self.asked += requests


@dataclass
class FakeDeadLetterQueue:
    """Where refused requests go: remembers what was put aside, with its reason."""

    messages: list[tuple[str, str]] = field(default_factory=list)
    down: bool = False

    def put(self, body: str, reason: str) -> None:
        """Keep a message."""
        if self.down:
            raise Unavailable("SQS: EndpointConnectionError: the refused message could not be put aside")
        self.messages.append((body, reason))


@dataclass
class RecordingTelemetry:
    """Remembers what was counted and logged."""

    counts: Counter[tuple[str, frozenset[tuple[str, str]]]] = field(default_factory=Counter)
    gauges: dict[str, float] = field(default_factory=dict)
    lines: list[tuple[str, str, dict[str, object]]] = field(default_factory=list)
    announced: list[tuple[Announcement, dict[str, object]]] = field(default_factory=list)

    def count(self, name: str, by: Mapping[str, str] | None = None, number: int = 1) -> None:
        """Add to a counter."""
        self.counts[name, frozenset((by or {}).items())] += number

    def gauge(self, name: str, value: float) -> None:
        """Set a gauge."""
        self.gauges[name] = value

    def log(self, event: str, **fields: object) -> None:
        """Remember a line."""
        self.lines.append(("info", event, fields))

    def warn(self, event: str, **fields: object) -> None:
        """Remember a warning."""
        self.lines.append(("warning", event, fields))

    def announce(self, what: Announcement, **detail: object) -> None:
        """Remember what others would hear."""
        self.announced.append((what, detail))

    def flush(self) -> None:
        """Remember when what was counted so far was written."""
        self.lines.append(("flush", "flush", {}))

    def counted(self, name: str, **by: str) -> int:
        """Return a counter by exactly these dimensions."""
        return self.counts[f"notifications.{name}", frozenset(by.items())]

    def of(self, event: str) -> list[dict[str, object]]:
        """Return the fields of every line about an event."""
        return [fields for _, name, fields in self.lines if name == event]

    def warned(self, event: str) -> bool:
        """Tell whether there is a warning about an event."""
        return any(line[:2] == ("warning", event) for line in self.lines)


LOST = "lost"  # the write is done, its answer is not
REFUSED = "refused"  # the write is not done


@dataclass
class FaultyLedger:
    """A ledger whose next writes fail as planned: a name each, None for one that works."""

    real: Ledger
    plan: deque[str | None] = field(default_factory=deque)
    on_write: Callable[[], Any] | None = None  # what another actor does directly before the next write
    on_read: Callable[[], Any] | None = None  # the same, before the next reading

    def will(self, *faults: str | None) -> None:
        """Add to the plan."""
        self.plan.extend(faults)

    def add(self, record: Notification, now: datetime) -> bool:
        """Put a record, if the plan has it so."""
        return self._write(lambda: self.real.add(record, now))

    def get(self, key: Key) -> Row | None:
        """Return what the ledger holds."""
        if self.on_read is not None:
            interfere, self.on_read = self.on_read, None
            interfere()
        return self.real.get(key)

    def replace(self, before: Notification, after: Notification) -> bool:
        """Replace a record, if the plan has it so."""
        return self._write(lambda: self.real.replace(before, after))

    def park(self, row: Unreadable, now: datetime) -> bool:
        """Park a row, if the plan has it so."""
        return self._write(lambda: self.real.park(row, now))

    def _write(self, write: Callable[[], bool]) -> bool:
        fault = self.plan.popleft() if self.plan else None
        if self.on_write is not None:
            interfere, self.on_write = self.on_write, None
            interfere()
        if fault == REFUSED:
            raise Unavailable("DynamoDB: InternalServerError: not done")
        done = write()
        if fault == LOST:
            raise Unavailable("DynamoDB: ReadTimeoutError: done, but nobody says so")
        return done


def keys_of(rows: Iterable[Row]) -> list[str]:
    """Return the dedup keys of rows."""
    return [row.dedup_key if isinstance(row, Notification) else row.key.dedup_key for row in rows]
