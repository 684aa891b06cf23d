"""The tables: set to what they hold at a point, asked one operation, and read back."""

from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from redeliver.core import moments
from redeliver.core.finding import Finding
from redeliver.core.notification import Key, Notification, Unreadable
from redeliver.ports import ChannelState
from tests.explorer.replay import Operation, kept
from tests.memory import Broken, MemoryFindings, MemoryNotifications, MemoryStates, Stored
from tests.memory_timeline import MemoryTimeline
from tests.stores import Store


@dataclass(frozen=True, slots=True)
class Facts:
    """What the tables hold."""

    notifications: tuple[tuple[Key, Stored], ...] = ()
    findings: tuple[tuple[str, Finding], ...] = ()
    expiry: tuple[tuple[str, datetime], ...] = ()
    channels: tuple[tuple[str, ChannelState], ...] = ()

    def record(self, key: Key) -> Notification | None:
        """Return a record."""
        row = dict(self.notifications).get(key)
        return row if isinstance(row, Notification) else None

    def unreadable(self) -> list[Unreadable]:
        """Return what is no record."""
        return [row.row for _, row in self.notifications if isinstance(row, Broken)]

    def records(self) -> list[Notification]:
        """Return all records."""
        return [row for _, row in self.notifications if isinstance(row, Notification)]

    def channel(self, name: str) -> ChannelState:
        """Return a channel's row."""
        return dict(self.channels).get(name, ChannelState(name))


@dataclass
class Stage:
    """The store of the tests in memory, or a broken one."""

    make: Callable[[MemoryFindings], MemoryNotifications] = MemoryNotifications
    findings: MemoryFindings = field(default_factory=MemoryFindings)
    states: MemoryStates = field(default_factory=MemoryStates)

    def __post_init__(self) -> None:
        self.notifications = self.make(self.findings)
        ledger, states, findings = self.notifications, self.states, self.findings
        timeline = MemoryTimeline(ledger)
        self.store = Store(
            ledger, ledger, states, states, findings, ledger, ledger, findings, states, timeline, plant=self._plant
        )

    def _plant(self, key: Key, next_attempt_at: int | None, finding_id: str | None) -> None:
        due = None if next_attempt_at is None else moments.from_epoch(next_attempt_at)
        self.notifications.plant(key, next_attempt_at=due, finding_id=finding_id)

    def load(self, facts: Facts) -> None:
        """Let the tables hold this."""
        self.notifications.rows = dict(facts.notifications)
        self.findings.rows, self.findings.expiry = dict(facts.findings), dict(facts.expiry)
        self.states.rows = dict(facts.channels)

    def save(self) -> Facts:
        """Return what the tables hold."""
        return Facts(
            _sorted(self.notifications.rows),
            _sorted(self.findings.rows),
            _sorted(self.findings.expiry),
            _sorted(self.states.rows),
        )

    def perform(self, facts: Facts, operation: Operation) -> tuple[Any, Facts]:
        """Return the result of an operation on tables that hold this, and what they hold then."""
        self.load(facts)
        result = kept(getattr(getattr(self.store, operation.port), operation.name)(*operation.args))
        return result, self.save()


def _sorted(rows: dict[Any, Any]) -> tuple[tuple[Any, Any], ...]:
    return tuple(rows.items()) if len(rows) < 2 else tuple(sorted(rows.items(), key=lambda item: item[0]))
