"""What is not getting through, at one glance; the same numbers as the sweeper's counts."""

from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from redeliver.core.hold import OPERATOR, Hold
from redeliver.core.notification import Status
from redeliver.core.outcome import Retry
from redeliver.operator.status import ChannelStatus, status
from tests.builders import NOW, at, final, record
from tests.world import World


@dataclass
class Metric:
    sent: dict[str, int] = field(default_factory=dict)

    def in_the_last_hour(self, channel: str, now: datetime) -> int | None:
        return self.sent.get(channel)


def looked_at(world: World, **sent: int) -> dict[str, ChannelStatus]:
    found = status(world.memory, world.lanes, Metric(sent), world.states.all(), world.clock.now)
    assert [each.channel for each in found] == sorted(each.channel for each in found)
    return {each.channel: each for each in found}


def test_each_number_is_of_its_own_kind() -> None:
    world = World()
    world.put(record(dedup_key="due", next_attempt_at=at(-90)), record(dedup_key="later", next_attempt_at=at(1)))
    world.put(record(dedup_key="r", status=Status.RETRYING, attempt_count=1, next_attempt_at=NOW))
    world.put(final(Status.DEAD_LETTERED, dedup_key="d"), final(dedup_key="s"), final(channel="quiet"))
    found = looked_at(world, ops=7)
    ops = found["ops"]
    assert (ops.pending, ops.retrying, ops.due, ops.oldest_due_seconds, ops.dead_letters) == (2, 1, 2, 90, 1)
    assert (ops.sent_last_hour, ops.complete) == (7, True)
    quiet = found["quiet"]
    assert (quiet.pending, quiet.retrying, quiet.due, quiet.oldest_due_seconds, quiet.dead_letters) == (0,) * 5
    assert quiet.sent_last_hour is None


def test_a_hold_says_until_when_why_and_by_whose_note() -> None:
    world = World()
    world.put(record())
    world.rows.impose("ops", Hold(at(60), OPERATOR), "maintenance")
    ops = looked_at(world)["ops"]
    assert (ops.hold_until, ops.hold_reason, ops.hold_note) == (at(60), OPERATOR, "maintenance")
    world.clock.pass_by(60)
    over = looked_at(world)["ops"]
    assert (over.hold_until, over.hold_reason, over.hold_note) == (None, None, None)


def test_an_index_that_lags_behind_counts_nothing_that_is_over() -> None:
    world = World()
    world.put(record())
    world.memory.lag()
    world.sweep()
    assert looked_at(world)["ops"].pending == 0


def test_a_backlog_without_end_is_a_lower_bound_and_says_so() -> None:
    world = World()
    world.put(*[record(dedup_key=f"k{number:03}") for number in range(250)])
    assert looked_at(world)["ops"].complete
    [ops] = status(world.memory, world.lanes, Metric(), world.states.all(), NOW, most_read=200)
    assert (ops.pending, ops.complete) == (200, False)


def test_it_agrees_with_the_counts_of_the_sweeper() -> None:
    world = World()
    world.add_channel("down").always(Retry("http_503", "HTTP 503"))
    for number in range(9):
        world.send(dedup_key=f"k{number}")
        world.send(dedup_key=f"k{number}", channel="down")
    found: dict[str, ChannelStatus] = {}
    for _ in range(60):
        world.sweep(after=3000)
        answer: Any = world.operate(command="counts")
        found = looked_at(world)
        assert found.keys() == answer["channels"].keys()
        for name, counted in answer["channels"].items():
            each = found[name]
            assert each.pending + each.retrying == counted["pending"]
            assert each.dead_letters == counted["dead_letters"]
            assert each.oldest_due_seconds == counted["oldest_due_seconds"]
            assert each.hold_reason == counted["hold_reason"]
    assert found["down"].dead_letters
