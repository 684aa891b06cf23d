"""Others who do the same at the same time: second sweeps, and whoever acts on what it read some time ago."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import timedelta
from functools import partial
from typing import Any

from hypothesis import strategies as st
from hypothesis.stateful import precondition, rule

from redeliver.core import lifecycle, moments
from redeliver.core.notification import OPEN, Dispatch, Key, Notification, Status
from redeliver.core.outcome import Delivered, Outcome, Reject
from tests.builders import raw, request
from tests.fakes import FakeChannel, Until
from tests.model.book import POLICY, id_of
from tests.model.machine import ALERT, DOWN, KEYS, OPS, OUTCOMES
from tests.model.process import NONE, OFF, Trouble, troubles
from tests.model.rules import FINDINGS, Happens
from tests.world import INVOCATION

SCRIPTS = [("refuses", "redrive"), ("fails",), ("resolved",), ("ask",)]
MEANWHILE: st.SearchStrategy[Sequence[str]] = st.sampled_from(SCRIPTS) | st.lists(
    st.sampled_from(["delivers", "fails", "refuses", "redrive", "cancel", "ask", "claim", "active", "resolved"]),
    max_size=4,
)
ACTS = st.sampled_from(["claim", "redrive", "cancel", "ask"])


@dataclass(frozen=True)
class Race:
    """What happens to a new record, within one second, before and after somebody reads it, and what they then do."""

    outcome: Outcome
    finding: str | None
    late: bool
    age: float
    before: Sequence[str]
    meanwhile: Sequence[str]
    what: int  # of what can be done at all
    named: str | None


RACES = st.builds(
    Race,
    outcome=st.sampled_from([DOWN, DOWN, Reject("too_long", "x"), ALERT]),
    finding=FINDINGS,
    late=st.sampled_from([False, False, False, True]),
    age=st.sampled_from([0, 0, 0.4, 300, 86400]),
    before=st.sampled_from([(), (), ("redrive",), ("resolved",)]),
    meanwhile=MEANWHILE,
    what=st.integers(0, 5),
    named=FINDINGS,
)


class Rivals(Happens):
    """The rules about them."""

    def __init__(self) -> None:
        super().__init__()
        self.slow: list[tuple[Notification, Until]] = []
        self.readings: list[Notification] = []

    def others(self) -> dict[str, Callable[[], Any]]:
        answers: dict[str, Outcome] = {"delivers": Delivered(), "fails": DOWN, "refuses": Reject("too_long", "x")}
        return {
            **super().others(),
            **{name: partial(self.sweep_with, outcome) for name, outcome in answers.items()},
            "claim": lambda: self.another_claims(self.focus),
            "cancel": lambda: self.cancel(self.focus),
        }

    def sweep_with(self, outcome: Outcome) -> None:
        self.outcomes = [outcome]
        self.sweep_once()

    @rule(key=KEYS, trouble=troubles(3))
    def another_begins_an_attempt(self, key: Key, trouble: Trouble) -> None:
        """A second sweep claims and sends, and comes back later or never."""
        self.another_claims(key, trouble)

    def another_claims(self, key: Key, trouble: Trouble = NONE) -> None:
        record = self.read(key)
        if record is not None:
            self.claim_and_send(record, trouble)

    def claim_and_send(self, record: Notification, trouble: Trouble = NONE) -> None:
        deadline = self.world.deadline(INVOCATION)
        with self.a_process(trouble) as process:
            claimed = self.world.deliver().claim(self.channel_of(record.channel), record, deadline)
            if claimed is not None and claimed.status in OPEN:
                self.note_attempt(Dispatch((claimed,)), process)
                self.slow.append((claimed, deadline))

    @precondition(lambda self: self.slow)
    @rule(outcome=OUTCOMES, which=st.integers(0, 9), trouble=troubles(4))
    def another_ends_its_attempt(self, outcome: Outcome, which: int, trouble: Trouble) -> None:
        """The second sweep settles, however late."""
        claimed, deadline = self.slow.pop(which % len(self.slow))
        before = self.read(claimed.key)
        ours = before is not None and before.claimed_until == claimed.claimed_until
        ours = ours and before is not None and id_of(before) == id_of(claimed)
        with self.a_process(trouble):
            if ours:
                self.book.ended(claimed, outcome, self.world.clock())
            self.world.deliver().attempt(FakeChannel().will(outcome), Dispatch((claimed,)), deadline)
        assert ours or self.read(claimed.key) == before, "a lost claim was settled"

    @rule(key=KEYS, seconds=st.sampled_from([0, 30, 59, 59, 64, 66]), off=st.sampled_from([OFF, -OFF]))
    def a_sweep_comes_while_another_is_at_it(self, key: Key, seconds: float, off: float) -> None:
        """Before or after its invocation, or its lease, is over; each by a clock of its own."""
        self.another_claims(key, Trouble(off=-off))
        self.world.clock.pass_by(seconds)
        self.sweep_once(Trouble(off=off))

    @precondition(lambda self: self.slow)
    @rule()
    def another_dies(self) -> None:
        self.slow.pop()

    @rule(key=KEYS)
    def read_and_keep(self, key: Key) -> None:
        record = self.read(key)
        if record is not None:
            self.readings.append(record)

    @precondition(lambda self: self.readings)
    @rule(which=st.integers(0, 9), what=ACTS, finding=FINDINGS)
    def act_on_an_old_reading(self, which: int, what: str, finding: str | None) -> None:
        self.act(self.readings[which % len(self.readings)], what, finding)

    @rule(race=RACES)
    def much_happens_between_reading_and_writing(self, race: Race) -> None:
        self.focus = Key("ops", f"raced {len(self.keys)}")
        self.keys.append(self.focus)
        self.outcomes = [race.outcome]
        deliver_by = (self.world.clock.now - timedelta(seconds=1)).isoformat() if race.late else None
        self.ask(raw(dedup_key=self.focus.dedup_key, finding_id=race.finding, deliver_by=deliver_by))
        self.world.clock.pass_by(race.age)
        for each in race.before:
            self.interfere(each)
        record = self.read(self.focus)
        for each in race.meanwhile:
            self.interfere(each)
        if record is not None:
            possible = {**dict.fromkeys(OPEN, ("claim", "cancel", "ask")), Status.DEAD_LETTERED: ("redrive", "ask")}
            acts = possible.get(record.status, ("ask",))
            self.act(record, acts[race.what % len(acts)], race.named)
        self.focus = OPS[0]

    def act(self, old: Notification, what: str, finding: str | None) -> None:
        now = self.world.clock.now
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
            self.book.asked[old.key] = moments.text_of(now)
