"""The system under any weather: its processes one at a time, each interrupted between any two of its operations."""

import threading
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from datetime import timedelta
from typing import Any, cast

from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant

from redeliver.core import moments
from redeliver.core.notification import EXPIRED, FINAL, OPEN, Dispatch, Key, Notification, Status
from redeliver.core.outcome import Delivered, Gone, Outcome, Reject, Retry
from redeliver.ports import ChannelState, Mode, Unavailable
from tests.builders import NOW
from tests.fakes import FakeChannel
from tests.memory import MemoryNotifications
from tests.model.book import POLICY, Book, Rows, behaved, ends_in_time, not_shortened, recovered, too_old
from tests.model.process import NONE, Killed, Process, Room, Sent, Trouble
from tests.stores import Store, memory
from tests.world import INVOCATION, World

ATTEMPT = timedelta(seconds=10)  # may take as long, with its requests
RESOLVE = '{"event_action":"resolve","dedup_key":"alert"}'
OPS = [Key("ops", f"k{number}") for number in range(1, 7)]
DAILY = [Key("daily", f"k{number}") for number in range(1, 4)]
KEYS = st.sampled_from([OPS[0], OPS[0], OPS[0], OPS[1], OPS[1], *OPS[2:], *DAILY])
BASES = [300, 300, 0]  # seconds of the first backoff
LEFT = st.sampled_from([60, 60, 60, 60, 13, 5])
SECONDS = st.sampled_from([0, 0.4, 1, 30, 61, 65, 300, 300, 600, 600, 1800, 1800, 86400, 3 * 86400])
LONGEST_HOLD = 24 * 3600 + 5
DOWN = Retry("http_500", "x")
ALERT = Delivered(resolve_with=RESOLVE)
OUTCOMES: st.SearchStrategy[Outcome] = st.sampled_from(
    [
        Delivered(),
        ALERT,
        DOWN,
        DOWN,
        DOWN,
        Retry("timeout", "x", maybe_delivered=True),
        Retry("http_429", "x", timedelta(seconds=90)),
        Reject("too_long", "x"),
        Gone("http_410", "x"),
    ]
)


