"""The use cases over the fakes, wired once: a test says what happens and looks at what came of it."""

from dataclasses import dataclass, field
from datetime import timedelta

from redeliver.accept import Accept, Answer
from redeliver.core.notification import Key, Notification
from redeliver.core.policy import Policy
from redeliver.deliver import Deliver
from redeliver.operator.commands import Operate
from redeliver.ports import ChannelStates, FindingRecords, Findings, Lanes, Ledger
from redeliver.retain import Report as Kept
from redeliver.retain import Retain
from redeliver.sweep import Sweep
from redeliver.tally import Report
from tests.builders import NOW, raw
from tests.fakes import (
    Clock,
    FakeChannel,
    FakeChannels,
    FakeDeadLetterQueue,
    FakeRequests,
    FaultyLedger,
    RecordingTelemetry,
    Until,
)
from tests.memory import MemoryFindings, MemoryNotifications, MemoryStates
from tests.stores import Store

INVOCATION = timedelta(seconds=60)


@dataclass
class World:
    """Everything of one test; the channel `ops` is immediate."""

    policy: Policy = field(default_factory=Policy)
    max_records: int = 500
    concurrency: int = 4
    store: Store | None = None
    clock: Clock = field(default_factory=Clock)
    telemetry: RecordingTelemetry = field(default_factory=RecordingTelemetry)
    channels: FakeChannels = field(default_factory=FakeChannels)
    requests: FakeRequests = field(default_factory=FakeRequests)
    refused: FakeDeadLetterQueue = field(default_factory=FakeDeadLetterQueue)
    pauses: list[float] = field(default_factory=list)
    memory: MemoryNotifications = field(init=False)
    known: MemoryFindings = field(default_factory=MemoryFindings)
    rows: MemoryStates = field(default_factory=MemoryStates)

    def __post_init__(self) -> None:
        self.memory = MemoryNotifications(self.known)
        store = self.store
        self.lanes: Lanes = store.lanes if store else self.memory
        self.states: ChannelStates = store.states if store else self.rows
        self.findings: Findings = store.findings if store else self.known
        self.records: FindingRecords = store.records if store else self.memory
        real: Ledger = store.ledger if store else self.memory
        self.ledger = FaultyLedger(real)
        self.channel = self.add_channel("ops")
        self.accept = self.new_accept()

    def add_channel(self, name: str, channel: FakeChannel | None = None) -> FakeChannel:
        """Configure a channel."""
        self.channels.known[name] = made = channel or FakeChannel()
        return made

    def deliver(self) -> Deliver:
        """Return the use case of one attempt."""
        return Deliver(
            ledger=self.ledger,
            telemetry=self.telemetry,
            policy=self.policy,
            clock=self.clock,
            chance=lambda: 0.5,
            pause=self._pause,
        )

    def _pause(self, seconds: float) -> None:
        self.pauses.append(seconds)
        self.clock.pass_by(seconds)

    def new_accept(self) -> Accept:
        """Return what a new container of `send` has."""
        return Accept(
            ledger=self.ledger,
            channels=self.channels,
            states=self.states,
            deliver=self.deliver(),
            telemetry=self.telemetry,
            clock=self.clock,
        )

    def deadline(self, left: timedelta = INVOCATION) -> Until:
        """Return the end of an invocation that begins now."""
        return Until(self.clock, self.clock.now + left)

    def send(self, *, left: timedelta = INVOCATION, **changes: object) -> Answer:
        """Ask for a notification."""
        return self.accept(raw(**changes), self.deadline(left))

    def sweep(self, after: float = 0, left: timedelta = INVOCATION) -> Report:
        """Run a sweep so many seconds from now."""
        self.clock.pass_by(after)
        sweep = Sweep(
            ledger=self.ledger,
            lanes=self.lanes,
            channels=self.channels,
            states=self.states,
            deliver=self.deliver(),
            telemetry=self.telemetry,
            clock=self.clock,
            max_records=self.max_records,
            concurrency=self.concurrency,
            recheck=timedelta(minutes=15),
        )
        return sweep(self.deadline(left))

    def operate(self, **command: object) -> dict[str, object]:
        """Carry out a command."""
        operate = Operate(
            ledger=self.ledger, lanes=self.lanes, states=self.states, telemetry=self.telemetry, clock=self.clock
        )
        return operate(command)

    def retain(self) -> Retain:
        """Return the use case of retention."""
        return Retain(
            ledger=self.ledger,
            findings=self.findings,
            records=self.records,
            requests=self.requests,
            telemetry=self.telemetry,
            clock=self.clock,
            retention=self.policy.retention,
        )

    def news(
        self, status: str, changed: float | None = None, finding_id: str = "CVE-1", left: timedelta = INVOCATION
    ) -> Kept:
        """Take in that a finding changed, by default just now."""
        moment = self.clock.now if changed is None else NOW + timedelta(seconds=changed)
        detail = {"finding_id": finding_id, "status": status, "changed_at": moment.isoformat()}
        return self.retain().news(detail, self.deadline(left))

    def heal(self, after: float = 0, left: timedelta = INVOCATION) -> Kept:
        """Run the daily pass."""
        self.clock.pass_by(after)
        return self.retain().heal(self.deadline(left))

    def put(self, *records: Notification) -> None:
        """Store records as they are."""
        for one in records:
            assert self.ledger.add(one, self.clock.now)
            self.states.open(one.channel)

    def get(self, dedup_key: str = "k1", channel: str = "ops") -> Notification:
        """Return what is stored of a notification."""
        row = self.ledger.get(Key(channel, dedup_key))
        assert isinstance(row, Notification)
        return row

    def has(self, dedup_key: str = "k1", channel: str = "ops") -> bool:
        """Tell whether a notification is stored and not past its expiry."""
        row = self.ledger.get(Key(channel, dedup_key))
        return isinstance(row, Notification) and not row.expired(self.clock.now)
