"""One attempt: claim, send, settle."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from enum import Enum
from functools import partial

from redeliver.core import digest, lifecycle
from redeliver.core.lifecycle import Policy
from redeliver.core.notification import EXPIRED, Dispatch, Notification, Status
from redeliver.core.outcome import Delivered, Gone, Outcome, Reject, Retry
from redeliver.ports import Channel, Deadline, Ledger, Telemetry, Unavailable

# What one attempt may take, in-request retries included (SPEC 6), and what its bookkeeping may take beside it.
ATTEMPT_BUDGET = timedelta(seconds=10)
WRITE_MARGIN = timedelta(seconds=2)
WRITE_EACH = timedelta(milliseconds=50)  # more of the same for every further member of a digest
LEASE_MARGIN = timedelta(seconds=5)  # a lease outlives its invocation by this much (SPEC 3)
_NO_TIME = Retry("out_of_time", "the digest was refused, and no time was left to find out for whom")
_WRITE_PAUSE, _LONGEST_PAUSE = 0.1, 3.0  # seconds, before a write is repeated: doubling, with full jitter


class End(Enum):
    """Whether what an attempt came to is in the table."""

    WRITTEN = "written"
    LOST = "conflicts"  # another has the record
    UNWRITTEN = "unwritten"  # nobody could say in time: its next look counts as perhaps delivered


_Step = Callable[[Notification], Notification]


@dataclass(frozen=True, slots=True)
class Settled:
    """A record as its attempt left it, and what the attempt came to."""

    record: Notification
    outcome: Outcome
    end: End


@dataclass(frozen=True, slots=True, kw_only=True)
class Deliver:
    """Delivers claimed records; every dependency is given."""

    ledger: Ledger
    telemetry: Telemetry
    policy: Policy
    clock: Callable[[], datetime]
    chance: Callable[[], float]
    pause: Callable[[float], None]

    def room(self, deadline: Deadline, members: int = 1) -> bool:
        """Tell whether an attempt that starts now ends, with its writes, before the deadline."""
        return deadline.left() >= ATTEMPT_BUDGET + WRITE_MARGIN + members * WRITE_EACH

    def policy_of(self, channel: Channel) -> Policy:
        """Return the policy for the records of a channel."""
        return self.policy if channel.max_age is None else replace(self.policy, max_age=channel.max_age)

    def claim(self, channel: Channel, record: Notification, deadline: Deadline) -> Notification | None:
        """Take a due record for one attempt, or end it for want of one; None if another was quicker."""
        now = self.clock()
        after = lifecycle.next_step(record, now, self.policy_of(channel), claim_until=claim_until(now, deadline))
        if after is None or not self.ledger.replace(record, after):
            self._lost(record)
            return None
        if lifecycle.unsettled(record):
            self.telemetry.count("notifications.maybe_delivered", {"channel": record.channel})
        if after.status is Status.DEAD_LETTERED:
            if after.last_reason != EXPIRED:  # an attempt was made, and died
                self.telemetry.count("notifications.failed", {"channel": after.channel, "reason": after.status.value})
            self.report_dead(after)
        return after

    def attempt(self, channel: Channel, dispatch: Dispatch, deadline: Deadline) -> list[Settled]:
        """Send what is claimed and write what it came to, member by member."""
        settled, policy = [], self.policy_of(channel)
        for sent, outcome in self._send(channel, dispatch, deadline):
            settle = partial(self._after, outcome=outcome, now=self.clock(), policy=policy, batch_id=sent.batch_id)
            settled += [self._settle(member, outcome, settle, deadline) for member in sent.members]
        return settled

    def _send(self, channel: Channel, dispatch: Dispatch, deadline: Deadline) -> Iterator[tuple[Dispatch, Outcome]]:
        """Send, and narrow a refused digest down to the guilty by halving (SPEC 5)."""
        waiting = [dispatch]
        while waiting:
            part = waiting.pop()
            # What was found out meanwhile has been written, and that may have taken its time.
            late = part is not dispatch and not self.room(deadline, len(dispatch.members))
            outcome = _NO_TIME if late else channel.deliver(part)
            if isinstance(outcome, Reject) and len(part.members) > 1:
                waiting += reversed(digest.halves(part))
                continue
            yield part, outcome
            if isinstance(outcome, Retry):  # the endpoint is in trouble: spare it the other parts
                spared = replace(outcome, maybe_delivered=False)  # they have not been sent
                yield from ((rest, spared) for rest in waiting)
                return

    def _after(
        self, record: Notification, outcome: Outcome, now: datetime, policy: Policy, batch_id: str
    ) -> Notification:
        return lifecycle.settle(record, outcome, now, policy, batch_id=batch_id, chance=self.chance())

    def _settle(self, claimed: Notification, outcome: Outcome, settle: _Step, deadline: Deadline) -> Settled:
        written, end = self._write(claimed, settle, deadline)
        if end is End.LOST:
            self._lost(claimed)
        if end is End.WRITTEN:
            self._report(written, outcome)
        return Settled(written, outcome, end)

    def _write(self, claimed: Notification, settle: _Step, deadline: Deadline) -> tuple[Notification, End]:
        """Write until it is written, the claim is lost, or the time is up: the attempt has been made (SPEC 3)."""
        before, after, longest = claimed, settle(claimed), _WRITE_PAUSE
        while True:
            try:
                if self.ledger.replace(before, after):
                    return after, End.WRITTEN
                fresh = self.ledger.get(before.key)
                if not isinstance(fresh, Notification):
                    return after, End.LOST
                if _same_end(fresh, after):  # an earlier try was written, only its answer was lost
                    return fresh, End.WRITTEN
                if not _same_claim(fresh, claimed):
                    return after, End.LOST
                before, after = fresh, settle(fresh)
            except Unavailable as error:
                if deadline.left() < WRITE_MARGIN:
                    self.telemetry.warn("settle_not_written", **described(after), error=str(error))
                    return after, End.UNWRITTEN
                self.pause(self.chance() * longest)
                longest = min(2 * longest, _LONGEST_PAUSE)

    def _report(self, record: Notification, outcome: Outcome) -> None:
        if isinstance(outcome, Retry) and outcome.maybe_delivered:
            self.telemetry.count("notifications.maybe_delivered", {"channel": record.channel})
        if isinstance(outcome, Delivered):
            self.telemetry.count("notifications.sent", {"channel": record.channel, "kind": record.kind})
            self.telemetry.log("notification_sent", **described(record), dispatch_batch_id=record.dispatch_batch_id)
            return
        dead = record.status is Status.DEAD_LETTERED
        reason = Status.DEAD_LETTERED.value if dead else "transient"
        self.telemetry.count("notifications.failed", {"channel": record.channel, "reason": reason})
        if dead:
            self.report_dead(record)
        else:
            self.telemetry.log("attempt_failed", **described(record), error=record.last_error)

    def report_dead(self, record: Notification, *, configured: bool = True) -> None:
        """Tell the log, and the counters where there is one, of a new dead letter."""
        if record.last_reason == EXPIRED:
            self.telemetry.count("notifications.expired", {"channel": record.channel} if configured else None)
        self.telemetry.warn("notification_dead_lettered", **described(record), error=record.last_error)

    def _lost(self, record: Notification) -> None:
        self.telemetry.count("notifications.conflicts", {"channel": record.channel})
        self.telemetry.log("write_lost", **described(record))


def claim_until(now: datetime, deadline: Deadline) -> datetime:
    """Return until when a claim made now holds."""
    return now + deadline.left() + LEASE_MARGIN


def described(record: Notification) -> dict[str, object]:
    """Return what a log line says of a record; never its body."""
    return {
        "channel": record.channel,
        "dedup_key": record.dedup_key,
        "kind": record.kind,
        "subject": record.subject,
        "status": record.status.value,
        "attempt_count": record.attempt_count,
        "reason": record.last_reason,
    }


def longest_wait(settled: Sequence[Settled]) -> timedelta | None:
    """Return the wait that the endpoint named for its whole channel; one about a recipient is that record's own."""
    waits = [
        s.outcome.wait for s in settled if isinstance(s.outcome, Retry) and s.outcome.wait and not s.record.recipient
    ]
    return max(waits, default=None)


def target_is_gone(settled: Sequence[Settled]) -> bool:
    """Tell whether the channel's own target is gone; of a recipient that is said of that recipient alone."""
    return any(isinstance(s.outcome, Gone) and not s.record.recipient for s in settled)


def _same_claim(stored: Notification, claimed: Notification) -> bool:
    return (stored.attempt_count, stored.claimed_until, stored.redrive_count) == (
        claimed.attempt_count,
        claimed.claimed_until,
        claimed.redrive_count,
    )


def _same_end(stored: Notification, wanted: Notification) -> bool:
    return (
        (stored.status, stored.attempt_count, stored.redrive_count, stored.claimed_until)
        == (wanted.status, wanted.attempt_count, wanted.redrive_count, wanted.claimed_until)
        and stored.next_attempt_at == wanted.next_attempt_at
        and stored.dispatch_batch_id == wanted.dispatch_batch_id
    )
