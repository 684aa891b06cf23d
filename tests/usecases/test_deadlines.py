"""Nothing begins that could not end before the invocation does, whatever attempts and writes take (SPEC 5)."""

from collections.abc import Callable
from datetime import timedelta

from hypothesis import given, settings
from hypothesis import strategies as st

from redeliver.core.notification import Dispatch
from redeliver.core.outcome import Delivered, Outcome, Reject, Retry
from redeliver.deliver import ATTEMPT_BUDGET, LEASE_MARGIN, WRITE_EACH, WRITE_MARGIN
from redeliver.intake import direct
from redeliver.ports import Mode
from tests.builders import raw, record
from tests.fakes import Clock, FakeChannel
from tests.memory import MemoryFindings, MemoryNotifications
from tests.world import World

SECONDS = st.floats(0, ATTEMPT_BUDGET.total_seconds())
LEFT = st.floats(0, 60).map(lambda seconds: timedelta(seconds=seconds))


class SlowNotifications(MemoryNotifications):
    """A store whose every write takes as long as a write may."""

    clock: Clock

    def _put(self, *row: object) -> None:
        super()._put(*row)  # type: ignore[arg-type] # handed on as it came
        self.clock.pass_by(WRITE_EACH.total_seconds())


def world_of(taking: list[float], started: list[timedelta], mode: Mode, ends: Callable[[], timedelta]) -> World:
    """Return a world whose attempts take their time, and note how much was left when they began."""
    world = World(concurrency=1)
    slow = SlowNotifications(MemoryFindings())
    slow.clock = world.clock
    world.memory = slow
    world.ledger.real = world.lanes = slow
    world.add_channel("ops", channel := FakeChannel(mode=mode, capacity=6))

    def respond(dispatch: Dispatch) -> Outcome:
        started.append(ends())
        world.clock.pass_by(taking[len(started) % len(taking)])
        return Retry("http_500", "x") if len(started) % 3 == 0 else Delivered()

    channel.respond = respond
    return world


@settings(deadline=None, max_examples=100, derandomize=True)
@given(taking=st.lists(SECONDS, min_size=1, max_size=5), left=LEFT, mode=st.sampled_from(Mode))
def test_a_sweep_ends_in_time_and_leaves_no_claim_behind(taking: list[float], left: timedelta, mode: Mode) -> None:
    started: list[timedelta] = []
    world = world_of(taking, started, mode, lambda: deadline.left())
    world.put(*[record(dedup_key=str(n), body="x") for n in range(20)])
    deadline = world.deadline(left)
    begun = world.clock.now
    world.sweep(left=left)
    assert all(each >= ATTEMPT_BUDGET for each in started)
    assert world.clock.now - begun <= max(left, timedelta())
    assert all(world.get(str(n)).claimed_until is None for n in range(20))


@settings(deadline=None, max_examples=100, derandomize=True)
@given(taking=st.lists(SECONDS, min_size=1, max_size=5), left=LEFT)
def test_a_call_ends_in_time_and_stores_what_it_cannot_try(taking: list[float], left: timedelta) -> None:
    left = max(left, timedelta(seconds=8))  # a hundred times the time of a write, and the margin
    started: list[timedelta] = []
    world = world_of(taking, started, Mode.IMMEDIATE, lambda: deadline.left())
    deadline, begun = world.deadline(left), world.clock.now
    answers = direct(
        world.accept, {"notifications": [raw(dedup_key=str(n)) for n in range(100)]}, world.refused, deadline
    )["results"]
    assert isinstance(answers, list)
    assert {answer["result"] for answer in answers} <= {"sent", "retrying", "accepted"}
    assert all(each >= ATTEMPT_BUDGET + WRITE_MARGIN for each in started)
    assert world.clock.now - begun <= left
    claims = [world.get(str(n)).claimed_until for n in range(100)]
    assert all(claim is None or claim <= begun + left + LEASE_MARGIN + timedelta(seconds=1) for claim in claims)


def test_the_largest_digest_goes_out_in_one_run() -> None:
    world = World(max_records=2000)
    channel = world.add_channel("daily", FakeChannel(mode=Mode.DIGEST, capacity=10**6))
    world.put(*[record(channel="daily", dedup_key=str(number)) for number in range(1001)])
    assert world.sweep().sent == 1001
    assert sorted(len(call.members) for call in channel.calls) == [1, 500, 500]


def test_a_later_part_of_a_refused_digest_is_not_begun_without_room() -> None:
    world = World(concurrency=1)
    deadline, started = world.deadline(timedelta(seconds=14)), list[timedelta]()

    def respond(dispatch: Dispatch) -> Outcome:
        started.append(deadline.left())
        if len(dispatch.members) > 1:
            return Reject("too_long", "x")
        world.clock.pass_by(9)
        return Delivered()

    world.channel = world.add_channel("ops", FakeChannel(mode=Mode.DIGEST, respond=respond))
    world.put(record(), record(dedup_key="k2"))
    report = world.sweep(left=timedelta(seconds=14))
    assert (report.sent, report.retrying, len(started)) == (1, 1, 2)
    assert min(started) >= ATTEMPT_BUDGET + WRITE_MARGIN
