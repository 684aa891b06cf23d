"""When a record may be forgotten (SPEC 7)."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta

from redeliver.core import moments
from redeliver.core.finding import Finding
from redeliver.core.notification import FINAL, Notification

_LAST = datetime(9999, 12, 31, tzinfo=UTC)


def expiry(created_at: datetime, now: datetime, retention: timedelta) -> datetime:
    """Return the moment at which a record that may be forgotten is.

    Never in the past: DynamoDB never deletes what expired more than five years ago. Never beyond the calendar.
    """
    return max(moments.ceil(min(created_at, _LAST - retention) + retention), moments.ceil(now))


def may_be_forgotten(record: Notification, finding: Finding | None) -> bool:
    """Tell whether a record may carry an expiry: final, and no finding keeps it.

    An unknown finding is an active one; a request later than the news that it was resolved has shown it active.
    """
    if record.status not in FINAL:
        return False
    if record.finding_id is None:
        return True
    if finding is None or not finding.resolved:
        return False
    return finding.changed_at >= moments.text_of(record.requested_at)


def in_order(record: Notification, finding: Finding) -> bool:
    """Tell whether nothing is left to be done for a record of a finding."""
    return record.status in FINAL and (record.expires_at is not None) == may_be_forgotten(record, finding)


def stamped(record: Notification, now: datetime, retention: timedelta) -> Notification:
    """Return the record with its expiry."""
    return replace(record, expires_at=expiry(record.created_at, now, retention), updated_at=moments.floor(now))


def released(record: Notification, now: datetime) -> Notification:
    """Return the record without its expiry."""
    return replace(record, expires_at=None, updated_at=moments.floor(now))
