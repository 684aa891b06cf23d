"""What cannot be read, or not in time, costs itself: the other channels are delivered, counted and told of."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from datetime import timedelta
from typing import Any

import pytest

from redeliver.core.notification import Key, Notification, Row, Status
from redeliver.ports import Lanes, Page, Unavailable, Waiting
from redeliver.store.items import to_item
from tests.builders import at, final, record
from tests.fakes import Clock
from tests.stores import dynamo
from tests.world import World


@dataclass
class FaultyLanes:
    """Lanes of which one channel's reading fails, or takes its time."""

    real: Lanes
    fails: str = ""  # the method that fails for the channel `bad`
    slow: str = ""  # the method that takes `seconds` for every channel
    clock: Clock = field(default_factory=Clock)
    seconds: float = 0
    asked: list[tuple[str, str]] = field(default_factory=list)

    def _ask(self, method: str, channel: str) -> None:
        self.asked.append((method, channel))
        if method == self.slow:
            self.clock.pass_by(self.seconds)
        if (method, channel) == (self.fails, "bad"):
            raise Unavailable("DynamoDB: ThrottlingException: slow down")

    def page(self, channel: str, after: Waiting | None = None) -> Page:
        self._ask("page" if after is None else "second page", channel)
        return self.real.page(channel, after)

    def fetch(self, keys: Sequence[Key]) -> Sequence[Row]:
        self._ask("fetch", keys[0].channel)
        return self.real.fetch(keys)

    def waiting(self, channel: str, after: Waiting) -> tuple[int, bool]:
        self._ask("waiting", channel)
        return self.real.waiting(channel, after)

    def dead_letters(self, channel: str) -> tuple[int, bool]:
        self._ask("dead_letters", channel)
        return self.real.dead_letters(channel)


def _with(world: World, **faults: Any) -> FaultyLanes:
    world.lanes = faulty = FaultyLanes(world.lanes, clock=world.clock, **faults)
    return faulty


@pytest.mark.parametrize(
    ("method", "sent", "dead_letters"),
    [
        ("page", 1, 2),
        ("fetch", 1, 2),
        ("waiting", 1 + 120, 2),
        ("second page", 1 + 100, 2),
        ("dead_letters", 1 + 120, 1),
    ],
)
def test_a_channel_that_cannot_be_read_costs_itself(method: str, sent: int, dead_letters: int) -> None:
    world = World()
    world.add_channel("bad")
    world.put(record(channel="ops"), *(record(channel="bad", dedup_key=str(n)) for n in range(120)))
    world.put(*(final(Status.DEAD_LETTERED, channel=name, dedup_key="dead") for name in ("bad", "ops")))
    _with(world, fails=method)
    report = world.sweep()
    assert (report.sent, report.dead_letters, report.failed_items) == (sent, dead_letters, 1)
    assert world.telemetry.of("channel_not_read") == [
        {"channel": "bad", "error": "DynamoDB: ThrottlingException: slow down"}
    ]
    assert world.telemetry.gauges["notifications.dead_letters"] == dead_letters
    assert world.telemetry.of("sweep_finished") == [report.as_json()]
    bounds = {"page": "pending", "waiting": "pending", "dead_letters": "dead_letters"}
    for gauge in ("pending", "dead_letters"):
        told = world.telemetry.of(f"{gauge}_is_a_lower_bound")
        assert told == ([{"channels": ["bad"], "number": 1}] if bounds.get(method) == gauge else [])


@pytest.mark.parametrize("method", ["page", "waiting", "dead_letters"])
def test_an_operator_who_asks_for_the_counts_gets_those_that_can_be_read(method: str) -> None:
    world = World()
    world.put(record(channel="ops"), *(record(channel="bad", dedup_key=str(n)) for n in range(120)))
    _with(world, fails=method)
    counts: Any = world.operate(command="counts")["channels"]
    assert (counts["ops"]["pending"], counts["ops"]["complete"]) == (1, True)
    assert (counts["bad"]["pending"], counts["bad"]["complete"]) == (
        {"page": 0, "waiting": 100, "dead_letters": 120}[method],
        False,
    )


def _channels(world: World, number: int) -> None:
    for each in range(number):
        world.add_channel(f"c{each:03}")
        world.put(record(channel=f"c{each:03}"))


@pytest.mark.parametrize("slow", ["page", "fetch"])
def test_looking_ends_while_there_is_time_to_deliver(slow: str) -> None:
    world = World()
    _channels(world, 50)
    _with(world, slow=slow, seconds=3)
    report = world.sweep()
    assert report.sent > 0
    assert (world.clock.now - at(0)).total_seconds() < 60


def test_looking_up_documents_ends_while_there_is_time_to_deliver() -> None:
    world = World()
    _channels(world, 50)
    real: Callable[..., Any] = world.channels.look_up

    def slow(name: str, now: Any) -> Any:
        world.clock.pass_by(3)
        return real(name, now)

    world.channels.look_up = slow  # type: ignore[method-assign]
    assert world.sweep().sent == 11  # half of 60 seconds goes into looking up
    assert world.telemetry.of("look_ups_cut_short") == [{"number": 39}]


def test_counting_dead_letters_ends_before_the_invocation_does_and_what_was_done_is_written_before() -> None:
    world = World()
    _channels(world, 20)
    faulty = _with(world, slow="dead_letters", seconds=2)
    report = world.sweep(left=timedelta(seconds=20))
    assert report.sent == 20
    assert sum(method == "dead_letters" for method, _ in faulty.asked) == 8  # 20, 18 … 6 seconds are left
    assert world.telemetry.of("dead_letters_is_a_lower_bound")[0]["number"] == 12
    names = [event for _, event, _ in world.telemetry.lines]
    assert names.index("flush") < names.index("sweep_finished")


def test_a_row_in_the_lane_of_another_channel_is_parked_and_stops_nobody() -> None:
    with dynamo() as store:
        world = World(store=store)
        world.add_channel("other")
        for name in ("ops", "other"):
            store.states.open(name)
        item = {"channel": {"S": "other"}, "dedup_key": {"S": "lost"}, **to_item(record(channel="other"))}
        store.client.put_item(TableName="NotificationsTable", Item={**item, "lane": {"S": "ops#0"}})
        assert store.ledger.add(record(), at(0))
        assert world.sweep().sent == 1
        row = store.ledger.get(Key("other", "lost"))
        assert isinstance(row, Notification)
        assert (row.status, row.last_reason) == (Status.DEAD_LETTERED, "unreadable")
        assert world.sweep(after=60).failed_items == 0


def test_an_index_that_still_names_the_lane_of_another_channel_stops_nobody() -> None:
    """The row was repaired since: the table has it in its own lane, the index does not know yet."""
    world = World()
    world.put(record(), record(channel="ghost"))
    ghost = Waiting(Key("ghost", record().dedup_key), at(-1))

    @dataclass
    class Stale(FaultyLanes):
        def page(self, channel: str, after: Waiting | None = None) -> Page:
            page = self.real.page(channel, after)
            return Page([*page.rows, ghost], page.after) if channel == "ops" else page

    world.lanes = Stale(world.lanes)
    report = world.sweep()
    assert (report.sent, report.failed_items) == (1, 0)
