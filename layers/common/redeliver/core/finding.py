"""The long-lived fact behind notifications, and what news of it means."""

from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum


class FindingStatus(StrEnum):
    """Whether the fact still holds; anything unknown counts as active (SPEC 7)."""

    ACTIVE = "active"
    RESOLVED = "resolved"


@dataclass(frozen=True, slots=True)
class Finding:
    """What is known of a finding.

    `changed_at` is RFC 3339 text of one fixed width in UTC, nanoseconds included: as precise as the event gave it, and
    its order as text is its order in time. `unsettled` is the moment of the change, until a daily pass found all in
    order.
    """

    finding_id: str
    status: FindingStatus
    changed_at: str
    unsettled: datetime | None = None

    @property
    def resolved(self) -> bool:
        """Tell whether the fact is over."""
        return self.status is FindingStatus.RESOLVED


@dataclass(frozen=True, slots=True)
class DamagedFinding:
    """A row that cannot be read as a finding, and why: it counts as active, and so keeps its records (SPEC 7)."""

    finding_id: str
    problem: str


def outdoes(news: Finding, stored: Finding | None) -> bool:
    """Tell whether news replaces what is stored.

    Older news never does; the same news again does, since its first run may have died half-way; at equal times active
    wins, since keeping too much is mended later and forgetting too early is not.
    """
    if stored is None or news.changed_at > stored.changed_at:
        return True
    return news.changed_at == stored.changed_at and (news.status is stored.status or not news.resolved)
