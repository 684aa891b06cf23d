"""Every arrow, time, lost writes, old readings and concurrent actors, in any order, against the store.

What must hold is checked at every attempt and after every step; in the end the weather clears and everything ends.
"""

from contextlib import ExitStack
from datetime import datetime, timedelta
from typing import Any

import pytest
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from redeliver.core import lifecycle, moments
from redeliver.core.hold import Hold
from redeliver.core.notification import FINAL, OPEN, Dispatch, Key, Notification, Status
from redeliver.core.outcome import Delivered, Gone, Outcome, Reject, Retry
from redeliver.core.policy import Policy
from redeliver.ports import Unavailable
from tests.builders import NOW, at, raw, request
from tests.fakes import LOST, REFUSED, FakeChannel, Until
from tests.memory import MemoryNotifications
from tests.stores import Store, dynamo, memory
from tests.world import INVOCATION, World

POLICY = Policy(
    base_delay=timedelta(minutes=5), max_delay=timedelta(minutes=30), max_attempts=3, retention=timedelta(days=2)
)
KEYS = st.sampled_from(["k1", "k1", "k2"])
LEFT = st.sampled_from([60, 60, 60, 13, 5])
FINDINGS = st.sampled_from([None, "F1", "F2"])
FAULTS = st.sampled_from([[], [], [], [], [None, LOST], [None, REFUSED], [LOST], [REFUSED], [None, *[REFUSED] * 500]])
SECONDS = st.sampled_from([0.4, 1, 30, 61, 65, 300, 300, 600, 600, 1800, 1800, 86400, 3 * 86400])
OUTCOMES: st.SearchStrategy[Outcome] = st.sampled_from(
    [
        Delivered(),
        Retry("http_500", "x"),
        Retry("http_500", "x"),
        Retry("http_500", "x"),
        Retry("timeout", "x", maybe_delivered=True),
        Retry("http_429", "x", timedelta(seconds=90)),
        Reject("too_long", "x"),
        Gone("http_410", "x"),
    ]
)
Id = tuple[Key, datetime, int]


def id_of(record: Notification) -> Id:
    """Return what has attempts of its own: a record, from its making or its last redrive on."""
    return (record.key, record.created_at, record.redrive_count)


