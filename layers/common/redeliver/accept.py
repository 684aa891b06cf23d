"""Take a request in: validate, store, and try at once what may be tried at once (SPEC 4)."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta

from redeliver.core import lifecycle, moments
from redeliver.core.hold import GONE, GONE_FOR, WAIT, Hold
from redeliver.core.notification import OPEN, UNREADABLE, Dispatch, Key, Notification, Status, Unreadable
from redeliver.core.request import InvalidRequest, Request, parse
from redeliver.deliver import WRITE_MARGIN, Deliver, End, Settled, claim_until, described, longest_wait, target_is_gone
from redeliver.ports import (
    Announcement,
    Channel,
    Channels,
    ChannelState,
    ChannelStates,
    Deadline,
    Ledger,
    Mode,
    NotConfigured,
    Telemetry,
    Unavailable,
)

_STATE_LASTS = timedelta(seconds=30)  # how long a container goes by a channel's row as read (SPEC 5)
_TRIES = 5  # while others keep overtaking


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """What became of one request; times in epoch seconds."""

    result: str
    channel: str | None
    dedup_key: str | None
    status: str | None = None
    attempt_count: int | None = None
    next_attempt_at: int | None = None
    dispatch_batch_id: str | None = None
    error: str | None = None

    def as_json(self) -> dict[str, object]:
        """Return the answer as a caller sees it (SPEC 12)."""
        always = ("channel", "dedup_key", "result", "status", "attempt_count")
        values = {name: getattr(self, name) for name in (*always, "next_attempt_at", "dispatch_batch_id", "error")}
        return {name: value for name, value in values.items() if value is not None or name in always}


@dataclass(frozen=True, slots=True)
class Route:
    """Where a request leads: a channel, or why there is none; neither while nobody can tell."""

    channel: Channel | None = None
    why_not: str | None = None


@dataclass(slots=True, kw_only=True)
class Accept:
    """Accepts requests; every dependency is given. Keeps what it knows of the channels' rows for a while."""

    ledger: Ledger
    channels: Channels
    states: ChannelStates
    deliver: Deliver
    telemetry: Telemetry
    clock: Callable[[], datetime]
    _known: dict[str, tuple[ChannelState, datetime]] = field(default_factory=dict)

    def __call__(self, raw: object, deadline: Deadline) -> Answer:
        """Return what became of one request; raises Unavailable if it could not be stored."""
        try:
            request = parse(raw)
        except InvalidRequest as error:
            return self._invalid(raw, error)
        now = self.clock()
        if deadline.left() < WRITE_MARGIN:  # better not begun than not known
            raise Unavailable(f"{request.channel} {request.dedup_key!r}: no time was left to store it; ask again")
        route = self._look_up(request.channel, now)
        record = self._record(request, route, now, deadline)
        for _ in range(_TRIES):
            if self.ledger.add(record, now):
                return self._taken(record, route, deadline)
            answer = self._present(request, record.key, route, now)
            if answer is not None:
                return answer
        raise Unavailable(f"{record.channel} {record.dedup_key!r}: others kept writing the record; ask again")

    def _invalid(self, raw: object, error: InvalidRequest) -> Answer:
        self.telemetry.count("notifications.invalid")
        self.telemetry.warn("notification_invalid", error=str(error))
        return Answer(
            result="invalid", channel=_echo(raw, "channel"), dedup_key=_echo(raw, "dedup_key"), error=str(error)
        )

    def _look_up(self, name: str, now: datetime) -> Route:
        try:
            found = self.channels.look_up(name, now)
        except Unavailable as error:  # the notification is stored all the same; a sweep will know
            self.telemetry.warn("channel_unavailable", channel=name, error=str(error))
            return Route()
        return Route(why_not=found.why) if isinstance(found, NotConfigured) else Route(channel=found)

    def _record(self, request: Request, route: Route, now: datetime, deadline: Deadline) -> Notification:
        state = self._state(request.channel, now)
        held = state.held(now) or state.to_be_probed(now)
        if route.channel is None:
            return lifecycle.accept(request, now, self.deliver.policy, due=now)
        policy = self.deliver.policy_of(route.channel)
        if route.channel.mode is Mode.DIGEST:
            return lifecycle.accept(request, now, policy, due=window_end(now, route.channel.digest_seconds))
        if held or not self.deliver.room(deadline):
            return lifecycle.accept(request, now, policy, due=now)
        return lifecycle.accept(request, now, policy, due=now, first_claim_until=claim_until(now, deadline))

    def _state(self, name: str, now: datetime) -> ChannelState:
        state, read_at = self._known.get(name, (None, now))
        if state is None or now - read_at >= _STATE_LASTS:
            state = self.states.open(name)
            self._known[name] = (state, now)
        return state

    def _present(self, request: Request, key: Key, route: Route, now: datetime) -> Answer | None:
        """Return the answer to a request whose record is there already; None if it was overtaken meanwhile."""
        stored = self.ledger.get(key)
        if stored is None:
            return None
        if isinstance(stored, Unreadable):
            return self._unreadable(stored, route, now)
        asked = lifecycle.asked_again(stored, request, now)
        if asked != stored and not self.ledger.replace(stored, asked):
            return None
        self._count("duplicate", route, asked)
        self.telemetry.log("notification_duplicate", **described(asked))
        return _answer("duplicate", asked)

    def _unreadable(self, row: Unreadable, route: Route, now: datetime) -> Answer:
        park(self.ledger, self.telemetry, row, now, row.key.channel if route.channel else None)
        return Answer(
            result="duplicate",
            channel=row.key.channel,
            dedup_key=row.key.dedup_key,
            status=Status.DEAD_LETTERED.value,
            error=f"the stored record cannot be read: {row.problem}",
        )

    def _taken(self, record: Notification, route: Route, deadline: Deadline) -> Answer:
        """Return the answer to a request that is stored now: tried at once if the put was its first claim."""
        if record.claimed_until is not None and route.channel is not None:
            return self._attempt(record, route.channel, deadline)
        if record.status is Status.DEAD_LETTERED:
            self.deliver.report_dead(record, configured=route.channel is not None)
            return _answer(record.status.value, record, error="expired: its deliver_by has passed")
        if record.status is Status.SUPPRESSED:
            self._count("suppressed", route, record)
            self.telemetry.log("notification_suppressed", **described(record))
        elif route.why_not is not None:
            self._count("not_configured", route, record)
            self.telemetry.warn("channel_not_configured", channel=record.channel, error=route.why_not)
            return _answer("not_configured", record, error=route.why_not)
        return _answer("accepted" if record.status in OPEN else record.status.value, record)

    def _attempt(self, record: Notification, channel: Channel, deadline: Deadline) -> Answer:
        (settled,) = self.deliver.attempt(channel, Dispatch((record,)), deadline)
        self._hold(settled)
        if (
            settled.end is not End.WRITTEN
        ):  # whatever it came to, the record says pending until a sweep looks at it again
            return _answer("accepted", record)
        return _answer(settled.record.status.value, settled.record)

    def _hold(self, settled: Settled) -> None:
        """Hold the channel if the endpoint asked for it or its own target is gone; failures are for sweeps to count."""
        wait, now, name = longest_wait([settled]), self.clock(), settled.record.channel
        if target_is_gone([settled]):
            hold = Hold(moments.ceil(now + GONE_FOR), GONE)
        elif wait is not None:
            hold = Hold(moments.ceil(now + min(wait, self.deliver.policy.max_delay)), WAIT)
        else:
            return
        self._known[name] = (ChannelState(name, hold.until, hold.reason), now)
        try:
            if self.states.hold(name, hold, now):
                until = hold.until.isoformat()
                self.telemetry.warn("channel_held", channel=name, reason=hold.reason, until=until)
                self.telemetry.announce(Announcement.HELD, channel=name, reason=hold.reason, until=until)
        except Unavailable as error:  # the notification is settled; a hold that is not written costs one more refusal
            self.telemetry.warn("hold_not_written", channel=name, error=str(error))

    def _count(self, what: str, route: Route, record: Notification) -> None:
        # Callers choose channel names: only a configured one may become a dimension (SPEC 8).
        by = {"channel": record.channel} if route.channel is not None else None
        self.telemetry.count(f"notifications.{what}", by)


