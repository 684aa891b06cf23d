"""One run over what is due: survey, look up, gather, deliver, hold, report (SPEC 5)."""

from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from functools import partial

from redeliver.accept import park
from redeliver.board import Board, Unit, units
from redeliver.core import lifecycle, moments
from redeliver.core.hold import NOT_CONFIGURED, Hold
from redeliver.core.notification import OPEN, Dispatch, Notification, Status, Unreadable
from redeliver.course import Course
from redeliver.deliver import Deliver, End
from redeliver.ports import (
    Announcement,
    Channel,
    Channels,
    ChannelState,
    ChannelStates,
    Deadline,
    Lanes,
    Ledger,
    NotConfigured,
    Telemetry,
    Unavailable,
)
from redeliver.survey import NOTHING, Lane, count_dead_letters, gather, survey
from redeliver.tally import Report, Run

_TIME_TO_COUNT = timedelta(seconds=5)  # what has to be left before the dead letters of another channel are counted
_MOST_NAMED = 100  # channels in one log line


@dataclass(frozen=True, slots=True, kw_only=True)
class Sweep:
    """Sweeps; every dependency is given."""

    ledger: Ledger
    lanes: Lanes
    channels: Channels
    states: ChannelStates
    deliver: Deliver
    telemetry: Telemetry
    clock: Callable[[], datetime]
    max_records: int
    concurrency: int
    recheck: timedelta

    def __call__(self, deadline: Deadline) -> Report:
        """Deliver what is due until nothing is, the limit is reached, or the time is up; see `Report.failed_items`."""
        now, run, share = self.clock(), Run(), partial(self._has_left, deadline, deadline.left())
        lanes = [self._survey(state, run, partial(share, 2 / 3)) for state in self.states.all()]
        due = [lane for lane in lanes if lane.due(now) and not lane.state.held(now)]
        ready = self._ready(due, now, run, partial(share, 1 / 2))
        records, looked_at = gather(
            self.lanes,
            [lane for lane in lanes if lane.channel in ready],
            now,
            self.max_records,
            lambda row: self._park(row, run, now),
            partial(self._not_read, run),
            partial(share, 1 / 3),
        )
        run.add("looked_at", looked_at)
        self._begin(lanes, {record.channel for record in records}, run, now)
        suspects = [record for record in records if lifecycle.unsettled(record)]
        others = [record for record in records if not lifecycle.unsettled(record)]
        self._work(units(others, ready), run, deadline, self.concurrency)
        # One at a time: whichever of them kills the process takes no other with it.
        self._work(units(suspects, ready, alone=True), run, deadline, 1)
        for course in run.courses.values():
            self._write(course)
        return self._report(lanes, run, now, deadline)

    def _has_left(self, deadline: Deadline, whole: timedelta, share: float) -> bool:
        """Tell whether a share of the run's whole time is left: time to deliver, however slow it is to look."""
        return self.deliver.room(deadline) and deadline.left() >= share * whole

    def _survey(self, state: ChannelState, run: Run, time_left: Callable[[], bool]) -> Lane:
        """Return what waits for a channel; what cannot be read, or not in time, is for the next run."""
        if not time_left():
            return Lane(state, NOTHING, 0, complete=False)
        lane = survey(self.lanes, state)
        if lane.problem is not None:
            self._not_read(run, state.channel, lane.problem)
        return lane

    def _not_read(self, run: Run, channel: str, error: Unavailable) -> None:
        run.add("failed_items")
        self.telemetry.warn("channel_not_read", channel=channel, error=str(error))

    def _work(self, waiting: Iterable[Unit], run: Run, deadline: Deadline, concurrency: int) -> None:
        board = Board((unit for unit in waiting if unit.name in run.courses), lambda name: run.courses[name].alone())
        board.work(lambda unit: self._handle(unit, run, deadline), concurrency)

    def _begin(self, lanes: Iterable[Lane], names: Collection[str], run: Run, now: datetime) -> None:
        """Begin the course of each channel, but for those that somebody else is probing."""
        for state in (lane.state for lane in lanes if lane.channel in names):
            if not state.to_be_probed(now):
                run.courses[state.channel] = Course(state)
            elif (taken := self._taken(state, now)) is not None:
                run.courses[state.channel] = Course(taken, probing=True)

    def _taken(self, state: ChannelState, now: datetime) -> ChannelState | None:
        try:
            return self.states.probe(state, now)
        except Unavailable as error:  # the channel waits for the next run, the others do not
            self.telemetry.warn("channel_not_written", channel=state.channel, error=str(error))
            return None

    def _ready(
        self, lanes: Sequence[Lane], now: datetime, run: Run, time_left: Callable[[], bool]
    ) -> dict[str, Channel]:
        """Return the channels that can be used; those without a document are held before anything is claimed."""
        ready = {}
        for number, lane in enumerate(lanes):
            if not time_left():  # those that were found are delivered, the others wait
                self.telemetry.warn("look_ups_cut_short", number=len(lanes) - number)
                break
            try:
                found = self.channels.look_up(lane.channel, now)
            except Unavailable as error:
                self.telemetry.warn("channel_unavailable", channel=lane.channel, error=str(error))
                continue
            if isinstance(found, NotConfigured):
                self._not_configured(lane, found, now, run)
            else:
                ready[lane.channel] = found
        return ready

    def _not_configured(self, lane: Lane, found: NotConfigured, now: datetime, run: Run) -> None:
        number = len(lane.due(now))
        run.add("not_configured", number)
        self.telemetry.count("notifications.not_configured", number=number)
        self.telemetry.warn("channel_not_configured", channel=lane.channel, error=found.why, due=number)
        self._hold(lane.channel, Hold(moments.ceil(now + self.recheck), NOT_CONFIGURED))
        run.not_configured.add(lane.channel)

    def _park(self, row: Unreadable, run: Run, now: datetime) -> None:
        if park(self.ledger, self.telemetry, row, now, row.key.channel):
            run.add("parked")

    def _handle(self, unit: Unit, run: Run, deadline: Deadline) -> None:
        """Attempt a unit; an error of ours with one does not stop the others, and is counted."""
        if not self.deliver.room(deadline, len(unit.records)) or not run.courses[unit.name].begin():
            return
        try:
            self._attempt(unit, run, deadline)
        except Exception as error:  # noqa: BLE001 - counted and logged; the function raises it when the run has done the rest
            self._failed(unit, run, error)

    def _failed(self, unit: Unit, run: Run, error: Exception) -> None:
        run.add("failed_items")
        self.telemetry.warn("item_failed", channel=unit.name, error=repr(error))

    def _attempt(self, unit: Unit, run: Run, deadline: Deadline) -> None:
        taken = tuple(self._taken_up(unit, run, deadline))
        claimed = tuple(record for record in taken if record.status in OPEN)
        if not claimed:
            if len(taken) == len(unit.records):  # nobody wants any of it any more
                run.courses[unit.name].take_back()
            return
        settled = self.deliver.attempt(unit.channel, Dispatch(claimed, digest=unit.digest), deadline)
        for one in settled:
            run.add(one.record.status.value if one.end is End.WRITTEN else one.end.value)
        run.courses[unit.name].note(settled, self.clock(), self.deliver.policy.max_delay)

    def _taken_up(self, unit: Unit, run: Run, deadline: Deadline) -> Iterator[Notification]:
        """Return the records of a unit as they were claimed, or ended for want of an attempt."""
        for record in unit.records:
            try:
                claimed = self.deliver.claim(unit.channel, record, deadline)
            except Unavailable as error:  # those claimed before it are still to be sent; the rest stays due
                self._failed(unit, run, error)
                return
            if claimed is None:
                run.add("conflicts")
                continue
            if claimed.status is Status.DEAD_LETTERED:
                run.add(claimed.status.value)
            yield claimed

    def _write(self, course: Course) -> None:
        """Write a channel's row, if the run has learnt something of it."""
        state = course.state
        if course.hold is not None:
            self._hold(state.channel, course.hold, course.failures)
        elif course.failures != state.failures or (course.probing and course.answered):
            try:
                self.states.free(state, course.failures)
            except Unavailable as error:  # the next run learns it anew
                self.telemetry.warn("channel_not_written", channel=state.channel, error=str(error))
                return
            if course.answered and course.probing:
                self.telemetry.log("channel_recovered", channel=state.channel, reason=state.hold_reason)
                self.telemetry.announce(Announcement.RECOVERED, channel=state.channel, reason=state.hold_reason)

    def _hold(self, channel: str, hold: Hold, failures: int | None = None) -> None:
        try:
            changed = self.states.hold(channel, hold, self.clock(), failures)
        except Unavailable as error:  # a hold that is not written costs the endpoint one more refusal, nobody a message
            self.telemetry.warn("hold_not_written", channel=channel, error=str(error))
            return
        if changed:
            until = hold.until.isoformat()
            self.telemetry.warn("channel_held", channel=channel, reason=hold.reason, until=until, failures=failures)
            self.telemetry.announce(Announcement.HELD, channel=channel, reason=hold.reason, until=until)

    def _report(self, lanes: Sequence[Lane], run: Run, now: datetime, deadline: Deadline) -> Report:
        self.telemetry.flush()  # what was done is measured, however long it takes to count what is left
        dead_letters, uncounted = count_dead_letters(
            self.lanes,
            [lane.channel for lane in lanes],
            partial(self._not_read, run),
            lambda: deadline.left() >= _TIME_TO_COUNT,
        )
        report = run.report(lanes, dead_letters, now)
        self.telemetry.gauge("notifications.pending", report.pending)
        self.telemetry.gauge("notifications.dead_letters", report.dead_letters)
        oldest = max((lane.oldest_due_seconds(now) for lane in lanes), default=0)
        self.telemetry.gauge("notifications.oldest_due_seconds", oldest)
        self.telemetry.gauge("channels.held", report.held)
        if partly := [lane.channel for lane in lanes if not lane.complete]:
            self.telemetry.log("pending_is_a_lower_bound", channels=partly[:_MOST_NAMED], number=len(partly))
        if uncounted:
            self.telemetry.log("dead_letters_is_a_lower_bound", channels=uncounted[:_MOST_NAMED], number=len(uncounted))
        self.telemetry.log("sweep_finished", **report.as_json())
        return report
