"""When a record may be forgotten (SPEC 7)."""

import hashlib
import json
from dataclasses import replace
from datetime import UTC, datetime, timedelta

from redeliver.core import moments
from redeliver.core.finding import Finding
from redeliver.core.notification import FINAL, Notification, Status
from redeliver.core.request import LONGEST_IDENTIFIER

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


def resolution(record: Notification, finding: Finding) -> dict[str, object] | None:
    """Return the request that tells the endpoint that the finding of a record is resolved, if it knows how to be told.

    Named after the change, so that the same news gives the same notification, and naming no finding: a request for a
    resolved one would keep its records.
    """
    if record.status is not Status.SENT or record.resolve_with is None or not may_be_forgotten(record, finding):
        return None
    request = {
        "channel": record.channel,
        "dedup_key": _named_after(record.dedup_key, finding.changed_at),
        "kind": record.kind,
        "subject": record.subject,
        "body": "",
        "payload": json.loads(record.resolve_with),
    }
    return request if record.recipient is None else {**request, "recipient": record.recipient}


def _named_after(dedup_key: str, changed_at: str) -> str:
    key = f"{dedup_key}#resolved {changed_at}"
    if len(key.encode()) <= LONGEST_IDENTIFIER:
        return key
    return f"{hashlib.sha256(dedup_key.encode()).hexdigest()}#resolved {changed_at}"


def stamped(record: Notification, now: datetime, retention: timedelta) -> Notification:
    """Return the record with its expiry."""
    return replace(record, expires_at=expiry(record.created_at, now, retention), updated_at=moments.floor(now))


def released(record: Notification, now: datetime) -> Notification:
    """Return the record without its expiry."""
    return replace(record, expires_at=None, updated_at=moments.floor(now))
