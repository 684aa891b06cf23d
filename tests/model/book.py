"""What was seen from outside, and what must hold of it."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta

from redeliver.core import lifecycle, moments
from redeliver.core.hold import FAILING, GONE, NOT_CONFIGURED, OPERATOR, WAIT
from redeliver.core.notification import EXPIRED, FINAL, OPEN, Key, Notification, Status
from redeliver.core.outcome import Delivered, Outcome, Reject, Retry
from redeliver.core.policy import Policy
from redeliver.ports import Channel, ChannelState
from tests.model.process import OFF, Claim, Process, Sent

POLICY = Policy(
    base_delay=timedelta(minutes=5), max_delay=timedelta(minutes=30), max_attempts=3, retention=timedelta(days=2)
)
RECHECK = timedelta(minutes=15)
APART = timedelta(seconds=2 * OFF)  # two clocks, at most
Id = tuple[Key, datetime, int]
Rows = dict[Key, Notification]


def id_of(record: Notification) -> Id:
    """Return what has attempts of its own: a record, from its making or its last redrive on."""
    return (record.key, record.created_at, record.redrive_count)


def too_old(record: Notification, channel: Channel, now: datetime) -> bool:
    """Tell whether nobody wants the record any more, as SPEC and the channel's document say."""
    if record.deliver_by is not None and record.deliver_by < now:
        return True
    old = channel.max_age is not None and record.created_at + channel.max_age < now
    return old and not record.redrive_count


@dataclass
class Book:
    """What was seen of each record; times are those of the clock that was read, unless said otherwise."""

    base: timedelta = POLICY.base_delay
    claims: dict[Id, dict[int, datetime]] = field(default_factory=dict)
    in_flight: dict[Id, tuple[int, datetime]] = field(default_factory=dict)  # which claim, until when in truth
    not_before: dict[Id, datetime] = field(default_factory=dict)
    failed: dict[Id, tuple[datetime, timedelta]] = field(default_factory=dict)
    asked: dict[Key, str] = field(default_factory=dict)
    truth: dict[str, tuple[str, bool]] = field(default_factory=dict)  # when it changed, and whether it is active
    half_way: set[str] = field(default_factory=set)  # active findings whose news came with a run that failed
    alerts: set[Key] = field(default_factory=set)  # delivered and stored with the way to resolve them
    oldest_wanted: timedelta | None = None  # the least `max_age` that any document has named

    def attempted(
        self, claimed: Notification, stored: object, now: datetime, true: datetime, ends: datetime, *, digest: bool
    ) -> None:
        """Take in that an attempt begins, of a process that ends at a true moment; parts of a digest go again."""
        one, number = id_of(claimed), claimed.attempt_count
        assert isinstance(stored, Notification)
        assert stored.status in OPEN, "attempted after its end"
        assert (id_of(stored), stored.attempt_count, stored.claimed_until) == (one, number, claimed.claimed_until)
        assert lifecycle.leased(stored, now), "attempted without a lease"
        assert claimed.claimed_until is not None
        flying, until = self.in_flight.get(one, (number, true))
        assert flying == number or until <= true, "attempted twice at once"
        assert self.not_before.get(one, now) <= now, "attempted before it was due"
        assert digest or number not in self.claims.get(one, {}), "one claim, two attempts"
        assert self.claims.setdefault(one, {}).setdefault(number, claimed.claimed_until) == claimed.claimed_until
        assert len(self.claims[one]) <= POLICY.max_attempts, "attempted too often"
        self.in_flight[one] = (number, ends)

    def ended(self, claimed: Notification, outcome: Outcome, now: datetime) -> None:
        """Take in what an attempt came to."""
        self.in_flight.pop(id_of(claimed), None)
        if isinstance(outcome, Retry):
            self.failed[id_of(claimed)] = (now, outcome.wait or timedelta())

    def check(self, rows: Rows) -> None:
        """Check every record that counts."""
        for record in rows.values():
            makes_sense(record)
            self.is_explained(record)
            self.is_kept(record)
            if record.status is Status.RETRYING and record.claimed_until is None and id_of(record) in self.failed:
                then, wait = self.failed[id_of(record)]
                backoff = min(self.base * 2 ** (record.attempt_count - 1), POLICY.max_delay)
                self.not_before[id_of(record)] = then + max(wait, backoff)
                assert record.next_attempt_at is not None
                assert record.next_attempt_at >= self.not_before[id_of(record)], "due too early"
            alert = record.resolve_with is not None and record.finding_id is not None
            if record.status is Status.SENT and alert and not record.redrive_count:
                self.alerts.add(record.key)

    def is_explained(self, record: Notification) -> None:
        """Check that a dead letter of old age was too old, or would have been at its next attempt."""
        if record.status is not Status.DEAD_LETTERED or record.last_reason != EXPIRED:
            return
        assert not record.redrive_count, "expired, though an operator has asked for it"
        latest = record.updated_at + POLICY.max_delay + timedelta(seconds=2)
        by_age = self.oldest_wanted is not None and record.created_at + self.oldest_wanted < latest
        assert by_age or (record.deliver_by is not None and record.deliver_by < latest), "expired, but not too old"

    def is_kept(self, record: Notification) -> None:
        """Check that nothing is forgotten that a finding keeps."""
        if record.finding_id is None or record.expires_at is None:
            return
        assert record.finding_id in self.truth, "forgotten though its finding is unknown"
        changed, active = self.truth[record.finding_id]
        assert not active or record.finding_id in self.half_way, "forgotten though its finding is active"
        assert changed >= self.asked.get(record.key, changed), "forgotten though it was asked for again"

    def over(self, record: Notification) -> bool:
        """Tell whether the finding of a record is resolved, and nobody has asked for the record since."""
        changed, active = self.truth.get(record.finding_id or "", ("", True))
        return not active and changed >= moments.text_of(record.requested_at)


