"""What must hold when every actor has ended or died.

Leases run out, sweeps and daily passes go on, and everything comes to its end.
"""

from dataclasses import replace
from datetime import datetime, timedelta

from redeliver.core import moments
from redeliver.core.notification import FINAL, Dispatch, Notification, Status
from redeliver.core.outcome import Delivered, Outcome
from redeliver.retain import INDEX_LAG
from tests.explorer.case import BEYOND_A_LEASE, Case
from tests.explorer.replay import Act, Operation
from tests.explorer.seen import End, Event, Seen, Violation, need
from tests.explorer.stage import Facts, Stage
from tests.explorer.watch import Watch, answered
from tests.fakes import FakeChannel
from tests.world import World

A_DAY = timedelta(days=1)  # longer than every hold and every backoff
SWEEPS = 4


def plain_world(case: Case, stage: Stage) -> World:
    """Return the use cases directly over the store."""
    world = World(policy=case.policy, concurrency=1, store=stage.store)
    world.channel = world.add_channel("ops", FakeChannel(mode=case.mode))
    return world


def prepared(case: Case, stage: Stage, now: datetime) -> Facts:
    """Return what the tables hold at the beginning of a case."""
    world = plain_world(case, stage)
    world.clock.now = now
    case.begin(world)
    if case.index_lags:
        stage.notifications.lag()
    return stage.save()


class Ending:
    """The rest of the story, told once for every way in which the actors can have ended."""

    def __init__(self, case: Case, first: Facts, watch: Watch) -> None:
        self._first = first
        self._watch = watch
        self._stage = case.stage()
        self._world = plain_world(case, self._stage)
        self._world.channel.respond = self._respond
        self._seen = Seen()
        self._actor = ""
        self._violations: list[Violation] = []
        self._judged: set[tuple[Facts, Seen, datetime, tuple[Act, ...]]] = set()

    def judge(self, facts: Facts, seen: Seen, now: datetime, again: tuple[Act, ...]) -> None:
        """Raise Violation unless all comes right; `again` are requests that the queue delivers once more."""
        if (facts, seen, now, again) in self._judged:
            return
        self._judged.add((facts, seen, now, again))
        self._stage.load(facts)
        self._world.clock.now, self._seen = now, seen
        self._violations.clear()
        for number, act in enumerate(again):
            self._actor = f"again {number}"
            self._asked_again(act)
        self._actor = "a later sweep"
        self._world.clock.now += BEYOND_A_LEASE
        for _ in range(SWEEPS):
            self._world.sweep()
            if self._violations:
                raise self._violations[0]
            if all(record.status in FINAL for record in self._stage.save().records()):
                break
            self._world.clock.now += A_DAY
        for _ in range(2):
            self._world.heal(INDEX_LAG.total_seconds() + 1)
        for record in self._stage.save().records():
            self._judge(record)
        need(all(row.parked for row in self._stage.save().unreadable()), "a row that cannot be read is never parked")
        need(all(row.unsettled is None for row in self._stage.findings.rows.values()), "a finding is never settled")

    def _asked_again(self, act: Act) -> None:
        before, now = self._stage.save(), self._world.clock.now
        value = act(self._world)
        after = self._stage.save()
        for record in after.records():
            was = before.record(record.key)
            if was is None or was.requested_at != record.requested_at:
                self._seen = self._seen.with_request(record.key, now)
            for one in self._seen.attempts:
                if one.actor == self._actor and one.of(record) and record.claimed_until is None:
                    self._seen = self._seen.with_attempt(one, replace(one, settled=True))
        self._watch.ended(self._seen, End(self._actor, value, now, now), after, faults=False)

    def _respond(self, dispatch: Dispatch) -> Outcome:
        now = self._world.clock.now
        event = Event(self._actor, Operation("channel", "deliver", (dispatch,)), Delivered(), now, now)
        try:
            self._seen = self._watch.attempted(self._seen, event, self._stage.save())
        except Violation as violation:  # a sweep isolates it, as it does every error of a channel
            self._violations.append(violation)
        self._seen = answered(self._seen, event)
        return Delivered()

    def _judge(self, record: Notification) -> None:
        need(record.status in FINAL, "stuck: leases have run out and sweeps have gone by, and it is still open")
        if record == self._first.record(record.key):
            return
        delivered = any(one.of(record) and isinstance(one.outcome, Delivered) for one in self._seen.attempts)
        need(record.status is not Status.SENT or delivered or self._was_sent(record), "marked as sent, and was not")
        if self._seen.keeps(record):
            need(record.expires_at is None, "will be forgotten though a finding keeps it")
        elif record.finding_id is None or (self._settled_since(record) and not self._redriven(record)):
            need(record.expires_at is not None, "will never be forgotten though nothing keeps it")

    def _was_sent(self, record: Notification) -> bool:
        first = self._first.record(record.key)
        return first is not None and first.sent_at is not None and first.sent_at == record.sent_at

    def _redriven(self, record: Notification) -> bool:
        """Tell whether a record was redriven: if its finding was settled before that, nobody looks at it again.

        That keeps too much, never too little (docs/adr/0004).
        """
        first = self._first.record(record.key)
        return first is not None and record.redrive_count > first.redrive_count

    def _settled_since(self, record: Notification) -> bool:
        """Tell whether the finding was resolved a whole second after the request: within one, too much is kept."""
        asked = dict(self._seen.asked)[record.key]
        changed, _ = dict(self._seen.truth).get(record.finding_id, ("", True))
        return bool(changed >= moments.text_of(moments.ceil(asked)))
