"""What one sweep has found out so far, and its account (SPEC 5)."""

import threading
from collections import Counter
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from datetime import datetime

from redeliver.core.notification import Status
from redeliver.course import Course
from redeliver.ports import ChannelState
from redeliver.survey import Lane


@dataclass(frozen=True, slots=True)
class Report:
    """What a run did and left; `failed_items` are those, and the channels, that met an error of ours."""

    looked_at: int
    sent: int
    retrying: int
    dead_lettered: int
    not_configured: int
    conflicts: int
    held: int
    pending: int
    dead_letters: int
    failed_items: int

    def as_json(self) -> dict[str, int]:
        """Return the counts of the run's log line."""
        return asdict(self)


@dataclass(slots=True)
class Run:
    """What one run has found out so far; shared by its threads."""

    courses: dict[str, Course] = field(default_factory=dict)
    not_configured: set[str] = field(default_factory=set)
    tally: Counter[str] = field(default_factory=Counter)
    lock: threading.Lock = field(default_factory=threading.Lock)

    def add(self, what: str, number: int = 1) -> None:
        """Count something."""
        with self.lock:
            self.tally[what] += number

    def leaves_alone(self, state: ChannelState, now: datetime) -> bool:
        """Tell whether the channel is on hold when the run is over, though it was not at its beginning."""
        course = self.courses.get(state.channel)
        if course is None:
            return state.channel in self.not_configured or state.to_be_probed(now)
        return course.hold is not None or (course.probing and not course.answered)

    def report(self, lanes: Sequence[Lane], dead_letters: int, now: datetime) -> Report:
        """Return the account of the run, by what its survey has found and what it did since."""
        tally = self.tally
        ended = tally[Status.SENT] + tally[Status.DEAD_LETTERED] + tally["parked"]
        return Report(
            looked_at=tally["looked_at"],
            sent=tally[Status.SENT],
            retrying=tally[Status.RETRYING],
            dead_lettered=tally[Status.DEAD_LETTERED] + tally["parked"],
            not_configured=tally["not_configured"],
            conflicts=tally["conflicts"],
            held=sum(lane.state.held(now) or self.leaves_alone(lane.state, now) for lane in lanes),
            pending=max(sum(lane.pending for lane in lanes) - ended, 0),
            dead_letters=dead_letters,
            failed_items=tally["failed_items"],
        )
