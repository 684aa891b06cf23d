"""Every schedule of a case: who goes on, who dies, when time passes, what the endpoint answers.

Two schedules that lead to the same point (the same tables, clock and history, and each actor told the same so far) have
the same future, so that each point is gone on from once. Points are taken in the order of their distance from the
beginning: the interleaving that is named is a shortest one.
"""

from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Generic, NamedTuple, TypeVar

from redeliver.core.notification import Notification
from tests.builders import at
from tests.explorer.case import Case
from tests.explorer.ending import Ending, prepared
from tests.explorer.listing import DIES_AFTER, DIES_BEFORE, Line, listing
from tests.explorer.replay import Actor, Ended, Fault, Operation, Prompter, stopping_world
from tests.explorer.seen import End, Event, Seen, Violation
from tests.explorer.stage import Facts
from tests.explorer.watch import Watch
from tests.fakes import LOST, REFUSED

Thing = TypeVar("Thing")
BEGIN = at(0.5)  # between two whole seconds: what is rounded shows
ENDED, DEAD = -1, -2
SENDS = "channel.deliver"
WRITES = frozenset(
    {"ledger.add", "ledger.replace", "ledger.park", "records.stamp", "records.release", "findings.put"}
    | {"findings.settle", "states.hold", "states.probe", "states.free"}
)


class Point(NamedTuple):
    """Where a schedule has come to; `facts` and `seen` by their numbers, which compare faster than they do."""

    facts: int
    seen: int
    places: tuple[int, ...]
    now: datetime
    time_left: bool
    faults_left: int


class Register(Generic[Thing]):
    """Things that are equal under one number: told apart once, and compared by it ever after."""

    def __init__(self) -> None:
        self._numbers: dict[Thing, int] = {}
        self._things: list[Thing] = []

    def __getitem__(self, number: int) -> Thing:
        return self._things[number]

    def number(self, thing: Thing) -> int:
        """Return the number of a thing."""
        number = self._numbers.setdefault(thing, len(self._things))
        if number == len(self._things):
            self._things.append(thing)
        return number


@dataclass(frozen=True, slots=True)
class Found:
    """What was explored: points, the schedules they stand for, the steps of the longest, and how many points end it."""

    points: int
    schedules: int
    longest: int
    ends: int


class Broken(AssertionError):
    """A schedule breaks a rule; the message is its listing."""


Move = tuple[Line, Point]


