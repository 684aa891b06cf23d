"""Whether the tables hold what they may (SPEC 2, 3, 7): all rows, and what breaks which rule."""

from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta

from redeliver.core import retention
from redeliver.core.finding import Finding
from redeliver.core.notification import FINAL, OPEN, UNREADABLE, Notification, Status, Unreadable
from redeliver.core.policy import Policy
from redeliver.operator.ports import Archive, Register

LONGEST_LEASE = timedelta(minutes=16)  # Lambda ends an invocation after 15 minutes, whatever its time-out
LONGEST_UNSETTLED = timedelta(days=2)  # the daily run has then missed it once, and the index has long caught up
_SLACK = timedelta(minutes=5)  # between this clock and the functions'


@dataclass(frozen=True, slots=True)
class Breach:
    """A row that breaks a rule; `subject` is its channel and key, or its finding."""

    rule: str
    subject: str
    detail: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Tables:
    """What an audit knows beside the row it looks at."""

    findings: Mapping[str, Finding]
    channels: Collection[str]
    policy: Policy
    now: datetime


Rule = Callable[[Notification, Tables], bool]


def _same(one: bool, other: bool) -> bool:
    return one == other


def _claim_ends(record: Notification, tables: Tables) -> bool:
    return record.claimed_until is None or record.claimed_until <= tables.now + LONGEST_LEASE


def _kept_for_its_finding(record: Notification, tables: Tables) -> bool:
    if record.finding_id is None or record.expires_at is None:
        return True
    return retention.may_be_forgotten(record, tables.findings.get(record.finding_id))


def _goes_in_time(record: Notification, tables: Tables) -> bool:
    # A row that was parked and can be read again has been given no expiry by anybody.
    alone = record.status in FINAL and record.finding_id is None and record.last_reason != UNREADABLE
    return not alone or record.expires_at is not None


def _wait_is_allowed(record: Notification, tables: Tables) -> bool:
    longest = max(tables.policy.max_delay, timedelta(days=1)) + _SLACK  # a day: the longest window of a digest
    return record.next_attempt_at is None or record.next_attempt_at <= tables.now + longest


# Of every record: what has to be so, and how it is found out.
RULES: Mapping[str, Rule] = {
    "only what is open has a next attempt": lambda r, _: _same(r.status in OPEN, r.next_attempt_at is not None),
    "only dead letters have the moment of their death": lambda r, _: _same(
        r.status is Status.DEAD_LETTERED, r.dead_lettered_at is not None
    ),
    "only what was sent has the moment of it": lambda r, _: _same(r.status is Status.SENT, r.sent_at is not None),
    "only what is open is claimed": lambda r, _: r.status in OPEN or r.claimed_until is None,
    "no claim outlives the longest invocation": _claim_ends,
    "what is open is not forgotten": lambda r, _: r.status in FINAL or r.expires_at is None,
    "what an unresolved finding needs is not forgotten": _kept_for_its_finding,
    "what no finding needs is forgotten in time": _goes_in_time,
    "no record has more attempts than are allowed": lambda r, t: r.attempt_count <= t.policy.max_attempts,
    "no wait is longer than the longest": _wait_is_allowed,
    "every channel with records has a row": lambda r, t: r.channel in t.channels,
}


def audit(
    archive: Archive, register: Register, channels: Collection[str], policy: Policy, now: datetime
) -> Iterator[Breach]:
    """Return everything that breaks a rule, as it is found."""
    findings = {each.finding_id: each for each in register.all()}
    tables = Tables(findings=findings, channels=channels, policy=policy, now=now)
    for page in archive.everything():
        for row in page:
            if isinstance(row, Notification):
                yield from breaches(row, tables)
            elif not row.parked:
                yield Breach("every row can be read, or is parked", _subject(row), row.problem)
    for finding in findings.values():
        if finding.unsettled is not None and finding.unsettled < now - LONGEST_UNSETTLED:
            yield Breach("findings are settled within two days", finding.finding_id, f"since {finding.unsettled}")


def breaches(record: Notification, tables: Tables) -> Iterator[Breach]:
    """Return the rules that a record breaks; what is past its expiry counts as absent, and breaks none."""
    if record.expired(tables.now):
        return
    for rule, keeps in RULES.items():
        if not keeps(record, tables):
            yield Breach(rule, _subject(record), f"status {record.status.value}")


def _subject(row: Notification | Unreadable) -> str:
    key = row.key
    return f"{key.channel} {key.dedup_key}"
