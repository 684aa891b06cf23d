"""Requests and records with sensible defaults: a test names only what it is about."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

from redeliver.core import moments
from redeliver.core.finding import Finding, FindingStatus
from redeliver.core.notification import Notification, Status
from redeliver.core.request import Request, parse

NOW = datetime(2026, 11, 30, 12, 0, tzinfo=UTC)


def at(seconds: float) -> datetime:
    """Return the moment so many seconds after NOW."""
    return NOW + timedelta(seconds=seconds)


def raw(**changes: object) -> dict[str, object]:
    """Return a request as a caller sends it; a field given as `...` is left out."""
    values: dict[str, object] = {
        "channel": "ops",
        "dedup_key": "k1",
        "kind": "price_drop",
        "subject": "Cheaper",
        "body": "Now 99",
        **changes,
    }
    return {name: value for name, value in values.items() if value is not ...}


def request(**changes: object) -> Request:
    """Return a valid request."""
    return parse(raw(**changes))


def record(**changes: Any) -> Notification:
    """Return a pending record, due at NOW."""
    fresh = Notification(
        channel="ops",
        dedup_key="k1",
        kind="price_drop",
        subject="Cheaper",
        body="Now 99",
        created_at=NOW,
        updated_at=NOW,
        requested_at=NOW,
        status=Status.PENDING,
        next_attempt_at=NOW,
    )
    return replace(fresh, **changes)


def final(status: Status = Status.SENT, **changes: Any) -> Notification:
    """Return a final record."""
    dead = NOW if status is Status.DEAD_LETTERED else None
    return record(
        **{"status": status, "next_attempt_at": None, "dead_lettered_at": dead, "attempt_count": 1, **changes}
    )


def finding(status: FindingStatus = FindingStatus.RESOLVED, changed: float = 0, **changes: Any) -> Finding:
    """Return a finding that changed so many seconds after NOW, and that is known since then."""
    moment = at(changed)
    return replace(Finding("CVE-1", status, moments.text_of(moment), unsettled=moments.floor(moment)), **changes)


def news(status: str = "resolved", changed: float = 0, finding_id: str = "CVE-1") -> dict[str, object]:
    """Return the detail of an event about a finding."""
    return {"finding_id": finding_id, "status": status, "changed_at": at(changed).isoformat()}
