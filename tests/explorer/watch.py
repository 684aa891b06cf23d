"""What must hold at every step of every interleaving; the rules are its own, not the product's."""

from dataclasses import replace

from redeliver.core.hold import PROBE_FOR, PROBED
from redeliver.core.notification import OPEN, Dispatch, Notification
from redeliver.core.outcome import Delivered, Reject
from redeliver.core.policy import Policy
from redeliver.ports import Unavailable
from redeliver.tally import Report
from tests.explorer.acts import Answered
from tests.explorer.rules import RULES, claim_of, makes_sense
from tests.explorer.seen import Attempt, End, Event, Seen, Violation, need, stored_in
from tests.explorer.stage import Facts
from tests.world import INVOCATION


class Watch:
    """Judges every step of one case; every method raises Violation."""

    def __init__(self, policy: Policy, first: Facts) -> None:
        self._policy = policy
        self._first = first

    def begin(self) -> Seen:
        """Return what is known before anybody acts."""
        seen = Seen()
        for record in self._first.records():
            seen = seen.with_request(record.key, record.requested_at)
        for name, row in self._first.findings:
            seen = seen.with_news(name, row.changed_at, not row.resolved)
        return seen

    def take_in(self, seen: Seen, event: Event, before: Facts, after: Facts) -> Seen:
        """Return what is known after a step."""
        title = event.operation.title
        if title == "channel.deliver":
            return self.attempted(seen, event, before)
        if title == "channel.answer":
            return answered(seen, event)
        if title in RULES:
            seen = RULES[title](seen, event, before, after)
        if before != after:
            need(event.result is not False, "a write that lost its condition has changed something")
            for record in after.records():
                makes_sense(record, self._policy)
        return seen

    def attempted(self, seen: Seen, event: Event, facts: Facts) -> Seen:
        """Return what is known after an attempt has begun."""
        dispatch: Dispatch = event.operation.args[0]
        self._probes_first(seen, event, dispatch.channel, facts)
        for member in dispatch.members:
            seen = self._attempted(seen, event, member, facts)
        return seen

    def _attempted(self, seen: Seen, event: Event, claimed: Notification, facts: Facts) -> Seen:
        stored = stored_in(facts, claimed.key, "attempted though it is not stored")
        count, until = claimed.attempt_count, claimed.claimed_until
        need(stored.status in OPEN, "attempted after its end")
        need(claim_of(stored) == claim_of(claimed), "attempted on a claim that is lost")
        if until is None or until <= event.now:
            raise Violation("attempted without a live lease")
        earlier = [one for one in seen.attempts if one.of(stored)]
        for one in earlier:
            if (one.actor, one.number) == (event.actor, claimed.attempt_count) and isinstance(one.outcome, Reject):
                return seen.with_attempt(one, replace(one, outcome=None))  # a refused digest, narrowed down
        self._once_at_a_time(stored, earlier, event)
        one = Attempt(event.actor, stored.key, stored.created_at, stored.redrive_count, count, until, event.now)
        return seen.with_attempt(None, one)

    def _once_at_a_time(self, stored: Notification, earlier: list[Attempt], event: Event) -> None:
        need(all(one.settled or one.until <= event.now for one in earlier), "attempted twice within one lease")
        need(len(earlier) + 1 + self._at_first(stored) <= stored.attempt_count, "an attempt is not counted")
        need(stored.attempt_count <= self._policy.max_attempts, "attempted too often")
        done = any(one.settled and isinstance(one.outcome, Delivered) for one in earlier)
        need(not done, "attempted again though it was settled as delivered")
        said = stored.maybe_delivered or all(one.settled for one in earlier)
        need(said, "attempted again after an attempt that nobody settled, and the record does not say so")

    def _at_first(self, stored: Notification) -> int:
        """Return how many attempts a record had had before anybody acted."""
        first = self._first.record(stored.key)
        if first is None or (first.created_at, first.redrive_count) != (stored.created_at, stored.redrive_count):
            return 0
        return first.attempt_count

    def _probes_first(self, seen: Seen, event: Event, channel: str, facts: Facts) -> None:
        """Of a channel that is to be probed, one attempt goes first until somebody is known to be there."""
        reasons = (facts.channel(channel).hold_reason, self._first.channel(channel).hold_reason)
        if PROBED.issuperset(reasons):
            begun = [one for one in seen.attempts if one.key.channel == channel and one.begun > event.now - PROBE_FOR]
            need(all(isinstance(one.outcome, Delivered | Reject) for one in begun), "two probes at once")

    def ended(self, seen: Seen, end: End, facts: Facts, *, faults: bool) -> None:
        """Judge what an actor has come to; `faults` says that a write was answered by an error."""
        own = [one for one in seen.attempts if one.actor == end.actor]
        delivered = [one for one in own if one.settled and isinstance(one.outcome, Delivered)]
        late = faults and end.now >= end.began + INVOCATION  # no time was left to ask whether a write was done
        match end.value:
            case Unavailable():
                need(faults, f"failed, though nothing else did: {end.value}")
            case Exception():
                raise Violation(f"failed: {end.value!r}")
            case Report(failed_items=failed, sent=sent):
                need(faults or failed == 0, "a sweep has met an error of ours")
                need(late or sent == len(delivered), f"{sent} reported as sent, and {len(delivered)} were")
            case Answered(answer=answer):
                _is_stored(seen, end, end.value, facts)
                told = answer.result == "sent"
                need(late or told == bool(delivered), f"answered {answer.result}, and {len(delivered)} were sent")
        unsettled = [one for one in own if not one.settled and one.until > end.now]
        need(not unsettled, "ended without having written what its attempt came to")


def _is_stored(seen: Seen, end: End, said: Answered, facts: Facts) -> None:
    """Judge an answer of `send`: what was asked is in the table."""
    stored = stored_in(facts, said.key, f"answered {said.answer.result}, and nothing is stored")
    noted = stored.finding_id is not None and dict(seen.asked)[said.key] >= end.began
    need(said.finding_id is None or noted, "answered, and the record does not note that its finding was named")


def answered(seen: Seen, event: Event) -> Seen:
    """Return what is known after an endpoint's answer."""
    keys = {member.key for member in event.operation.args[0].members}
    for one in seen.attempts:
        if one.actor == event.actor and one.outcome is None and one.key in keys:
            seen = seen.with_attempt(one, replace(one, outcome=event.result))
    return seen