def makes_sense(record: Notification) -> None:
    """Check what belongs together."""
    assert record.attempt_count <= POLICY.max_attempts
    assert (record.status in OPEN) == (record.next_attempt_at is not None)
    assert (record.status is Status.DEAD_LETTERED) == (record.dead_lettered_at is not None)
    assert record.status in OPEN or record.claimed_until is None
    assert (record.status is Status.SENT) == (record.sent_at is not None)
    assert record.status in FINAL or record.expires_at is None, "an open record can be forgotten"


def ends_in_time(states: Iterable[ChannelState], now: datetime) -> None:
    """Check that no hold is longer than its reason allows."""
    for state in states:
        longest = {
            WAIT: POLICY.max_delay,
            FAILING: timedelta(minutes=min(2 ** max(state.failures - 5, 0), 60)),  # a probe holds it for one
            GONE: timedelta(hours=24),
            NOT_CONFIGURED: RECHECK,
        }.get(state.hold_reason or "")
        if longest is not None and state.hold_until is not None:
            assert state.hold_until <= now + longest + timedelta(seconds=OFF + 1), f"held too long: {state}"


def not_shortened(before: Mapping[str, ChannelState], states: Iterable[ChannelState], now: datetime) -> None:
    """Check that nobody but an operator ends a hold before its time, and nobody at all an operator's."""
    for state in states:
        was = before.get(state.channel)
        if was is None or was.hold_until is None or not was.held(now + APART):
            continue
        assert state.hold_until is not None
        assert state.hold_until >= was.hold_until, f"{was} was shortened to {state}"
        assert was.hold_reason != OPERATOR or state.hold_until == was.hold_until, f"{was} was lengthened to {state}"


def recovered(process: Process, states: Iterable[ChannelState]) -> None:
    """Check that a channel is free when its probe, and whatever went after it, was answered."""
    asked = {state.channel for state in process.took}
    for state in states:
        outcomes = [
            each.outcome for each in process.did if isinstance(each, Sent) and _channel_of(each) == state.channel
        ]
        if state.channel in asked and outcomes and all(isinstance(each, Delivered | Reject) for each in outcomes):
            assert state.hold_until is None, f"answered, and still held: {state}"


def behaved(process: Process) -> None:
    """Check what a sweep, or a `send` that had just read the channel's row, did to channels that were left alone."""
    for state in process.read:
        if state.held(process.began):
            assert state.channel not in process.wrote, "a record was written of a channel on hold"
            assert not _of(process, state.channel), "attempted, or charged, on hold"
        elif state.to_be_probed(process.began):
            _one_went_first(_of(process, state.channel))
    _suspects_went_alone([each for each in process.did if isinstance(each, Sent)], process)
    if process.undisturbed:
        went = {id_of(m) for each in process.did if isinstance(each, Sent) for m in each.dispatch.members}
        assert all(id_of(c.after) in went for c in process.did if isinstance(c, Claim)), "charged without an attempt"


def _of(process: Process, channel: str) -> Sequence[Claim | Sent]:
    return [each for each in process.did if _channel_of(each) == channel]


def _channel_of(did: Claim | Sent) -> str:
    return did.dispatch.channel if isinstance(did, Sent) else did.after.channel


def _one_went_first(did: Sequence[Claim | Sent]) -> None:
    sent, claimed, members = 0, 0, 1
    for each in did:
        if isinstance(each, Claim):
            claimed += not each.lost
            continue
        sent, members = sent + 1, len(each.dispatch.members)
        if isinstance(each.outcome, Delivered | Reject):
            break
    assert sent <= 1, "a probe did not go alone"
    assert sent == 0 or claimed <= members, "charged beside a probe"


def _suspects_went_alone(sent: Sequence[Sent], process: Process) -> None:
    suspects = {id_of(c.after) for c in process.did if isinstance(c, Claim) and c.before.claimed_until is not None}
    met = False
    for each in sent:
        suspect = any(id_of(member) in suspects for member in each.dispatch.members)
        assert len(each.dispatch.members) == 1 or not suspect, "with what may have killed its process others went"
        assert suspect or not met, "what may have killed its process did not go last"
        met |= suspect
