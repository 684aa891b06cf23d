"""Every arrow of the state machine: (record, facts, now) to the record as it is to be written (SPEC 3).

Nothing here writes. Each result goes into one conditional write, which fails if the record moved meanwhile.
"""

from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import Any, assert_never

from redeliver.core import backoff, moments, redaction, retention
from redeliver.core.notification import (
    EXPIRED,
    INTERRUPTED,
    OPEN,
    OUT_OF_ATTEMPTS,
    Notification,
    Status,
)
from redeliver.core.outcome import Delivered, Gone, Outcome, Reject, Retry
from redeliver.core.request import Request

_DIED = "the last attempt ended without writing what it came to: out of memory, out of time, or killed"


@dataclass(frozen=True, slots=True, kw_only=True)
class Policy:
    """How often and how long to try, and how long to remember.

    `max_age` is a channel's own: what is older is not sent by itself any more.
    """

    base_delay: timedelta = timedelta(minutes=5)
    max_delay: timedelta = timedelta(hours=24)
    jitter: float = 0.0
    max_attempts: int = 5
    retention: timedelta = timedelta(days=90)
    max_age: timedelta | None = None


def accept(
    request: Request, now: datetime, policy: Policy, *, due: datetime, first_claim_until: datetime | None = None
) -> Notification:
    """Return the new record of a request.

    With `first_claim_until` the put of the record is its first claim; without, it waits until `due`. `requested_at` is
    rounded up: a finding resolved in the same second, but before this request, must not let the record go.
    """
    moment = moments.floor(now)
    record = Notification(
        channel=request.channel,
        dedup_key=request.dedup_key,
        kind=request.kind,
        subject=request.subject,
        body=request.body,
        recipient=request.recipient,
        payload=request.payload,
        finding_id=request.finding_id,
        deliver_by=request.deliver_by,
        status=Status.PENDING,
        created_at=moment,
        updated_at=moment,
        requested_at=moments.ceil(now),
        next_attempt_at=moments.floor(due),  # a sweep of the same second takes what is due now
    )
    if request.suppress is not None:
        return _final(record, Status.SUPPRESSED, now, policy, reason=redaction.redact(request.suppress))
    if _too_late(record, now, policy):
        return stale(record, now, policy)
    if first_claim_until is None:
        return record
    until = moments.ceil(first_claim_until)
    return replace(record, attempt_count=1, claimed_until=until, next_attempt_at=until)


def asked_again(record: Notification, request: Request, now: datetime) -> Notification:
    """Return a present record as a duplicate request leaves it.

    Naming a finding says that the finding still holds: the record may not be forgotten. One that had no finding takes
    it over, or nothing would ever let it go again. `requested_at` is rounded up, as in `accept`.
    """
    if request.finding_id is None:
        return record
    return replace(
        record,
        finding_id=record.finding_id or request.finding_id,
        requested_at=max(record.requested_at, moments.ceil(now)),
        expires_at=None,
    )


def leased(record: Notification, now: datetime) -> bool:
    """Tell whether somebody may be attempting the record now."""
    return record.claimed_until is not None and record.claimed_until > now


def unsettled(record: Notification) -> bool:
    """Tell whether the last claim of a due record ended without a word: its attempt, or one beside it, was killed."""
    return record.claimed_until is not None


def due(record: Notification, now: datetime) -> bool:
    """Tell whether the record is to be looked at: open, its moment has come, and nobody holds it."""
    return (
        record.status in OPEN
        and record.next_attempt_at is not None
        and record.next_attempt_at <= now
        and not leased(record, now)
    )


def next_step(record: Notification, now: datetime, policy: Policy, *, claim_until: datetime) -> Notification | None:
    """Return a due record claimed for an attempt, or ended for want of one; None if it is not due."""
    if not due(record, now):
        return None
    if record.attempt_count >= policy.max_attempts:
        return give_up(record, now, policy)
    if _too_late(record, now, policy):
        return stale(record, now, policy)
    return claim(record, now, claim_until)


def claim(record: Notification, now: datetime, until: datetime) -> Notification:
    """Return the record taken for one attempt; touches no attribute of an index."""
    return replace(
        record,
        attempt_count=record.attempt_count + 1,
        claimed_until=moments.ceil(until),
        maybe_delivered=record.maybe_delivered or unsettled(record),
        updated_at=moments.floor(now),
    )