class System(RuleBasedStateMachine):
    """Two channels over a store, everything that was seen of them, and what must hold after every step."""

    def __init__(self) -> None:
        super().__init__()
        self.opened = ExitStack()
        self.store = self.open_store()
        self.world = World(policy=POLICY, concurrency=1, store=self.store)
        if isinstance(self.store.ledger, MemoryNotifications):
            self.world.memory = self.store.ledger
        self.room, self.book = Room(), Book()
        self.documents, self.queue = self.world.channels, self.world.requests
        self.daily = self.world.add_channel("daily", FakeChannel(mode=Mode.DIGEST, capacity=12))
        self.world.channel.respond = self.daily.respond = self.respond
        for name in ("ledger", "lanes", "states", "findings", "records", "channels", "requests"):
            port = self.store.ledger if name == "ledger" else getattr(self.world, name)
            setattr(self.world, name, self.room.over(port))
        self.keys = [*OPS, *DAILY]
        self.rows: Rows = {}
        self.outcomes: list[Outcome] = []
        self.weather: Outcome | None = None
        self.lethal = False
        self.probed: list[ChannelState] = []
        self.held: dict[str, ChannelState] = {}  # the channels' rows after the last step
        self.lock = threading.Lock()
        self.violations: list[AssertionError] = []

    def open_store(self) -> Store:
        return self.opened.enter_context(memory())

    def teardown(self) -> None:
        try:
            self.weather_clears()
        finally:
            self.opened.close()

    @initialize(base=st.sampled_from(BASES))
    def begin(self, base: int) -> None:
        self.book.base = timedelta(seconds=base)
        self.world.policy = replace(POLICY, base_delay=self.book.base)
        self.world.accept = self.world.new_accept()
        self.store.plant(Key("ops", "bad"), moments.to_epoch(NOW), None)
        self.store.states.open("ops")

    # processes

    @contextmanager
    def a_process(self, trouble: Trouble, left: float = INVOCATION.total_seconds()) -> Iterator[Process]:
        """Run one invocation inside whichever runs already; it may end before its work does."""
        clock, outer, off = self.world.clock, self.room.current, self.world.clock.off
        clock.off = timedelta(seconds=trouble.off)
        process = Process(trouble, clock(), clock.now + timedelta(seconds=left), self.interfere)
        self.room.current = process
        try:
            yield process
        except (Killed, Unavailable):
            process.over = True
        except AssertionError as error:  # a sweep around it would take it for an error of ours
            self.violations.append(error)
        finally:
            self.room.current, clock.off = outer, off

    def interfere(self, what: str) -> None:
        """Let somebody else do something, between two operations of a process."""
        actions: dict[str, Callable[[], Any]] = self.others()
        actions[what]()

    def others(self) -> dict[str, Callable[[], Any]]:
        return {"sweep": self.sweep_once}

    def respond(self, dispatch: Dispatch) -> Outcome:
        """Answer a request; the process may die before it leaves, or with it."""
        process = cast(Process, self.room.current)
        process.may_die()
        with self.lock:
            self.note_attempt(dispatch, process)
        if self.lethal:
            raise Killed
        outcome = self.weather or (self.outcomes.pop() if self.outcomes else ALERT)
        process.may_die()
        process.did[-1] = Sent(dispatch, outcome)
        if not (isinstance(outcome, Reject) and len(dispatch.members) > 1):  # else the guilty are yet to be found
            for member in dispatch.members:
                self.book.ended(member, outcome, self.world.clock())
        return outcome

    def note_attempt(self, dispatch: Dispatch, process: Process) -> None:
        clock, channel = self.world.clock, self.channel_of(dispatch.channel)
        process.did.append(Sent(dispatch, None))
        for member in dispatch.members:
            try:
                assert not too_old(member, channel, clock()), "attempted though nobody wants it any more"
                assert process.ends - clock.now >= ATTEMPT, "attempted with no time left for it"
                stored = self.store.ledger.get(member.key)
                self.book.attempted(member, stored, clock(), clock.now, process.ends, digest=dispatch.digest)
            except AssertionError as error:  # a sweep isolates it, as it does every error of a channel
                self.violations.append(error)

    def channel_of(self, name: str) -> FakeChannel:
        return self.daily if name == "daily" else self.world.channel

    def sweep_once(self, trouble: Trouble = NONE, left: float = 60, concurrency: int = 1) -> Process:
        self.world.concurrency = concurrency
        with self.a_process(trouble, left) as process:
            self.world.sweep(left=timedelta(seconds=left))
        self.world.concurrency = 1
        self.checked(process)
        return process

    def checked(self, process: Process) -> None:
        try:
            behaved(process)
            if process.undisturbed and process.trouble.other is None:
                recovered(process, self.store.states.all())
            for state in process.took:
                assert state not in self.probed, "two took a channel for the same probe"
                self.probed.append(state)
        except AssertionError as error:
            self.violations.append(error)

    # what must hold after every step

    def read(self, key: Key) -> Notification | None:
        row = self.store.ledger.get(key)
        return row if isinstance(row, Notification) else None

    @invariant()
    def all_is_as_promised(self) -> None:
        if self.violations:
            raise self.violations[0]
        now = self.world.clock.now
        found = [row for row in self.store.lanes.fetch(self.keys) if isinstance(row, Notification)]
        self.rows = {row.key: row for row in found if not row.expired(now)}
        self.book.check(self.rows)
        states = self.store.states.all()
        ends_in_time(states, now)
        not_shortened(self.held, states, now)
        self.held = {state.channel: state for state in states}

    def weather_clears(self) -> None:
        """Let everything work again: whatever was stored and not forgotten comes to an end."""
        self.world.memory.catch_up()
        self.documents.known |= {"ops": self.world.channel, "daily": self.daily}
        self.queue.down, self.weather, self.lethal, self.outcomes = False, None, False, []
        self.world.clock.pass_by(LONGEST_HOLD)
        self.all_is_as_promised()
        late = [record.key for record in self.rows.values() if self.is_late(record)]
        for _ in range(2):
            self.sweep_once()
            self.all_is_as_promised()
            self.world.clock.pass_by(60)
        assert all(record.status in FINAL for record in self.rows.values()), "not at its end"
        for record in map(self.read, late):
            assert record is not None
            assert (record.status, record.last_reason) == (Status.DEAD_LETTERED, EXPIRED)

    def is_late(self, record: Notification) -> bool:
        old = too_old(record, self.channel_of(record.channel), self.world.clock.now)
        return old and record.status in OPEN and record.attempt_count < POLICY.max_attempts
