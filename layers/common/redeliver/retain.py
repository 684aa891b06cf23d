"""Forget what may be forgotten, and keep what a finding still needs (SPEC 7)."""

import sys
from collections import Counter, deque
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from datetime import datetime, timedelta

from redeliver.accept import park
from redeliver.core import moments, retention
from redeliver.core.finding import DamagedFinding, Finding, FindingStatus
from redeliver.core.notification import FINAL, Notification, Row, Unreadable
from redeliver.core.request import identifier
from redeliver.ports import (
    MOST_REQUESTS,
    Deadline,
    FindingRecords,
    Findings,
    Ledger,
    Requests,
    Telemetry,
    Unavailable,
)

INDEX_LAG = timedelta(minutes=10)  # how long a new record may take to show in an index, generously
# What must be left of the run for one more request: longer than one takes that is not answered at all.
TIME_FOR_ONE = timedelta(seconds=16)
PAGES_A_TURN = 10  # of a finding's records, before the daily run turns to the next finding
_STATUSES = {
    "active": FindingStatus.ACTIVE,
    "resolved": FindingStatus.RESOLVED,
    "deleted": FindingStatus.RESOLVED,
}


class InvalidFinding(ValueError):
    """The event cannot be taken; the message names the field and what is allowed."""


@dataclass(slots=True)
class Report:
    """What a run did.

    `kept_active` are final records that a finding keeps, `failed_items` the findings that met an error, and one more if
    not all could be read.
    """

    stamped: int = 0
    released: int = 0
    kept_active: int = 0
    removed: int = 0
    failed_items: int = 0

    def as_json(self) -> dict[str, int]:
        """Return the counts of the run's log line."""
        return asdict(self)


@dataclass(frozen=True, slots=True)
class _Run:
    """When a run began and when it has to end, and what it did."""

    now: datetime
    deadline: Deadline
    report: Report = field(default_factory=Report)

    def room(self) -> bool:
        """Tell whether there is time for one more request."""
        return self.deadline.left() >= TIME_FOR_ONE