def give_up(record: Notification, now: datetime, policy: Policy) -> Notification:
    """Return a record with no attempt left: its last claim died, or the maximum was lowered meanwhile."""
    if not unsettled(record):
        return _final(record, Status.DEAD_LETTERED, now, policy, reason=record.last_reason or OUT_OF_ATTEMPTS)
    died = replace(record, maybe_delivered=True, last_error=_DIED)
    return _final(died, Status.DEAD_LETTERED, now, policy, reason=INTERRUPTED)


def stale(record: Notification, now: datetime, policy: Policy) -> Notification:
    """Return a record that nobody wants any more: `deliver_by` has passed, or it is older than its channel allows."""
    return _final(record, Status.DEAD_LETTERED, now, policy, reason=EXPIRED)


def settle(
    record: Notification, outcome: Outcome, now: datetime, policy: Policy, *, batch_id: str, chance: float = 0.5
) -> Notification:
    """Return a claimed record with what its attempt came to; `chance` in [0, 1) is for the jitter."""
    match outcome:
        case Delivered(resolve_with=undo):
            sent = {
                "last_error": None,
                "dispatch_batch_id": batch_id,
                "resolve_with": undo,
                "sent_at": moments.floor(now),
            }
            return _final(record, Status.SENT, now, policy, reason=None, **sent)
        case Retry(reason=reason):
            return _retry(_failed(record, outcome), outcome, reason, now, policy, chance)
        case Reject(reason=reason) | Gone(reason=reason):
            return _final(_failed(record, outcome), Status.DEAD_LETTERED, now, policy, reason=reason)
        case _:
            assert_never(outcome)


def redrive(record: Notification, now: datetime) -> Notification | None:
    """Return a dead letter as pending again with all its attempts, due now; None if there is none to redrive."""
    if record.status is not Status.DEAD_LETTERED or record.expired(now):
        return None
    return replace(
        record,
        status=Status.PENDING,
        attempt_count=0,
        redrive_count=record.redrive_count + 1,
        next_attempt_at=moments.floor(now),
        dead_lettered_at=None,
        expires_at=None,
        deliver_by=None,
        claimed_until=None,
        updated_at=moments.floor(now),
    )


def cancel(record: Notification, now: datetime, policy: Policy, *, reason: str) -> Notification | None:
    """Return an open record as suppressed; None if it is final or somebody may be attempting it now."""
    if record.status not in OPEN or leased(record, now):
        return None
    return _final(record, Status.SUPPRESSED, now, policy, reason=redaction.redact(reason))


def _failed(record: Notification, outcome: Retry | Reject | Gone) -> Notification:
    maybe = isinstance(outcome, Retry) and outcome.maybe_delivered
    return replace(
        record,
        last_error=redaction.redact(outcome.error),
        maybe_delivered=record.maybe_delivered or maybe,
    )


def _retry(
    record: Notification, outcome: Retry, reason: str, now: datetime, policy: Policy, chance: float
) -> Notification:
    if record.attempt_count >= policy.max_attempts:
        return _final(record, Status.DEAD_LETTERED, now, policy, reason=reason)
    backed_off = backoff.delay(record.attempt_count, policy.base_delay, policy.max_delay)
    wait = min(outcome.wait or timedelta(), policy.max_delay)
    spread = min(backoff.jittered(backed_off, policy.jitter, chance), policy.max_delay)
    then = moments.ceil(now + max(spread, wait))
    if _too_late(record, then, policy):
        return stale(record, now, policy)
    return replace(
        record,
        status=Status.RETRYING,
        next_attempt_at=then,
        claimed_until=None,
        last_reason=reason,
        updated_at=moments.floor(now),
    )


def _too_late(record: Notification, moment: datetime, policy: Policy) -> bool:
    if record.deliver_by is not None and record.deliver_by < moment:
        return True
    if policy.max_age is None or record.redrive_count:  # an operator who redrives asks for what is old
        return False
    return record.created_at < moment - policy.max_age


def _final(
    record: Notification, status: Status, now: datetime, policy: Policy, *, reason: str | None, **beside: Any
) -> Notification:
    forgotten_at = None if record.finding_id else retention.expiry(record.created_at, now, policy.retention)
    return replace(
        record,
        status=status,
        dead_lettered_at=moments.floor(now) if status is Status.DEAD_LETTERED else None,
        last_reason=reason,
        next_attempt_at=None,
        claimed_until=None,
        expires_at=forgotten_at,  # that of a finding's record is for retention to say (SPEC 7)
        updated_at=moments.floor(now),
        **beside,
    )
