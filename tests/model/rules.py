"""What may happen, in any order: the ways in, sweeps, other actors, weather."""

from collections.abc import Callable, Mapping
from datetime import timedelta
from typing import Any

from hypothesis import strategies as st
from hypothesis.stateful import precondition, rule

from redeliver.core import lifecycle, moments
from redeliver.core.hold import OPERATOR, Hold
from redeliver.core.notification import Key
from redeliver.core.outcome import Outcome
from tests.builders import raw
from tests.model.book import POLICY
from tests.model.machine import DAILY, DOWN, KEYS, LEFT, OPS, OUTCOMES, SECONDS, System
from tests.model.process import NONE, Trouble, troubles

OTHERS = ("sweep", "ask", "claim", "redrive", "active", "resolved", "hold")
IN_SEND, IN_SWEEP = troubles(7, OTHERS), troubles(20, OTHERS)
FINDINGS = st.sampled_from([None, "F1", "F1", "F2"])
MORE = st.sampled_from(
    [
        *[{}] * 12,
        {"recipient": "42"},
        {"recipient": "42"},
        {"suppress": "seen"},
        {"deliver_by": 200},
        {"deliver_by": -1},
    ]
)


class Happens(System):
    """The rules, but for those about findings."""

    def __init__(self) -> None:
        super().__init__()
        self.lags_since = self.world.clock.now
        self.focus = OPS[0]  # what those who interfere have to do with

    def others(self) -> dict[str, Callable[[], Any]]:
        return {
            "sweep": self.sweep_once,
            "ask": lambda: self.ask(raw(dedup_key=self.focus.dedup_key, finding_id="F1")),
            "redrive": lambda: self.operator_redrives(self.focus),
            "hold": lambda: self.hold(3600),
        }

    # the ways in

    @rule(key=KEYS, finding=FINDINGS, more=MORE, trouble=IN_SEND, outcome=OUTCOMES, left=LEFT, warm=st.booleans())
    def accept(
        self,
        key: Key,
        finding: str | None,
        more: dict[str, Any],
        trouble: Trouble,
        outcome: Outcome,
        left: int,
        warm: bool,
    ) -> None:
        fields = dict(more)
        if "deliver_by" in fields:
            fields["deliver_by"] = (self.world.clock.now + timedelta(seconds=fields["deliver_by"])).isoformat()
        self.outcomes = [outcome]
        self.ask(raw(channel=key.channel, dedup_key=key.dedup_key, finding_id=finding, **fields), trouble, left, warm)

    def ask(self, fields: dict[str, object], trouble: Trouble = NONE, left: int = 60, warm: bool = False) -> None:
        accept = self.world.accept if warm else self.world.new_accept()
        with self.a_process(trouble, left) as process:
            asked = self.world.clock()
            answer = accept(fields, self.world.deadline(timedelta(seconds=left)))
            assert answer.result != "invalid"
            key = Key(str(answer.channel), str(answer.dedup_key))
            assert self.read(key) is not None, "accepted, and not there"
            if fields.get("finding_id") is not None or answer.result != "duplicate":
                self.book.asked[key] = max(moments.text_of(asked), self.book.asked.get(key, ""))
        self.checked(process)

    @rule(trouble=IN_SEND, which=st.integers(0, 9))
    @precondition(lambda self: self.queue.asked)
    def the_queue_brings_what_retention_asked_for(self, trouble: Trouble, which: int) -> None:
        self.bring(self.queue.asked[which % len(self.queue.asked)], trouble)

    def bring(self, fields: Mapping[str, object], trouble: Trouble = NONE) -> None:
        key = Key(str(fields["channel"]), str(fields["dedup_key"]))
        if key not in self.keys:
            self.keys.append(key)
        self.ask(dict(fields), trouble)

    # sweeps

    @rule(trouble=IN_SWEEP, after=SECONDS, outcomes=st.lists(OUTCOMES, min_size=2, max_size=3), left=LEFT)
    def sweep(self, trouble: Trouble, after: float, outcomes: list[Outcome], left: int) -> None:
        self.world.clock.pass_by(after)
        self.outcomes = outcomes
        self.sweep_once(trouble, left)

    @rule(after=SECONDS)
    def a_sweep_is_killed_with_all_that_is_in_flight(self, after: float) -> None:
        self.world.clock.pass_by(after)
        self.lethal = True
        self.sweep_once(concurrency=3)
        self.lethal = False

    @rule(
        weather=st.sampled_from([DOWN, DOWN, None]),
        finding=FINDINGS,
        after=st.sampled_from([0, 400]),
        minutes=st.integers(1, 12),
    )
    def a_busy_time(self, weather: Outcome | None, finding: str | None, after: float, minutes: int) -> None:
        """Much arrives, and the schedule sweeps every minute, while all is well or the endpoint is down."""
        self.weather = weather
        for key in (*OPS, *DAILY):
            self.ask(raw(channel=key.channel, dedup_key=key.dedup_key, finding_id=finding))
        self.world.clock.pass_by(after)
        for _ in range(minutes):
            self.sweep_once()
            self.world.clock.pass_by(60)
        self.weather = None

    @rule(seconds=SECONDS)
    def time_passes(self, seconds: float) -> None:
        self.world.clock.pass_by(seconds)

    # operators and the weather

    @rule(key=KEYS, trouble=troubles(3))
    def an_operator_redrives(self, key: Key, trouble: Trouble) -> None:
        self.operator_redrives(key, trouble)

    def operator_redrives(self, key: Key, trouble: Trouble = NONE) -> None:
        with self.a_process(trouble):
            self.world.operate(command="redrive", channel=key.channel, dedup_keys=[key.dedup_key])

    @rule(key=KEYS)
    def an_operator_cancels(self, key: Key) -> None:
        self.cancel(key)

    def cancel(self, key: Key) -> None:
        record = self.read(key)
        after = record and lifecycle.cancel(record, self.world.clock.now, POLICY, reason="withdrawn")
        if record is not None and after is not None:
            self.store.ledger.replace(record, after)

    @rule(until=st.sampled_from([None, 30, 3600]))
    def an_operator_holds_or_releases(self, until: float | None) -> None:
        self.hold(until)

    def hold(self, until: float | None) -> None:
        states, now = self.store.states, self.world.clock.now
        state = states.open("ops")
        if until is None:
            states.free(state, 0)
            self.held.pop("ops", None)
        else:
            states.hold("ops", Hold(moments.ceil(now + timedelta(seconds=until)), OPERATOR), now)

    @rule(what=st.sampled_from(["lag", "catch up", "document", "max_age"]), age=st.sampled_from([None, 1000, 7200]))
    def something_rare(self, what: str, age: float | None) -> None:
        known = self.documents.known
        match what:
            case "lag":
                self.world.memory.lag()
                self.lags_since = self.world.clock.now
            case "catch up":
                self.world.memory.catch_up()
            case "document" if known.pop("ops", None) is None:
                known["ops"] = self.world.channel
            case "max_age":
                self.name_an_age(None if age is None else timedelta(seconds=age))

    def name_an_age(self, age: timedelta | None) -> None:
        for channel in (self.world.channel, self.daily):
            channel.max_age = age
        self.book.oldest_wanted = min(filter(None, (age, self.book.oldest_wanted)), default=None)

    @rule(key=KEYS)
    def dynamodb_deletes(self, key: Key) -> None:
        record = self.read(key)
        if record is not None and record.expired(self.world.clock.now):
            self.forget(record.key)

    def forget(self, key: Key) -> None:
        self.store.ledger.rows.pop(key)  # type: ignore[attr-defined] # the store in memory
