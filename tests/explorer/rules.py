"""What must hold of every write to a table, judged by what the table held before it and after."""

from collections.abc import Callable, Mapping
from dataclasses import replace

from redeliver.core.finding import Finding
from redeliver.core.hold import OPERATOR, Hold
from redeliver.core.notification import FINAL, OPEN, Notification, Status, Unreadable
from redeliver.core.policy import Policy
from redeliver.ports import ChannelState
from tests.explorer.seen import Event, Seen, need, stored_in
from tests.explorer.stage import Facts


def makes_sense(record: Notification, policy: Policy) -> None:
    """Judge a record by itself."""
    need(record.attempt_count <= policy.max_attempts, "more attempts are counted than are allowed")
    need((record.status in OPEN) == (record.next_attempt_at is not None), "waits for nothing, or waits though final")
    need(
        (record.status is Status.DEAD_LETTERED) == (record.dead_lettered_at is not None), "dead, and nobody knows when"
    )
    need((record.status is Status.SENT) == (record.sent_at is not None), "sent, and nobody knows when")
    need(record.status in OPEN or record.claimed_until is None, "a final record is claimed")
    need(record.status in FINAL or record.expires_at is None, "an open record can be forgotten")


def claim_of(record: Notification) -> tuple[object, ...]:
    """Return what tells one claim from every other."""
    return (record.attempt_count, record.claimed_until, record.redrive_count)


def _add(seen: Seen, event: Event, before: Facts, after: Facts) -> Seen:
    record: Notification = event.operation.args[0]
    stored = before.record(record.key)
    if before == after:
        return seen
    need(stored is None or stored.expired(event.now), "a record that is there was written over")
    return seen.with_request(record.key, event.began)


def _replace(seen: Seen, event: Event, before: Facts, after: Facts) -> Seen:
    if before == after:
        return seen
    read, wanted = event.operation.args
    was = stored_in(before, read.key, "a record was made by a write that changes one")
    now_is = stored_in(after, read.key, "a record is gone")
    need(
        was.expires_at is not None or now_is.expires_at is None or now_is.finding_id is None,
        "the expiry of a finding's record was set by somebody else than retention",
    )
    ours = [one for one in seen.attempts if one.actor == event.actor and one.of(read) and not one.settled]
    if ours:
        one = ours[-1]
        same = claim_of(was) == (one.number, one.until, one.redrives) and was.status in OPEN
        need(same, "a claim that is lost was settled")
        return seen.with_attempt(one, replace(one, settled=True))
    leased = was.claimed_until is not None and was.claimed_until > event.now
    free = was.status in OPEN and not leased
    if wanted.redrive_count > read.redrive_count:
        need(was.status is Status.DEAD_LETTERED, "redriven though it is no dead letter")
        need(now_is.redrive_count == was.redrive_count + 1, "a redrive is not counted")
    elif wanted.attempt_count > read.attempt_count:
        need(free, "claimed after its end, or under the lease of another")
        need(now_is.attempt_count == was.attempt_count + 1, "a claim is not counted")
    elif wanted.status is not read.status:
        need(free, "ended after its end, or under the lease of another")
    else:
        need(now_is.expires_at is None and now_is.finding_id is not None, "asked for again, and not kept")
        return seen.with_request(read.key, event.began)
    return seen


def _park(seen: Seen, event: Event, before: Facts, after: Facts) -> Seen:
    row: Unreadable = event.operation.args[0]
    parked = any(one.key == row.key and one.parked for one in before.unreadable())
    need(before == after or not parked, "a row was parked twice")
    return seen


def _stamp(seen: Seen, event: Event, before: Facts, after: Facts) -> Seen:
    for was, now_is in zip(before.records(), after.records(), strict=True):
        if was.expires_at is None and now_is.expires_at is not None:
            need(not seen.keeps(was), "forgotten though its finding is active, or it was asked for after the end of it")
    return seen


def _put(seen: Seen, event: Event, before: Facts, after: Facts) -> Seen:
    news: Finding = event.operation.args[0]
    return seen.with_news(news.finding_id, news.changed_at, not news.resolved)


def _hold(seen: Seen, event: Event, before: Facts, after: Facts) -> Seen:
    name, wanted = event.operation.args[:2]
    assert isinstance(wanted, Hold)
    row = before.channel(name)
    if before != after and row.hold_until is not None and row.hold_until > event.now:
        need(row.hold_reason != OPERATOR, "an operator's hold was written over")
        need(wanted.until > row.hold_until, "a hold was made shorter")
    return seen


def _free(seen: Seen, event: Event, before: Facts, after: Facts) -> Seen:
    read: ChannelState = event.operation.args[0]
    row = before.channel(read.channel)
    unmoved = (row.hold_until, row.hold_reason) == (read.hold_until, read.hold_reason)
    need(before == after or unmoved, "a hold that another has set was ended")
    return seen


RULES: Mapping[str, Callable[[Seen, Event, Facts, Facts], Seen]] = {
    "ledger.add": _add,
    "ledger.replace": _replace,
    "ledger.park": _park,
    "records.stamp": _stamp,
    "findings.put": _put,
    "states.hold": _hold,
    "states.free": _free,
}
