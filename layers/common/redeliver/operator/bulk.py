"""Many records moved at once: redrive and cancel by filter, paced, each once however many do it at the same time."""

from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from datetime import datetime

from redeliver.core import lifecycle
from redeliver.core.finding import Finding
from redeliver.core.notification import EXPIRED, Notification, Row, Unreadable
from redeliver.core.policy import Policy
from redeliver.operator.ports import Register
from redeliver.ports import Ledger, Unavailable

# What is not moved, by why not.
UNREADABLE = "unreadable"
STALE = "stale"
RESOLVED = "finding resolved"
NOT_IN_STATE = "no longer in that state"
LEASED = "being attempted"
OVERTAKEN = "moved by another"
FAILED = "not written"

Decide = Callable[[Notification, datetime], Notification | str]


@dataclass(slots=True)
class Account:
    """What became of the rows that were met: moved, or left and why."""

    moved: int = 0
    left: Counter[str] = field(default_factory=Counter)

    @property
    def met(self) -> int:
        """Return how many there were."""
        return self.moved + self.left.total()


@dataclass(frozen=True, slots=True, kw_only=True)
class Bulk:
    """Moves records one by one; every dependency is given."""

    ledger: Ledger
    clock: Callable[[], datetime]
    pause: Callable[[float], None]

    def foresee(self, rows: Iterable[Row], decide: Decide) -> Account:
        """Return what moving these rows would come to now; writes nothing."""
        account, now = Account(), self.clock()
        for row in rows:
            decided = UNREADABLE if isinstance(row, Unreadable) else decide(row, now)
            if isinstance(decided, str):
                account.left[decided] += 1
            else:
                account.moved += 1
        return account

    def move(
        self,
        rows: Iterable[Row],
        decide: Decide,
        *,
        a_second: float = 0,
        progress: Callable[[Account], None] = lambda account: None,
    ) -> Account:
        """Move what can be moved, at most so many `a_second` (0: as fast as it goes), and tell the progress of each."""
        account, begun = Account(), self.clock()
        for row in rows:
            left = UNREADABLE if isinstance(row, Unreadable) else self._move(row, decide)
            if left is None:
                account.moved += 1
                if a_second > 0:
                    self.pause(max(account.moved / a_second - (self.clock() - begun).total_seconds(), 0))
            else:
                account.left[left] += 1
            progress(account)
        return account

    def _move(self, record: Notification, decide: Decide) -> str | None:
        """Return None if this call moved the record, else why not."""
        try:
            decided = decide(record, self.clock())
            if isinstance(decided, str):
                return decided
            return None if self.ledger.replace(record, decided) else OVERTAKEN
        except Unavailable:
            return FAILED


def to_redrive(register: Register, *, stale_too: bool = False, resolved_too: bool = False) -> Decide:
    """Return the decision to send a dead letter again: not what is stale or resolved, unless told otherwise."""
    known: dict[str, Finding | None] = {}

    def resolved(finding_id: str) -> bool:
        if finding_id not in known:
            known[finding_id] = register.get(finding_id)
        finding = known[finding_id]
        return finding is not None and finding.resolved

    def decide(record: Notification, now: datetime) -> Notification | str:
        after = lifecycle.redrive(record, now)
        if after is None:
            return NOT_IN_STATE
        if not stale_too and _stale(record, now):
            return STALE
        if not resolved_too and record.finding_id is not None and resolved(record.finding_id):
            return RESOLVED
        return after

    return decide


def _stale(record: Notification, now: datetime) -> bool:
    return record.last_reason == EXPIRED or (record.deliver_by is not None and record.deliver_by < now)


def to_cancel(policy: Policy, reason: str) -> Decide:
    """Return the decision to suppress what waits."""

    def decide(record: Notification, now: datetime) -> Notification | str:
        if lifecycle.leased(record, now):
            return LEASED
        return lifecycle.cancel(record, now, policy, reason=reason) or NOT_IN_STATE

    return decide