class Machine(RuleBasedStateMachine):
    """Over the store in memory."""

    def __init__(self) -> None:
        super().__init__()
        self.opened = ExitStack()
        self.store = self.open_store()
        self.world = World(policy=POLICY, concurrency=1, store=self.store)
        if isinstance(self.store.ledger, MemoryNotifications):
            self.world.memory = self.store.ledger
        self.world.channel.respond = self.respond
        self.outcomes: list[Outcome] = []
        self.accepted: set[Key] = set()
        self.asked: dict[Key, datetime] = {}
        self.truth: dict[str, tuple[datetime, bool]] = {}  # when it changed, and whether it is active
        self.attempts: dict[Id, int] = {}
        self.in_flight: dict[Id, datetime] = {}
        self.failed: dict[Id, datetime] = {}
        self.not_before: dict[Id, datetime] = {}
        self.slow: list[tuple[Notification, Until]] = []
        self.readings: list[Notification] = []
        self.violations: list[AssertionError] = []

    def open_store(self) -> Store:
        return self.opened.enter_context(memory())

    def teardown(self) -> None:
        try:
            self.weather_clears()
        finally:
            self.opened.close()

    # what is watched at every attempt

    def attempted(self, claimed: Notification) -> None:
        now, one = self.world.clock.now, id_of(claimed)
        stored = self.store.ledger.get(claimed.key)
        assert isinstance(stored, Notification)
        assert stored.status in OPEN, "attempted after its end"
        assert (stored.attempt_count, stored.claimed_until) == (claimed.attempt_count, claimed.claimed_until)
        assert lifecycle.leased(stored, now), "attempted without a lease"
        assert self.in_flight.get(one, now) <= now, "attempted twice at once"
        assert self.not_before.get(one, now) <= now, "attempted before it was due"
        self.attempts[one] = self.attempts.get(one, 0) + 1
        assert self.attempts[one] <= POLICY.max_attempts, "attempted too often"
        assert claimed.claimed_until is not None
        self.in_flight[one] = claimed.claimed_until

    def ended(self, claimed: Notification, outcome: Outcome) -> None:
        self.in_flight.pop(id_of(claimed), None)
        if isinstance(outcome, Retry):
            self.failed[id_of(claimed)] = self.world.clock.now

    def respond(self, dispatch: Dispatch) -> Outcome:
        outcome = self.outcomes.pop() if self.outcomes else Delivered()
        for member in dispatch.members:
            try:
                self.attempted(member)
            except AssertionError as error:  # a sweep isolates it, as it does every error of a channel
                self.violations.append(error)
            self.ended(member, outcome)
        return outcome

    # what happens

    @initialize()
    def begin(self) -> None:
        self.world.memory.plant(Key("ops", "bad"), next_attempt_at=NOW)

    @rule(
        key=KEYS,
        finding=FINDINGS,
        more=st.sampled_from([*[{}] * 12, {"suppress": "seen"}, {"deliver_by": 200}, {"deliver_by": -1}]),
        faults=FAULTS,
        outcomes=st.lists(OUTCOMES, min_size=1, max_size=1),
        left=LEFT,
    )
    def accept(
        self, key: str, finding: str | None, more: dict[str, Any], faults: list[str], outcomes: list[Outcome], left: int
    ) -> None:
        fields = dict(more)
        if "deliver_by" in fields:
            fields["deliver_by"] = (self.world.clock.now + timedelta(seconds=fields["deliver_by"])).isoformat()
        asked, self.outcomes = self.world.clock.now, outcomes
        self.world.ledger.will(*faults)
        try:
            answer = self.world.new_accept()(
                raw(dedup_key=key, finding_id=finding, **fields), self.world.deadline(timedelta(seconds=left))
            )
        except Unavailable:
            return
        finally:
            self.world.ledger.plan.clear()
        assert answer.result != "invalid"
        self.accepted.add(Key("ops", key))
        if finding is not None or answer.result != "duplicate":
            self.asked[Key("ops", key)] = asked

    @rule(
        faults=FAULTS,
        after=SECONDS,
        outcomes=st.lists(OUTCOMES, min_size=2, max_size=3),
        left=LEFT,
    )
    def sweep(self, faults: list[str], after: float, outcomes: list[Outcome], left: int) -> None:
        self.outcomes = outcomes
        self.world.ledger.will(*faults)
        self.world.sweep(after, left=timedelta(seconds=left))
        self.world.ledger.plan.clear()

    @rule(seconds=SECONDS)
    def time_passes(self, seconds: float) -> None:
        self.world.clock.pass_by(seconds)

    @rule(key=KEYS)
    def another_begins_an_attempt(self, key: str) -> None:
        """A second sweep claims and sends, and comes back later or never."""
        record = self.read(key)
        if record is not None:
            self.claim_and_send(record)

    def claim_and_send(self, record: Notification) -> None:
        deadline = self.world.deadline(INVOCATION)
        claimed = self.world.deliver().claim(self.world.channel, record, deadline)
        if claimed is not None and claimed.status in OPEN:
            self.attempted(claimed)
            self.slow.append((claimed, deadline))

    @precondition(lambda self: self.slow)
    @rule(outcome=OUTCOMES, which=st.integers(0, 9), faults=FAULTS)
    def another_ends_its_attempt(self, outcome: Outcome, which: int, faults: list[str]) -> None:
        """The second sweep settles, however late."""
        claimed, deadline = self.slow.pop(which % len(self.slow))
        before = self.store.ledger.get(claimed.key)
        ours = isinstance(before, Notification) and before.claimed_until == claimed.claimed_until
        ours = ours and id_of(before) == id_of(claimed)  # type: ignore[arg-type] # it is a notification
        if ours:
            self.ended(claimed, outcome)
        self.world.ledger.will(*faults)
        self.world.deliver().attempt(FakeChannel().will(outcome), Dispatch((claimed,)), deadline)
        self.world.ledger.plan.clear()
        assert ours or self.store.ledger.get(claimed.key) == before, "a lost claim was settled"

    @precondition(lambda self: self.slow)
    @rule()
    def another_dies(self) -> None:
        self.slow.pop()

    @rule(key=KEYS)
    def read_and_keep(self, key: str) -> None:
        record = self.read(key)
        if record is not None:
            self.readings.append(record)

    @precondition(lambda self: self.readings)
    @rule(which=st.integers(0, 9), what=st.sampled_from(["claim", "redrive", "cancel", "ask"]), finding=FINDINGS)
    def act_on_an_old_reading(self, which: int, what: str, finding: str | None) -> None:
        old, now = self.readings[which % len(self.readings)], self.world.clock.now
        match what:
            case "claim":
                self.claim_and_send(old)
                return
            case "redrive":
                after = lifecycle.redrive(old, now)
            case "cancel":
                after = lifecycle.cancel(old, now, POLICY, reason="withdrawn")
            case _:
                after = lifecycle.asked_again(old, request(finding_id=finding), now)
        if after is not None and after != old and self.store.ledger.replace(old, after) and what == "ask":
            self.asked[old.key] = now

    @rule(key=KEYS, what=st.sampled_from(["redrive", "redrive", "cancel"]))
    def operator_acts(self, key: str, what: str) -> None:
        if what == "redrive":
            self.world.operate(command="redrive", channel="ops", dedup_keys=[key])
            return
        record = self.read(key)
        after = record and lifecycle.cancel(record, self.world.clock.now, POLICY, reason="withdrawn")
        if record is not None and after is not None:
            self.store.ledger.replace(record, after)

    @rule(
        finding=st.sampled_from(["F1", "F2"]),
        status=st.sampled_from(["active", "resolved", "deleted"]),
        ago=st.sampled_from([0, 0.3, 5, 4000]),
    )
    def finding_changes(self, finding: str, status: str, ago: float) -> None:
        changed = self.world.clock.now - timedelta(seconds=ago)
        self.truth[finding] = max(self.truth.get(finding, (changed, False)), (changed, status == "active"))
        detail = {"finding_id": finding, "status": status, "changed_at": changed.isoformat()}
        self.world.retain().news(detail)

    @rule()
    def daily_pass(self) -> None:
        self.world.heal()

    @rule(what=st.sampled_from(["lag", "catch up", "hold", "document"]), until=st.sampled_from([30, 3600]))
    def something_rare(self, what: str, until: float) -> None:
        now, known = self.world.clock.now, self.world.channels.known
        match what:
            case "lag":
                self.world.memory.lag()
            case "catch up":
                self.world.memory.catch_up()
            case "hold":
                self.world.states.open("ops")
                self.world.states.hold("ops", Hold(now + timedelta(seconds=until), "operator"), now)
            case _ if known.pop("ops", None) is None:
                known["ops"] = self.world.channel

    @rule(key=KEYS)
    def dynamodb_deletes(self, key: str) -> None:
        record = self.read(key)
        if record is not None and record.expired(self.world.clock.now):
            self.forget(record.key)

    def forget(self, key: Key) -> None:
        memory_of = self.store.ledger
        memory_of.rows.pop(key)  # type: ignore[attr-defined] # the store in memory

    def read(self, key: str) -> Notification | None:
        row = self.store.ledger.get(Key("ops", key))
        return row if isinstance(row, Notification) else None

    # what must hold after every step

    @invariant()
    def all_is_as_promised(self) -> None:
        if self.violations:
            raise self.violations[0]
        for key in list(self.accepted):
            record = self.read(key.dedup_key)
            if record is None or record.expired(self.world.clock.now):
                self.accepted.discard(key)  # `forget` and the expiry are checked where they are set
                continue
            self.makes_sense(record)
            self.is_kept(record)
            if record.status is Status.RETRYING and record.claimed_until is None and id_of(record) in self.failed:
                wait = min(300 * 2 ** (record.attempt_count - 1), 1800)
                self.not_before[id_of(record)] = self.failed[id_of(record)] + timedelta(seconds=wait)

    def makes_sense(self, record: Notification) -> None:
        assert record.attempt_count <= POLICY.max_attempts
        assert (record.status in OPEN) == (record.next_attempt_at is not None)
        assert (record.status is Status.DEAD_LETTERED) == (record.dead_lettered_at is not None)
        assert record.status in OPEN or record.claimed_until is None
        assert (record.status is Status.SENT) == (record.sent_at is not None)
        assert record.status in FINAL or record.expires_at is None, "an open record can be forgotten"

    def is_kept(self, record: Notification) -> None:
        if record.finding_id is None or record.expires_at is None:
            return
        assert record.finding_id in self.truth, "forgotten though its finding is unknown"
        changed, active = self.truth[record.finding_id]
        assert not active, "forgotten though its finding is active"
        assert changed >= self.asked.get(record.key, changed), "forgotten though it was asked for again"

    def weather_clears(self) -> None:
        """Let everything work again: all that was accepted and not forgotten comes to an end."""
        self.world.memory.catch_up()
        self.world.channels.known["ops"] = self.world.channel
        self.outcomes = []
        for _ in range(3):
            self.world.clock.pass_by(86400)
            self.world.sweep()
            self.all_is_as_promised()
        for key in self.accepted:
            record = self.read(key.dedup_key)
            assert record is None or record.status in FINAL


class DynamoMachine(Machine):
    """Over the pynamodb store on moto. Its indexes do not lag."""

    def open_store(self) -> Store:
        return self.opened.enter_context(dynamo())

    @initialize()
    def begin(self) -> None:
        self.store.plant(Key("ops", "bad"), moments.to_epoch(at(0)), None)

    def forget(self, key: Key) -> None:
        keys = {"channel": {"S": key.channel}, "dedup_key": {"S": key.dedup_key}}
        self.store.client.delete_item(TableName="NotificationsTable", Key=keys)


CHECKS = [HealthCheck.too_slow, HealthCheck.filter_too_much]
ALIKE: dict[str, Any] = {"deadline": None, "derandomize": True, "database": None, "suppress_health_check": CHECKS}
Machine.TestCase.settings = settings(max_examples=120, stateful_step_count=50, **ALIKE)
DynamoMachine.TestCase.settings = settings(max_examples=8, stateful_step_count=40, **ALIKE)
TestOverMemory = pytest.mark.filterwarnings("error")(Machine.TestCase)
TestOverDynamo = pytest.mark.filterwarnings("error")(DynamoMachine.TestCase)
