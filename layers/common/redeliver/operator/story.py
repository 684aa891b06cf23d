"""The story of one notification: what happened, what happens next, why it was not sent, what would change that."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

from redeliver.core import lifecycle, moments
from redeliver.core.finding import Finding
from redeliver.core.history import Past, attempts
from redeliver.core.hold import FAILING, GONE, NOT_CONFIGURED, OPERATOR, PROBED, WAIT
from redeliver.core.notification import (
    EXPIRED,
    FINAL,
    INTERRUPTED,
    OPEN,
    OUT_OF_ATTEMPTS,
    UNREADABLE,
    Notification,
    Row,
    Status,
    Unreadable,
)
from redeliver.core.outcome import CREDENTIALS_REFUSED
from redeliver.core.policy import Policy
from redeliver.ports import ChannelState


@dataclass(frozen=True, slots=True, kw_only=True)
class Facts:
    """What is known beside the record; `not_configured` says why its channel cannot be used."""

    now: datetime
    policy: Policy
    state: ChannelState | None = None
    not_configured: str | None = None
    finding: Finding | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Story:
    """The story in sentences; `why` and `remedy` are None of what was sent."""

    attempts: Sequence[Past] = ()
    next: str
    why: str | None = None
    remedy: str | None = None
    kept: str | None = None
    asked_again: str | None = None


_REDRIVE = "mend the cause, then redrive it"
# Why a record died: (what it means, what would change it).
DEATHS: Mapping[str, tuple[str, str]] = {
    EXPIRED: (
        "it was not delivered before its `deliver_by`, or became older than the channel's `max_age`",
        "redrive it with --stale if it is wanted all the same",
    ),
    INTERRUPTED: (
        "its last attempt killed the function: out of memory, out of time, or ended from outside",
        "look at the memory and the duration of the function's runs at that time; then redrive it",
    ),
    UNREADABLE: ("its row cannot be read as a record", "mend the row in the table, or delete it and send anew"),
    OUT_OF_ATTEMPTS: ("it has had as many attempts as are allowed", _REDRIVE),
    CREDENTIALS_REFUSED: (
        "the endpoint refused the credentials",
        "put the right secret into the channel's document (`redeliver channels check`), then redrive it",
    ),
    "timeout": ("the endpoint did not answer in time", _REDRIVE),
    "redirect": ("the endpoint redirects, which is not followed", "put the final address into the channel's document"),
    "address_refused": (
        "the endpoint's address is not public",
        "set allow_private_network in the channel's document if that is meant; then redrive it",
    ),
    "tls_failed": ("the endpoint's certificate was refused, or TLS failed", _REDRIVE),
    "name_failed": ("the endpoint's host name could not be found", _REDRIVE),
    "too_long": ("the endpoint refused it as too long", "send a shorter one under another dedup key"),
}
_HOLDS: Mapping[str, tuple[str, str]] = {
    NOT_CONFIGURED: ("its channel has no usable document", "mend the document; it is looked at again by itself"),
    WAIT: ("the endpoint asked for a pause", "wait"),
    FAILING: (
        "its channel is failing: five attempts in a row came to nothing",
        "mend the endpoint; a probe finds out by itself, `redeliver release` at once",
    ),
    GONE: ("its channel's own target no longer exists", "put a new target into the document, then `redeliver release`"),
    OPERATOR: ("an operator holds its channel", "`redeliver release`"),
}


def story(row: Row | None, facts: Facts) -> Story:
    """Return the story of a row, or of a notification that is not there."""
    if isinstance(row, Unreadable):
        meaning, mending = DEATHS[UNREADABLE]
        return Story(next="nothing: it is parked", why=f"{meaning}: {row.problem}", remedy=mending)
    if row is None or row.expired(facts.now):
        return Story(
            next="nothing: there is no such notification",
            why="it was never asked for under this channel and key, or it has been forgotten since",
            remedy="see `notification_invalid` in the log of `send`, and its dead-letter queue, if it should be there",
        )
    next_, why, remedy = _ahead(row, facts)
    return Story(
        attempts=attempts(row.history),
        next=next_,
        why=why,
        remedy=remedy,
        kept=_kept(row, facts),
        asked_again=_asked_again(row),
    )


def _ahead(record: Notification, facts: Facts) -> tuple[str, str | None, str | None]:
    """Return what happens next, why it was not sent, and what would change that."""
    if record.status in OPEN:
        return (_next(record, facts), *_why_waiting(record, facts))
    if record.status is Status.SENT:
        return "nothing: it was delivered", None, None
    return ("nothing by itself", *_why_ended(record, facts))


def _asked_again(record: Notification) -> str | None:
    if record.requested_at <= record.created_at + timedelta(seconds=1):  # one rounded up, the other down
        return None
    return (
        f"it was asked for again at {_text(record.requested_at)}, which was answered `duplicate`: one key, one record"
    )


def _next(record: Notification, facts: Facts) -> str:
    left = facts.policy.max_attempts - record.attempt_count
    attempts_left = f"{left} of {facts.policy.max_attempts} attempts are left" if left > 0 else "no attempt is left"
    if lifecycle.leased(record, facts.now):
        return f"it is being attempted now, until {_text(record.claimed_until)} at the latest; {attempts_left}"
    if facts.not_configured is not None:
        return f"nothing until its channel has a usable document; {attempts_left}"
    if facts.state is not None and facts.state.held(facts.now):
        after = "one record of the channel is tried" if facts.state.hold_reason in PROBED else "it is attempted"
        return f"its channel is left alone until {_text(facts.state.hold_until)}, then {after}; {attempts_left}"
    then = max(record.next_attempt_at or facts.now, facts.now)
    step = lifecycle.next_step(record, then, facts.policy, claim_until=then)
    if step is not None and step.status is Status.DEAD_LETTERED:
        return f"the first sweep after {_text(then)} parks it instead of sending it: {step.last_reason}"
    if then > facts.now:
        return f"the next attempt is at {_text(then)}; {attempts_left}"
    return f"the next sweep takes it; {attempts_left}"


def _why_waiting(record: Notification, facts: Facts) -> tuple[str, str | None]:
    if lifecycle.leased(record, facts.now):
        return "its attempt has not been settled yet", None
    if facts.not_configured is not None:
        return f"its channel cannot be used: {facts.not_configured}", _HOLDS[NOT_CONFIGURED][1]
    if facts.state is not None and facts.state.held(facts.now):
        why, remedy = _HOLDS.get(facts.state.hold_reason or "", ("its channel is on hold", "`redeliver release`"))
        return (f"{why} ({facts.state.hold_note})" if facts.state.hold_note else why), remedy
    if record.last_reason is not None:
        return f"its last attempt failed: {record.last_reason}: {record.last_error}", "mend the endpoint, or wait"
    return "it has not been attempted yet", None


def _why_ended(record: Notification, facts: Facts) -> tuple[str, str]:
    if record.status is Status.SUPPRESSED:
        return f"it was suppressed: {record.last_reason}", "send it under another dedup key if it is wanted after all"
    reason = record.last_reason or ""
    why, remedy = DEATHS.get(reason, (f"its last attempt failed with {reason}", _REDRIVE))
    return (f"{why}: {record.last_error}" if record.last_error else why), remedy + _in_the_way(facts)


def _in_the_way(facts: Facts) -> str:
    """Return what a redrive alone would not get past."""
    if facts.not_configured is not None:
        return f"; before that, mend the channel's document: {facts.not_configured}"
    if facts.state is not None and facts.state.held(facts.now):
        until = _text(facts.state.hold_until)
        return f"; its channel is on hold ({facts.state.hold_reason}) until {until}, or until `redeliver release`"
    return ""


def _kept(record: Notification, facts: Facts) -> str:
    """Return what keeps the record from being forgotten, or until when it is kept."""
    if record.status not in FINAL:
        return "it is kept until it has ended"
    if record.expires_at is not None:
        return f"it may be forgotten after {_text(record.expires_at)}"
    if record.finding_id is None:
        return "nothing: nobody gave it an expiry; a redrive, or its deletion by hand, ends that"
    if facts.finding is None:
        return f"nobody has said that its finding {record.finding_id!r} is resolved"
    if not facts.finding.resolved:
        return f"its finding {record.finding_id!r} is active since {facts.finding.changed_at}"
    if facts.finding.changed_at < moments.text_of(record.requested_at):
        return f"it was asked for again at {_text(record.requested_at)}, after its finding was resolved"
    return "its finding is resolved: retention has not got round to it yet"


def _text(moment: datetime | None) -> str:
    return moment.strftime("%Y-%m-%d %H:%M:%S UTC") if moment is not None else "an unknown moment"