def park(ledger: Ledger, telemetry: Telemetry, row: Unreadable, now: datetime, channel: str | None) -> bool:
    """Take an unreadable row out of every schedule, once, and tell whether this call did.

    `channel` is the metric's dimension, if it may be one.
    """
    try:
        if row.parked or not ledger.park(row, now):
            return False
    except Unavailable as error:  # it will be met again, and nobody has to wait for that
        telemetry.warn("unreadable_not_parked", channel=row.key.channel, dedup_key=row.key.dedup_key, error=str(error))
        return False
    telemetry.count("notifications.unreadable", {"channel": channel} if channel else None)
    telemetry.warn(
        "notification_unreadable",
        channel=row.key.channel,
        dedup_key=row.key.dedup_key,
        error=row.problem,
    )
    key = {"channel": row.key.channel, "dedup_key": row.key.dedup_key}
    told = {**key, "status": Status.DEAD_LETTERED.value, "reason": UNREADABLE, "error": row.problem}
    telemetry.announce(Announcement.DEAD_LETTERED, **told, at=moments.floor(now).isoformat())
    return True


def window_end(now: datetime, seconds: int) -> datetime:
    """Return the end of the digest window: the next multiple of its length since the epoch, or now (SPEC 5)."""
    if seconds <= 0:
        return now
    return moments.from_epoch((moments.to_epoch(now) // seconds + 1) * seconds)


def _answer(result: str, record: Notification, error: str | None = None) -> Answer:
    return Answer(
        result=result,
        channel=record.channel,
        dedup_key=record.dedup_key,
        status=record.status.value,
        attempt_count=record.attempt_count,
        next_attempt_at=moments.to_epoch(record.next_attempt_at) if record.next_attempt_at else None,
        dispatch_batch_id=record.dispatch_batch_id,
        error=error or record.last_error,
    )


def _echo(raw: object, name: str) -> str | None:
    value = raw.get(name) if isinstance(raw, Mapping) else None
    # Half a surrogate pair is no text: Lambda could not write it, and the answers beside it would be lost.
    return value[:1024].encode("utf-8", "backslashreplace").decode() if isinstance(value, str) else None
