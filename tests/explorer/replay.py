"""Use cases that stop at every operation on a port, and go on from there by being told again what they were told.

A use case is a function of the answers it gets and of the clock. So where it stands is the list of the answers so far:
to go on, it is run again from its beginning, answered from the list, and stopped at the first question that is not in
it. Nothing has to be kept alive between two operations, and any point can be returned to.
"""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from redeliver.core.notification import Key, Row
from redeliver.core.outcome import Outcome
from redeliver.core.policy import Policy
from redeliver.ports import Mode, Page, Unavailable
from tests.fakes import LOST, FakeChannel
from tests.stores import Store
from tests.world import World

Act = Callable[[World], object]


@dataclass(frozen=True, slots=True)
class Operation:
    """What an actor asks of a port."""

    port: str
    name: str
    args: tuple[Any, ...]

    @property
    def title(self) -> str:
        """Return its name as a person reads it."""
        return f"{self.port}.{self.name}"


@dataclass(frozen=True, slots=True)
class Fault:
    """The answer that never came: the write was not done, or it was and nobody says so."""

    what: str


@dataclass(frozen=True, slots=True)
class Step:
    """An operation, what came of it, and the actor's clock from there to the next one."""

    operation: Operation
    result: Any
    moment: datetime


@dataclass(frozen=True, slots=True)
class Ended:
    """An actor that has returned, or failed."""

    value: object


class Stopped(BaseException):
    """The actor has come to an operation that it has not been answered; no handler of the product's may catch it."""

    def __init__(self, operation: Operation) -> None:
        super().__init__(operation.title)
        self.operation = operation


class Strayed(BaseException):
    """The actor asked something else than when it was run before: it depends on more than its answers."""


@dataclass
class Prompter:
    """Answers what was asked before, and stops the actor at what was not."""

    trail: Sequence[Step] = ()
    world: World | None = None
    _told: int = 0

    def begin(self, trail: Sequence[Step]) -> None:
        """Begin anew with this list of answers."""
        self.trail, self._told = trail, 0

    def ask(self, port: str, name: str, *args: object) -> Any:
        """Return the answer, or raise it if it is a fault."""
        operation = Operation(port, name, tuple(tuple(a) if isinstance(a, list) else a for a in args))
        if self._told == len(self.trail):
            raise Stopped(operation)
        step = self.trail[self._told]
        if step.operation != operation:
            raise Strayed(f"{step.operation} became {operation}")
        self._told += 1
        assert self.world is not None
        self.world.clock.now = step.moment
        if isinstance(step.result, Fault):
            raise Unavailable(f"DynamoDB: {'done, but nobody says so' if step.result.what == LOST else 'not done'}")
        return step.result


@dataclass(frozen=True)
class Asked:
    """A port of which every call is an operation."""

    port: str
    prompter: Prompter

    def __getattr__(self, name: str) -> Callable[..., Any]:
        return lambda *args: self.prompter.ask(self.port, name, *args)

    def fetch(self, keys: Sequence[Key]) -> Sequence[Row]:
        """Read record by record: a batch read of DynamoDB's is consistent for each, and no snapshot of all."""
        return [row for key in dict.fromkeys(keys) for row in self.prompter.ask("lanes", "fetch", (key,))]


def stopping_world(prompter: Prompter, policy: Policy, mode: Mode) -> World:
    """Return the use cases over ports that ask the prompter."""
    ports: dict[str, Any] = {
        name: Asked(name, prompter) for name in ("ledger", "lanes", "states", "findings", "records")
    }

    def respond(dispatch: Any) -> Outcome:
        prompter.ask("channel", "deliver", dispatch)
        outcome: Outcome = prompter.ask("channel", "answer", dispatch)
        return outcome

    nobody: Any = None  # no operator's command line is among the actors
    store = Store(
        **ports,
        addresses=ports["states"],
        archive=nobody,
        register=nobody,
        holds=nobody,
        timeline=nobody,
        plant=lambda *item: None,
    )
    world = World(policy=policy, concurrency=1, store=store)
    world.channel = world.add_channel("ops", FakeChannel(mode=mode, respond=respond))
    prompter.world = world
    return world


@dataclass
class Actor:
    """One actor and every place it has been seen at; a place is the number of a list of answers, 0 the empty one."""

    name: str
    act: Act
    prompter: Prompter
    _trails: list[tuple[Step, ...]] = field(default_factory=lambda: [()])
    _numbers: dict[tuple[int, Any, datetime], int] = field(default_factory=dict)
    _next: dict[tuple[int, datetime], Operation | Ended] = field(default_factory=dict)

    def next(self, place: int, now: datetime) -> Operation | Ended:
        """Return what the actor asks next; it reads the clock at its first operation and after each."""
        trail = self._trails[place]
        at = (place, trail[-1].moment if trail else now)
        if at not in self._next:
            self._next[at] = self._replay(trail, trail[0].moment if trail else now)
        return self._next[at]

    def told(self, place: int, operation: Operation, result: Any, now: datetime) -> int:
        """Return the place behind an operation."""
        at = (place, result, now)
        if at not in self._numbers:
            self._numbers[at] = len(self._trails)
            self._trails.append((*self._trails[place], Step(operation, result, now)))
        return self._numbers[at]

    def begun(self, place: int, now: datetime) -> datetime:
        """Return when the actor began; `now` if it has not."""
        return self._trails[place][0].moment if place else now

    def _replay(self, trail: tuple[Step, ...], began: datetime) -> Operation | Ended:
        world = self.prompter.world
        assert world is not None
        world.clock.now = began
        self.prompter.begin(trail)
        try:
            return Ended(self.act(world))
        except Stopped as stopped:
            return stopped.operation
        except Exception as error:  # noqa: BLE001 - how an actor ends is for `watch` to judge
            return Ended(error)


def kept(value: Any) -> Any:
    """Return a result that stays as it is: answers are given again and again."""
    if isinstance(value, Page):
        return Page(tuple(value.rows), value.after)
    if isinstance(value, Iterable) and not isinstance(value, str):
        return tuple(map(kept, value))
    return value