@dataclass(slots=True)
class _Look:
    """A look at all records of a finding: the pages still to come, and whether those seen were left in order."""

    finding: Finding
    pages: Iterator[Sequence[Row]]
    in_order: bool = True


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

    def news(self, detail: object, deadline: Deadline) -> Report:
        """Take in that a finding changed; what there is no time for is left to the daily run.

        Raises InvalidFinding before anything is written.
        """
        run = _Run(self.clock(), deadline)
        finding = parse_finding(detail, run.now)
        if not self.findings.put(finding):
            self.telemetry.log("finding_outdone", finding_id=finding.finding_id, changed_at=finding.changed_at)
        elif not self._finish(_Look(finding, self._pages(finding)), run):
            self.telemetry.warn("retention_cut_short", finding_id=finding.finding_id)
        return self._finished(run.report, trigger="finding", finding_id=finding.finding_id, status=finding.status.value)

    def heal(self, deadline: Deadline) -> Report:
        """Look at every unsettled finding; see `Report.failed_items`. What there is no time for is for the next run.

        All are brought into order. Settled are those whose records are all final, in their right state, and to be seen:
        not one that changed just now, some of whose records may not show in the index yet.
        """
        run, begun, more = _Run(self.clock(), deadline), deque[_Look](), False
        for finding in self._unsettled(run):
            more = not run.room()
            if more:
                break
            look = _Look(finding, self._pages(finding))
            if self._turn(look, run):
                begun.append(look)
        while begun and run.room():
            look = begun.popleft()
            if self._turn(look, run):
                begun.append(look)
        if begun or more:
            self.telemetry.warn("retention_cut_short", findings_begun=len(begun), more_findings=more)
        return self._finished(run.report, trigger="schedule")

    def removed(self, channels: Iterable[str]) -> Report:
        """Count what DynamoDB has deleted for good.

        Without a dimension: which channels are configured is not known here, and callers choose their names (SPEC 8).
        """
        by_channel = Counter(channels)
        report = Report(removed=by_channel.total())
        if report.removed:
            self.telemetry.count("notifications.forgotten", number=report.removed)
        return self._finished(report, trigger="stream", channels=dict(by_channel))

    def _unsettled(self, run: _Run) -> Iterator[Finding]:
        """Return the findings that can be read; what cannot is counted, and is for the next run."""
        try:
            for each in self.findings.unsettled():
                if isinstance(each, DamagedFinding):
                    self._failed(each.finding_id, each.problem, run)
                else:
                    yield each
        except Unavailable as error:
            run.report.failed_items += 1
            self.telemetry.warn("findings_not_read", error=str(error))

    def _failed(self, finding_id: str, error: str, run: _Run) -> None:
        run.report.failed_items += 1
        self.telemetry.warn("finding_failed", finding_id=finding_id, error=error)

    def _pages(self, finding: Finding) -> Iterator[Sequence[Row]]:
        """Return the records of a finding; asks for none before the first page is wanted."""
        yield from self.records.pages(finding.finding_id)

    def _turn(self, look: _Look, run: _Run) -> bool:
        """Look at some pages of a finding's records, and settle it after the last; tell whether it needs another turn.

        An error with one finding does not stop the others, and is counted.
        """
        try:
            if not self._finish(look, run, PAGES_A_TURN):
                return True
            changed = look.finding.unsettled
            if look.in_order and changed is not None and changed <= run.now - INDEX_LAG:
                expires_at = moments.ceil(run.now + self.retention) if look.finding.resolved else None
                self.findings.settle(look.finding, expires_at)
        except Exception as error:  # noqa: BLE001 - counted and logged; the function raises it when the run has done the rest
            self._failed(look.finding.finding_id, repr(error), run)
        return False

    def _finish(self, look: _Look, run: _Run, pages: int = sys.maxsize) -> bool:
        """Bring the records of a finding into their right state, up to so many pages; tell whether that was all."""
        for _ in range(pages):
            if not run.room():
                return False
            page = next(look.pages, None)
            if page is None:
                return True
            look.in_order &= self._arrange(look.finding, page, run)
        return False

    def _arrange(self, finding: Finding, page: Sequence[Row], run: _Run) -> bool:
        """Bring records into their right state, as far as there is time; tell whether all are, and final."""
        # An index that lags may name a record that is another's by now.
        good = [row for row in page if isinstance(row, Notification) and row.finding_id == finding.finding_id]
        for row in page:
            if isinstance(row, Unreadable) and run.room():
                park(self.ledger, self.telemetry, row, run.now, None)
        wrong = [record for record in good if not retention.in_order(record, finding)]
        stamp = [record for record in wrong if retention.may_be_forgotten(record, finding)]
        self._tell(finding, stamp, run)  # before they count as in order: a run that dies here does it again
        pairs = [(record, retention.stamped(record, run.now, self.retention)) for record in stamp]
        stamped = self.records.stamp(finding, pairs) if run.room() else 0
        run.report.stamped += stamped
        released = 0
        for record in wrong:
            if record.expires_at is not None and run.room():
                released += self.records.release(record, retention.released(record, run.now))
        run.report.released += released
        run.report.kept_active += sum(r.status in FINAL and not retention.may_be_forgotten(r, finding) for r in good)
        return stamped + released == len(wrong) and all(r.status in FINAL for r in good)

    def _tell(self, finding: Finding, records: Sequence[Notification], run: _Run) -> None:
        """Ask for the notifications that tell endpoints that it is over: as any other they are stored and retried.

        Not all are asked for if there is no time, and then there is none to stamp a record either.
        """
        requests = [asked for record in records if (asked := retention.resolution(record, finding)) is not None]
        number = 0
        while number < len(requests) and run.room():
            part = requests[number : number + MOST_REQUESTS]
            self.requests.ask(part)
            number += len(part)
        if number:
            self.telemetry.log("resolutions_requested", finding_id=finding.finding_id, number=number)

    def _finished(self, report: Report, **about: object) -> Report:
        self.telemetry.log("retention_finished", **report.as_json(), **about)
        return report


def parse_finding(detail: object, now: datetime) -> Finding:
    """Return the news in an event's detail; raises InvalidFinding."""
    if not isinstance(detail, Mapping):
        raise InvalidFinding("detail: must be an object with finding_id, status and changed_at")
    for name in detail:
        if name not in ("finding_id", "status", "changed_at"):
            raise InvalidFinding(f"{str(name)[:80]!r}: unknown field; allowed are finding_id, status, changed_at")
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
