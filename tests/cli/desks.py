"""The command line over the use cases and the store in memory: the real functions' work without AWS."""

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from click.testing import CliRunner, Result

from redeliver import intake
from redeliver.ports import NotConfigured, Unavailable
from redeliver.settings import Settings, read
from redeliver_cli.desk import Desk, Unreachable, Where
from redeliver_cli.program import main
from tests.world import World

HOOK = {
    "type": "webhook",
    "url": "https://example.com/hooks/secret-path",
    "secret": "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw",
}


@dataclass
class MemoryDocuments:
    """Channel documents in memory: port Documents."""

    stored: dict[str, object] = field(default_factory=lambda: {"ops": HOOK})
    down: bool = False
    longest_seconds: float = 0.0

    def fetch(self, name: str) -> object:
        """Return a document."""
        if self.down:
            raise Unavailable("SSM answered AccessDeniedException for the channel")
        return self.stored.get(name, NotConfigured(f"there is no SSM parameter /redeliver/dev/channels/{name}"))

    def names(self) -> Sequence[str]:
        """Return the names."""
        return sorted(self.stored)


@dataclass
class WorldFunctions:
    """`send` and `retention` over the use cases: port Functions; `between` is what happens while one runs."""

    world: World
    calls: list[tuple[str, Any]] = field(default_factory=list)
    fails: str | None = None

    def call(self, function: str, event: Any) -> Any:
        """Return what the function would."""
        self.calls.append((function, event))
        if self.fails is not None:
            raise Unreachable(f"{function} failed: {self.fails}; see its log")
        event = json.loads(json.dumps(event))  # as it travels
        if function == "SendFunction":
            return json.loads(
                json.dumps(intake.direct(self.world.accept, event, self.world.refused, self.world.deadline()))
            )
        return self.world.retain().news(event["detail"], self.world.deadline()).as_json()


@dataclass
class Counted:
    """What was delivered, by channel: port Deliveries."""

    sent: Mapping[str, int] = field(default_factory=dict)

    def in_the_last_hour(self, channel: str, now: datetime) -> int | None:
        """Return the number."""
        return self.sent.get(channel)


@dataclass
class Person:
    """Somebody with a terminal, a stack, and what they typed."""

    world: World = field(default_factory=World)
    documents: MemoryDocuments = field(default_factory=MemoryDocuments)
    deliveries: Counted = field(default_factory=Counted)
    where: list[Where] = field(default_factory=list)
    while_waiting: Callable[[], object] = lambda: None

    def __post_init__(self) -> None:
        self.functions = WorldFunctions(self.world)

    def open(self, where: Where) -> Desk:
        """Return the desk over the world."""
        self.where.append(where)
        return Desk(
            settings=self.settings(),
            ledger=self.world.ledger,
            lanes=self.world.lanes,
            archive=self.world.memory,
            register=self.world.known,
            states=self.world.rows,
            holds=self.world.rows,
            deliveries=self.deliveries,
            documents=self.documents,
            functions=self.functions,
            clock=self.world.clock,
            pause=self._pause,
        )

    def settings(self) -> Settings:
        """Return what the sweeper's environment says."""
        return read({"NOTIFICATIONS_TABLE": "notifications", "STAGE": "dev"})

    def _pause(self, seconds: float) -> None:
        self.world.clock.pass_by(seconds)
        self.while_waiting()

    def types(self, *words: str, given: str | None = None) -> Result:
        """Return what a command line comes to."""
        return CliRunner().invoke(main, words, input=given, obj=self.open)

    def asks(self, *words: str, code: int = 0) -> Any:
        """Return the JSON document that a command answers with; its exit code has to be as expected."""
        result = self.types(*words, "--json")
        assert result.exit_code == code, result.output
        return json.loads(result.stdout)
