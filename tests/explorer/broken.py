"""Stores that break a promise each: an explorer that finds nothing in them would be worth nothing."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime

from redeliver.core.finding import Finding
from redeliver.core.hold import Hold
from redeliver.core.notification import Notification
from redeliver.ports import ChannelState
from tests.memory import MemoryFindings, MemoryNotifications, MemoryStates

Pair = tuple[Notification, Notification]


def blind(store: MemoryNotifications, before: Notification, after: Notification, to: Sequence[str]) -> Pair:
    """Return a write as it is if nobody looks at some attributes: they count as read, and stay unless it sets them."""
    stored = store.rows[before.key]
    seen = {name: getattr(stored, name) for name in to}
    kept = {name: value for name, value in seen.items() if getattr(after, name) == getattr(before, name)}
    return replace(before, **seen), replace(after, **kept)


@dataclass(frozen=True)
class Careless:
    """Makes stores that leave attributes out of the condition of `replace`."""

    ignored: tuple[str, ...]

    def __call__(self, findings: MemoryFindings) -> MemoryNotifications:
        ignored = self.ignored

        class Store(MemoryNotifications):
            def replace(self, before: Notification, after: Notification) -> bool:
                return super().replace(*blind(self, before, after, ignored))

        return Store(findings)


class StampsWhatIsAskedFor(MemoryNotifications):
    """Does not look at `requested_at` when it sets an expiry."""

    def stamp(self, finding: Finding, pairs: Sequence[Pair]) -> int:
        """Write the expiry of records."""
        return super().stamp(finding, [blind(self, before, after, ["requested_at"]) for before, after in pairs])


class StampsByOldNews(MemoryNotifications):
    """Does not look whether the finding is still as read."""

    def stamp(self, finding: Finding, pairs: Sequence[Pair]) -> int:
        """Write the expiry of records."""
        return super().stamp(self._findings.rows[finding.finding_id], pairs)


class WritesOver(MemoryNotifications):
    """Puts a record whether or not there is one."""

    def add(self, record: Notification, now: datetime) -> bool:
        """Put a record."""
        self._put(record.key, record)
        return True


class BelievesAnyNews(MemoryFindings):
    """Takes older news for newer."""

    def put(self, finding: Finding) -> bool:
        """Write the news."""
        self.rows.pop(finding.finding_id, None)
        return super().put(finding)


class LetsEverybodyProbe(MemoryStates):
    """Does not look whether the row is as read."""

    def probe(self, state: ChannelState, now: datetime) -> ChannelState | None:
        """Take the channel for a probe."""
        return super().probe(self.rows[state.channel], now)


class EndsAnyHold(MemoryStates):
    """Does not look whether the hold is the one that is meant."""

    def free(self, state: ChannelState, failures: int) -> bool:
        """End a hold."""
        return super().free(self.rows[state.channel], failures)


class HoldsOverAnyHold(MemoryStates):
    """Does not look whether there is a longer hold, or an operator's."""

    def hold(self, channel: str, hold: Hold, now: datetime, failures: int | None = None) -> bool:
        """Hold a channel."""
        self.rows.pop(channel, None)
        return super().hold(channel, hold, now, failures)
