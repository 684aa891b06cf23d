"""The process that a use case runs in: what its ports are asked, and what goes wrong there."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from enum import Enum, auto
from functools import partial
from typing import Any, TypeVar, cast

from hypothesis import strategies as st

from redeliver.core.notification import Dispatch, Notification
from redeliver.core.outcome import Outcome
from redeliver.ports import ChannelState, Unavailable

Port = TypeVar("Port")
OFF = 1.5  # seconds; two clocks differ by up to twice as much


class Killed(BaseException):
    """The process is gone; no `except Exception` of ours sees it."""


class Fault(Enum):
    """What happens to one operation of a port."""

    REFUSED = auto()  # it is not done
    LOST = auto()  # it is done, and nobody says so
    TWICE = auto()  # it is done, nobody says so, and the client does it again: its second answer is heard
    KILLED_BEFORE = auto()  # the process dies before it is done
    KILLED_AFTER = auto()  # the process dies before the answer comes


@dataclass(frozen=True)
class Trouble:
    """What goes wrong in one process: by the number of an operation, or from one on; its clock is `off` seconds.

    Before operation `other[0]` somebody else does `other[1]`.
    """

    faults: Mapping[int, Fault] = field(default_factory=dict)
    refused_from: int | None = None
    off: float = 0.0
    other: tuple[int, str] | None = None


NONE = Trouble()


def troubles(operations: int, others: Sequence[str] = ()) -> st.SearchStrategy[Trouble]:
    """Return what may go wrong in a process of about so many operations; mostly nothing does."""
    number = st.integers(1, operations)
    faults = st.dictionaries(number, st.sampled_from(Fault), max_size=2)
    other = st.tuples(number, st.sampled_from(others)) if others else st.none()
    return st.builds(
        Trouble,
        faults=st.just({}) | faults,
        refused_from=st.sampled_from([None] * 9 + [operations // 2]),
        off=st.sampled_from([0.0, 0.0, 0.0, OFF, -OFF]),
        other=st.none() | st.none() | other,
    )


@dataclass(frozen=True)
class Claim:
    """A record was taken for an attempt; `lost`: nobody was told so."""

    before: Notification
    after: Notification
    lost: bool = False


@dataclass(frozen=True)
class Sent:
    """A request left; `outcome` None: the process died with it."""

    dispatch: Dispatch
    outcome: Outcome | None


@dataclass
class Process:
    """One invocation: when it began by its own clock, when it ends in truth, and what it did."""

    trouble: Trouble
    began: datetime
    ends: datetime
    interfere: Callable[[str], None]
    operations: int = 0
    over: bool = False  # it died, or failed as a whole
    read: Sequence[ChannelState] = ()  # the channels' rows that it goes by
    did: list[Claim | Sent] = field(default_factory=list)
    wrote: set[str] = field(
        default_factory=set
    )  # the channels of whose records a sweep wrote, or a `send` claimed, one
    sweeps: bool = False
    took: list[ChannelState] = field(default_factory=list)  # the rows as they were when it took the channel for a probe
    asked: list[Mapping[str, object]] = field(default_factory=list)

    @property
    def undisturbed(self) -> bool:
        """Tell whether it came to its end, and nothing went wrong with the operations of its ports."""
        return not self.over and not self.trouble.faults and self.trouble.refused_from is None

    def next(self) -> Fault | None:
        """Begin an operation; return what happens to it."""
        self.operations += 1
        number, trouble = self.operations, self.trouble
        if trouble.other is not None and trouble.other[0] == number:
            self.interfere(trouble.other[1])
        if trouble.refused_from is not None and number >= trouble.refused_from:
            return Fault.REFUSED
        fault = trouble.faults.get(number)
        if fault is Fault.KILLED_BEFORE:
            raise Killed
        return fault

    def may_die(self) -> None:
        """Begin an operation that only death can stop."""
        if self.next() is Fault.KILLED_AFTER:
            raise Killed

    def note(self, name: str, arguments: tuple[Any, ...], answer: Any, *, lost: bool = False) -> None:
        """Remember what was done, and whether the answer to it was lost."""
        match name:
            case "all":
                self.read, self.sweeps = answer, True
            case "probe" if answer is not None:
                self.took.append(arguments[0])
            case "ask":
                self.asked += arguments[0]
            case "open":
                self.read = [answer]
            case "add" if answer and arguments[0].claimed_until is not None:
                self.wrote.add(arguments[0].channel)
            case "replace" | "park" if answer and self.sweeps:
                self.wrote.add(arguments[0].key.channel)
        if name == "replace" and answer and arguments[1].attempt_count == arguments[0].attempt_count + 1:
            self.did.append(Claim(arguments[0], arguments[1], lost))


@dataclass
class Room:
    """Where one process runs at a time, each operation of its ports to the end."""

    current: Process | None = None

    def over(self, port: Port) -> Port:
        """Return a port as the current process sees it."""
        return cast(Port, _Seen(port, self))

    def carry_out(self, name: str, operation: Callable[..., Any], *arguments: Any) -> Any:
        """Carry out an operation, or not, or twice."""
        process = self.current
        if process is None:
            return operation(*arguments)
        fault = process.next()
        if fault is Fault.REFUSED:
            raise Unavailable(f"{name}: InternalServerError: not done")
        answer = operation(*arguments)
        process.note(name, arguments, answer, lost=fault is Fault.LOST)
        if fault is Fault.KILLED_AFTER:
            raise Killed
        if fault is Fault.LOST:
            raise Unavailable(f"{name}: ReadTimeoutError: done, but nobody says so")
        return operation(*arguments) if fault is Fault.TWICE else answer


class _Seen:
    def __init__(self, port: object, room: Room) -> None:
        self._port, self._room = port, room

    def __getattr__(self, name: str) -> Any:
        found = getattr(self._port, name)
        return partial(self._room.carry_out, name, found) if callable(found) else found
