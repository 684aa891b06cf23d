"""Forget what may be forgotten, and keep what a finding still needs (SPEC 7)."""

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

from redeliver.accept import park
from redeliver.core import moments, retention
from redeliver.core.finding import Finding, FindingStatus
from redeliver.core.notification import FINAL, Notification, Unreadable
from redeliver.core.request import identifier
from redeliver.ports import Deadline, FindingRecords, Findings, Ledger, Requests, Telemetry

INDEX_LAG = timedelta(minutes=10)  # how long a new record may take to show in an index, generously
_TIME_FOR_ONE = timedelta(seconds=10)
_STATUSES = {
    "active": FindingStatus.ACTIVE,
    "resolved": FindingStatus.RESOLVED,
    "deleted": FindingStatus.RESOLVED,
}


class InvalidFinding(ValueError):
    """The event cannot be taken; the message names the field and what is allowed."""


@dataclass(slots=True)
class Report:
    """What a run did; `kept_active` are final records that a finding keeps."""

    stamped: int = 0
    released: int = 0
    kept_active: int = 0
    removed: int = 0

    def as_json(self) -> dict[str, int]:
        """Return the counts of the run's log line."""
        return {
            "stamped": self.stamped,
            "released": self.released,
            "kept_active": self.kept_active,
            "removed": self.removed,
        }


@dataclass(frozen=True, slots=True, kw_only=True)
class Retain:
    """Keeps expiry right; every dependency is given."""

    ledger: Ledger
    findings: Findings
    records: FindingRecords
    requests: Requests
    telemetry: Telemetry
    clock: Callable[[], datetime]
    retention: timedelta

    def news(self, detail: object) -> Report:
        """Take in that a finding changed; raises InvalidFinding before anything is written."""
        now, report = self.clock(), Report()
        finding = parse_finding(detail, now)
        if self.findings.put(finding):
            self._arrange(finding, now, report)
        else:
            self.telemetry.log("finding_outdone", finding_id=finding.finding_id, changed_at=finding.changed_at)
        return self._finished(report, trigger="finding", finding_id=finding.finding_id, status=finding.status.value)

    def heal(self, deadline: Deadline) -> Report:
        """Look at every finding that changed a while ago until all its records are final and in their right state."""
        now, report = self.clock(), Report()
        for finding in self.findings.unsettled(now - INDEX_LAG):
            if deadline.left() < _TIME_FOR_ONE:  # what is left stays unsettled, and is for the next run
                self.telemetry.warn("retention_cut_short")
                break
            if self._arrange(finding, now, report):
                expires_at = moments.ceil(now + self.retention) if finding.resolved else None
                self.findings.settle(finding, expires_at)
        return self._finished(report, trigger="schedule")

    def removed(self, channels: Iterable[str]) -> Report:
        """Count what DynamoDB has deleted for good.

        Without a dimension: which channels are configured is not known here, and callers choose their names (SPEC 8).
        """
        by_channel = Counter(channels)
        report = Report(removed=by_channel.total())
        if report.removed:
            self.telemetry.count("notifications.forgotten", number=report.removed)
        return self._finished(report, trigger="stream", channels=dict(by_channel))

    def _arrange(self, finding: Finding, now: datetime, report: Report) -> bool:
        """Bring every record of a finding into its right state; tell whether all are, and final."""
        all_in_order = True
        for page in self.records.pages(finding.finding_id):
            # An index that lags may name a record that is another's by now.
            good = [row for row in page if isinstance(row, Notification) and row.finding_id == finding.finding_id]
            for row in page:
                if isinstance(row, Unreadable):
                    park(self.ledger, self.telemetry, row, now, None)
            wrong = [record for record in good if not retention.in_order(record, finding)]
            stamp = [r for r in wrong if retention.may_be_forgotten(r, finding)]
            release = [r for r in wrong if r.expires_at is not None]
            self._tell(finding, stamp)  # before they count as in order: a run that dies here does it again
            stamped = self.records.stamp(finding, [(r, retention.stamped(r, now, self.retention)) for r in stamp])
            released = sum(self.records.release(r, retention.released(r, now)) for r in release)
            report.stamped += stamped
            report.released += released
            report.kept_active += sum(r.status in FINAL and not retention.may_be_forgotten(r, finding) for r in good)
            open_ones = sum(record.status not in FINAL for record in good)
            all_in_order &= stamped == len(stamp) and released == len(release) and not open_ones
        return all_in_order

    def _tell(self, finding: Finding, records: Sequence[Notification]) -> None:
        """Ask for the notifications that tell endpoints that it is over: as any other they are stored and retried."""
        requests = [request for record in records if (request := retention.resolution(record, finding)) is not None]
        if requests:
            self.requests.ask(requests)
            self.telemetry.log("resolutions_requested", finding_id=finding.finding_id, number=len(requests))

    def _finished(self, report: Report, **about: object) -> Report:
        self.telemetry.log("retention_finished", **report.as_json(), **about)
        return report


def parse_finding(detail: object, now: datetime) -> Finding:
    """Return the news in an event's detail; raises InvalidFinding."""
    if not isinstance(detail, Mapping):
        raise InvalidFinding("detail: must be an object with finding_id, status and changed_at")
    for field in detail:
        if field not in ("finding_id", "status", "changed_at"):
            raise InvalidFinding(f"{str(field)[:80]!r}: unknown field; allowed are finding_id, status, changed_at")
    finding_id, status, changed_at = (detail.get(name) for name in ("finding_id", "status", "changed_at"))
    try:
        finding_id = identifier(finding_id)
    except ValueError as error:
        raise InvalidFinding(f"finding_id: {error}") from None
    if not isinstance(status, str) or status not in _STATUSES:
        raise InvalidFinding(f"status: must be one of {', '.join(_STATUSES)}; got {str(status)[:80]!r}")
    if not isinstance(changed_at, str):
        raise InvalidFinding("changed_at: must be an RFC 3339 string")
    try:
        precise = moments.parse(changed_at)[1]
    except ValueError as error:
        raise InvalidFinding(f"changed_at: {error}") from None
    return Finding(finding_id, _STATUSES[status], precise, unsettled=moments.floor(now))