class Search:
    """The search through one case."""

    def __init__(self, case: Case, *, merging: bool = True) -> None:
        """Begin; without `merging` points are told apart by the way to them, and each schedule is run by itself."""
        self._case = case
        self._merging = merging
        self._stage = case.stage()
        prompter = Prompter()
        stopping_world(prompter, case.policy, case.mode)
        self._actors = [Actor(name, act, prompter) for name, act in case.actors.items()]
        facts = prepared(case, self._stage, BEGIN)
        self._watch = Watch(case.policy, facts)
        self._ending = Ending(case, facts, self._watch)
        self._facts, self._seen = Register[Facts](), Register[Seen]()
        self._done: dict[tuple[int, int, int, datetime], tuple[Any, int]] = {}
        known = (self._facts.number(facts), self._seen.number(self._watch.begin()))
        first = Point(*known, (0,) * len(self._actors), BEGIN, case.passes is not None, case.faults)
        self._points = [first]
        self._numbers = {first: 0}
        self._came: list[tuple[int, Line] | None] = [None]
        self._onward: list[list[int]] = []

    def run(self) -> Found:
        """Try every schedule; raises Broken at the first that breaks a rule."""
        waiting, ends = deque([0]), 0
        while waiting:
            number = waiting.popleft()
            onward = [self._number(number, line, point, waiting) for line, point in self._moves(number)]
            self._onward.append(onward)
            if not onward:
                ends += 1
                self._end(number)
        return self._found(ends)

    def _number(self, before: int, line: Line, point: Point, waiting: deque[int]) -> int:
        fresh = len(self._points)
        known = self._numbers.setdefault(point, fresh) if self._merging else fresh
        if known == fresh:
            self._points.append(point)
            self._came.append((before, line))
            waiting.append(known)
        return known

    def _moves(self, number: int) -> Iterator[Move]:
        """Return every step that can come next."""
        point = self._points[number]
        alive = [(index, place) for index, place in enumerate(point.places) if place >= 0]
        for index, place in alive:
            operation = self._actors[index].next(place, point.now)
            assert isinstance(operation, Operation)
            yield from self._does(number, index, operation)
            name = self._actors[index].name
            yield Line(name, operation, death=DIES_BEFORE), _moved(point, index, DEAD)
        if alive and point.time_left:
            yield self._time_passes(point)

    def _does(self, number: int, index: int, operation: Operation) -> Iterator[Move]:
        point, name = self._points[number], self._actors[index].name
        if operation.title == "channel.answer":
            for outcome in self._case.answers:
                yield self._told(number, index, operation, outcome, outcome, point.facts)
            return
        result, facts = self._perform(point, index, operation)
        yield (done := self._told(number, index, operation, result, result, facts))
        if operation.title == SENDS or operation.title in WRITES:
            yield Line(name, operation, death=DIES_AFTER), _moved(done[1], index, DEAD)
        if operation.title in WRITES and point.faults_left:
            yield self._told(number, index, operation, result, Fault(LOST), facts)
            yield self._told(number, index, operation, None, Fault(REFUSED), point.facts)

    def _perform(self, point: Point, index: int, operation: Operation) -> tuple[Any, int]:
        """Return the result of an actor's next operation, and what the tables hold then; a message changes nothing."""
        if operation.title == SENDS:
            return None, point.facts
        at_this = (point.facts, index, point.places[index], point.now)
        if at_this not in self._done:
            result, facts = self._stage.perform(self._facts[point.facts], operation)
            self._done[at_this] = (result, self._facts.number(facts))
        return self._done[at_this]

    def _told(self, number: int, index: int, operation: Operation, result: Any, told: Any, facts: int) -> Move:
        """Return the step of an operation that is done (`facts` are the tables then), and of what its actor is told."""
        point, actor = self._points[number], self._actors[index]
        place, now = point.places[index], point.now
        line = Line(actor.name, operation, told)
        before, after, left = self._facts[point.facts], self._facts[facts], point.faults_left - isinstance(told, Fault)
        began = actor.begun(place, now)
        event = Event(actor.name, operation, result, now, began)
        try:
            seen = self._seen[point.seen]
            if told != Fault(REFUSED):
                seen = self._watch.take_in(seen, event, before, after)
            onward = actor.told(place, operation, told, now)
            ended = actor.next(onward, now)
            if isinstance(ended, Ended):
                onward = DEAD if isinstance(ended.value, Exception) else ENDED
                end = End(actor.name, ended.value, now, began)
                self._watch.ended(seen, end, after, faults=left < self._case.faults)
        except Violation as violation:
            raise Broken(self._listing(number, str(violation), line)) from None
        moved = Point(facts, self._seen.number(seen), point.places, now, point.time_left, left)
        return line, _moved(moved, index, onward)

    def _time_passes(self, point: Point) -> Move:
        """Return the step of time; it ends those who were about to send by a lease that is over then.

        Lambda ends an invocation at its deadline, before its lease: here an attempt that has begun may last longer.
        """
        assert self._case.passes is not None
        now, places = point.now + self._case.passes, list(point.places)
        for index, place in enumerate(places):
            if place > 0 and _rests_on_a_lease(self._actors[index].next(place, point.now)):
                places[index] = DEAD
        line = Line("-", result=f"{self._case.passes.total_seconds():g} s pass")
        return line, point._replace(now=now, places=tuple(places), time_left=False)

    def _end(self, number: int) -> None:
        point, case = self._points[number], self._case
        dead = [actor.name for actor, place in zip(self._actors, point.places, strict=True) if place == DEAD]
        again = tuple(case.actors[name] for name in case.again if name in dead)
        try:
            self._ending.judge(self._facts[point.facts], self._seen[point.seen], point.now, again)
        except Violation as violation:
            raise Broken(self._listing(number, f"in the end: {violation}")) from None

    def _listing(self, number: int, problem: str, *last: Line) -> str:
        lines = list(reversed(last))
        while (came := self._came[number]) is not None:
            number, line = came
            lines.append(line)
        return listing(self._case.name, problem, reversed(lines))

    def _found(self, ends: int) -> Found:
        """Count the schedules and the steps of the longest: each point's from those behind it."""
        counted: dict[int, tuple[int, int]] = {}

        def count(number: int) -> tuple[int, int]:
            if number not in counted:
                behind = [count(onward) for onward in self._onward[number]]
                schedules = sum(one for one, _ in behind) or 1
                counted[number] = (schedules, max((1 + steps for _, steps in behind), default=0))
            return counted[number]

        return Found(len(self._points), *count(0), ends)


def _moved(point: Point, index: int, place: int) -> Point:
    return point._replace(places=(*point.places[:index], place, *point.places[index + 1 :]))


def _rests_on_a_lease(operation: Operation | Ended) -> bool:
    """Tell whether an operation claims a record, or sends one that is claimed."""
    assert isinstance(operation, Operation)
    if operation.title not in ("ledger.add", "ledger.replace"):
        return operation.title == SENDS
    after: Notification = operation.args[-1 if operation.title == "ledger.replace" else 0]
    return after.claimed_until is not None
