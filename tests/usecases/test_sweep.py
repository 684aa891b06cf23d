import threading
import time
from datetime import timedelta

import pytest

from redeliver.core.hold import FAILING, Hold
from redeliver.core.notification import Dispatch, Key, Notification, Status, Unreadable
from redeliver.core.outcome import Delivered, Outcome, Reject, Retry
from redeliver.ports import Mode
from tests.builders import NOW, at, final, record
from tests.fakes import LOST, REFUSED, FakeChannel
from tests.world import World


def test_a_quiet_run_calls_nothing_writes_nothing_and_emits_the_gauges() -> None:
    world = World()
    world.put(record(next_attempt_at=at(1)), final(dedup_key="sent"), final(Status.DEAD_LETTERED, dedup_key="dead"))
    writes, looked_up = world.memory.writes, len(world.channels.looked_up)
    report = world.sweep()
    assert (world.memory.writes, world.rows.writes, len(world.channels.looked_up)) == (writes, 0, looked_up)
    assert not world.channel.calls
    assert world.telemetry.gauges == {
        "notifications.pending": 1,
        "notifications.dead_letters": 1,
        "notifications.oldest_due_seconds": 0,
        "channels.held": 0,
    }
    assert (report.looked_at, report.pending, report.dead_letters) == (0, 1, 1)
    assert world.telemetry.of("sweep_finished") == [report.as_json()]


def test_nothing_at_all() -> None:
    world = World()
    assert set(world.sweep().as_json().values()) == {0}
    assert set(world.telemetry.gauges.values()) == {0}


@pytest.mark.parametrize(("seconds", "sent"), [(-1, 1), (0, 1), (1, 0)], ids=["overdue", "due now", "not yet"])
def test_what_is_due_goes_out_and_what_is_not_does_not(seconds: int, sent: int) -> None:
    world = World()
    world.put(record(next_attempt_at=at(seconds), status=Status.RETRYING, attempt_count=1))
    assert world.sweep().sent == sent


def test_the_report_counts_what_happened() -> None:
    world = World()
    answers: dict[str, Outcome] = {"b": Retry("http_500", "x"), "c": Reject("no", "x")}
    world.channel.respond = lambda dispatch: answers.get(dispatch.members[0].dedup_key, Delivered())
    world.put(*(record(dedup_key=key) for key in "abc"), record(dedup_key="d", next_attempt_at=at(99)))
    world.put(final(Status.DEAD_LETTERED, dedup_key="e"))
    world.put(record(dedup_key="f", attempt_count=5, claimed_until=at(-1)), record(dedup_key="g", deliver_by=at(-1)))
    world.put(record(channel="nowhere"))
    world.clock.pass_by(7)
    report = world.sweep().as_json()
    assert report == {
        "looked_at": 5,
        "sent": 1,
        "retrying": 1,
        "dead_lettered": 3,
        "not_configured": 1,
        "conflicts": 0,
        "held": 1,
        "pending": 3,
        "dead_letters": 4,
        "failed_items": 0,
    }
    assert world.telemetry.gauges["notifications.oldest_due_seconds"] == 7
    assert (world.get("f").last_reason, world.get("g").last_reason) == ("interrupted", "expired")
    assert world.telemetry.counted("expired", channel="ops") == 1


def test_a_backlog_that_is_not_counted_to_its_end_is_said_to_be_a_lower_bound() -> None:
    world = World(max_records=1)
    world.memory.most_counted = 20
    world.put(*(record(dedup_key=str(n)) for n in range(150)))
    assert world.sweep().pending == 119
    assert world.telemetry.of("pending_is_a_lower_bound") == [{"channels": ["ops"], "number": 1}]
    assert not any(channel["complete"] for channel in world.operate(command="counts")["channels"].values())  # type: ignore[attr-defined] # a dict


# order and limits


def test_fewest_attempts_first_then_longest_due_up_to_the_limit() -> None:
    world = World(max_records=4, concurrency=1)
    world.put(
        record(dedup_key="2nd", attempt_count=1, next_attempt_at=at(-90)),
        record(dedup_key="late", next_attempt_at=at(-1)),
        record(dedup_key="early", next_attempt_at=at(-5)),
        record(dedup_key="3rd", attempt_count=2, next_attempt_at=at(-99)),
        record(dedup_key="2nd-later", attempt_count=1, next_attempt_at=at(-80)),
    )
    assert world.sweep().sent == 4
    assert world.channel.sent == [["early"], ["late"], ["2nd"], ["2nd-later"]]


@pytest.mark.parametrize("most", [1, 99, 100, 101, 250, 500])
def test_further_pages_are_read_only_while_the_limit_is_not_reached(most: int) -> None:
    world = World(max_records=most)
    world.put(*(record(dedup_key=f"{n:03}", next_attempt_at=at(n - 300)) for n in range(250)))
    report = world.sweep()
    assert report.sent == min(most, 250)
    assert report.looked_at == min(-(-most // 100) * 100, 250)
    assert report.pending == 250 - report.sent


def test_a_big_backlog_does_not_starve_three_fresh_ones() -> None:
    world = World(max_records=200)
    fresh = world.add_channel("fresh")
    world.put(*(record(dedup_key=f"{n:04}", next_attempt_at=at(n - 5000)) for n in range(1000)))
    world.put(*(record(channel="fresh", dedup_key=str(n)) for n in range(3)))
    assert world.sweep().sent == 200
    assert sorted(fresh.sent) == [["0"], ["1"], ["2"]]


def test_a_slow_endpoint_does_not_starve_a_quick_one() -> None:
    world = World(concurrency=4)
    quick = world.add_channel("quick")
    all_quick_out = threading.Event()

    def slow(dispatch: Dispatch) -> Outcome:
        assert all_quick_out.wait(10)  # all slow attempts hang until the last quick one is out
        return Delivered()

    def respond(dispatch: Dispatch) -> Outcome:
        if len(quick.calls) == 20:
            all_quick_out.set()
        return Delivered()

    world.channel.respond, quick.respond = slow, respond
    world.put(*(record(dedup_key=str(n), next_attempt_at=at(-99)) for n in range(40)))
    world.put(*(record(dedup_key=str(n), channel="quick") for n in range(20)))
    report = world.sweep()
    assert (report.sent, report.failed_items) == (60, 0)


def test_as_many_at_once_as_configured_and_no_more() -> None:
    world = World(concurrency=3)
    gate = threading.Barrier(3)  # breaks unless three wait at once
    at_once, most, lock = [0], [0], threading.Lock()

    def respond(dispatch: Dispatch) -> Outcome:
        with lock:
            at_once[0] += 1
            most[0] = max(most[0], at_once[0])
        gate.wait(10)
        with lock:
            at_once[0] -= 1
        return Delivered()

    world.channel.respond = respond
    world.put(*(record(dedup_key=str(n)) for n in range(9)))
    assert world.sweep().sent == 9
    assert most == [3]


@pytest.mark.parametrize(("left", "sent"), [(12.04, 0), (12.05, 2)])
def test_no_attempt_starts_that_could_not_finish(left: float, sent: int) -> None:
    world = World()
    world.put(record(dedup_key="a"), record(dedup_key="b"))
    report = world.sweep(left=timedelta(seconds=left))
    assert report.sent == sent
    assert world.get("a").attempt_count == (1 if sent else 0)


def test_what_is_left_when_the_time_is_up_stays_due() -> None:
    world = World(concurrency=1)

    def respond(dispatch: Dispatch) -> Outcome:
        world.clock.pass_by(20)
        return Delivered()

    world.channel.respond = respond
    world.put(*(record(dedup_key=str(n), next_attempt_at=at(n - 9)) for n in range(5)))
    assert world.sweep().sent == 3
    assert world.get("3") == record(dedup_key="3", next_attempt_at=at(-6))
    assert world.sweep().sent == 2


# two at once, leases, old readings


def test_two_sweeps_at_once_send_each_record_once() -> None:
    world = World(concurrency=8)
    world.put(*(record(dedup_key=str(n)) for n in range(60)))
    gate = threading.Barrier(2)
    reports = []

    def run() -> None:
        gate.wait(5)
        reports.append(world.sweep())

    threads = [threading.Thread(target=run) for _ in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(20)
    assert sum(report.sent for report in reports) == 60
    assert sorted(world.channel.sent) == sorted([str(n)] for n in range(60))


@pytest.mark.parametrize(("seconds", "sent"), [(64, 0), (65, 1)])
def test_a_lease_is_left_alone_until_it_is_over(seconds: int, sent: int) -> None:
    world = World()
    world.put(record(attempt_count=1, claimed_until=at(65)))
    assert world.sweep(seconds).sent == sent
    assert world.get().maybe_delivered is bool(sent)


def test_leased_rows_do_not_count_towards_the_limit() -> None:
    world = World(max_records=2)
    world.put(*(record(dedup_key=f"a{n:03}", attempt_count=1, claimed_until=at(65)) for n in range(150)))
    world.put(record(dedup_key="b1"), record(dedup_key="b2"))
    assert world.sweep().sent == 2


def test_an_index_that_lags_is_not_taken_for_truth() -> None:
    world = World()
    world.put(*(record(dedup_key=key) for key in "ab"))
    world.memory.lag()
    assert world.sweep().sent == 2
    again = world.sweep()
    assert (again.looked_at, again.sent, again.conflicts) == (2, 0, 0)
    del world.memory.rows[Key("ops", "a")]
    assert world.sweep().conflicts == 0
    assert len(world.channel.calls) == 2


def test_a_record_that_moves_between_reading_and_claim_is_a_conflict() -> None:
    world = World()
    world.put(record())
    taken = record(attempt_count=1, claimed_until=at(65))
    world.ledger.on_write = lambda: world.memory.replace(record(), taken)
    report = world.sweep()
    assert (report.sent, report.conflicts) == (0, 1)
    assert world.get() == taken
    assert world.telemetry.counted("conflicts", channel="ops") == 1


@pytest.mark.parametrize("fault", [LOST, REFUSED])
def test_a_claim_that_fails_costs_its_record_alone(fault: str) -> None:
    world = World(concurrency=1)
    world.put(record(dedup_key="a", next_attempt_at=at(-1)), record(dedup_key="b"))
    world.ledger.will(fault)
    report = world.sweep()
    assert (report.sent, report.failed_items) == (1, 1)
    assert world.telemetry.warned("item_failed")
    assert world.sweep(70).sent == 1
    assert len(world.channel.calls) == 2


def test_a_channel_that_raises_does_not_stop_the_others() -> None:
    world = World()

    def respond(dispatch: Dispatch) -> Outcome:
        if dispatch.members[0].dedup_key == "a":
            raise RuntimeError("a bug")
        return Delivered()

    world.channel.respond = respond
    world.put(*(record(dedup_key=key) for key in "abc"))
    report = world.sweep()
    assert (report.sent, report.failed_items) == (2, 1)


def test_a_process_that_dies_in_an_attempt_does_not_live_on_it_for_ever() -> None:
    world = World()

    def die(dispatch: Dispatch) -> Outcome:
        raise MemoryError

    world.channel.respond = die
    world.put(record())
    for _ in range(6):
        world.sweep(100)
    assert len(world.channel.calls) == 5
    assert (world.get().status, world.get().last_reason) == (Status.DEAD_LETTERED, "interrupted")
    assert world.telemetry.counted("failed", channel="ops", reason="dead_lettered") == 1


# unreadable rows


def test_an_unreadable_row_is_parked_once_and_stops_nobody() -> None:
    world = World(max_records=2)
    world.memory.plant(Key("ops", "bad"), next_attempt_at=at(-99))
    world.put(record(dedup_key="a"), record(dedup_key="b"))
    report = world.sweep()
    assert (report.sent, report.dead_lettered, report.pending, report.dead_letters) == (2, 1, 0, 1)
    assert world.telemetry.counted("unreadable", channel="ops") == 1
    assert world.telemetry.of("notification_unreadable")[0]["dedup_key"] == "bad"
    row = world.ledger.get(Key("ops", "bad"))
    assert isinstance(row, Unreadable)
    assert row.parked
    assert world.sweep().looked_at == 0


@pytest.mark.parametrize("fault", [LOST, REFUSED])
def test_a_row_that_cannot_be_parked_now_stops_nobody(fault: str) -> None:
    world = World()
    world.memory.plant(Key("ops", "bad"), next_attempt_at=at(-99))
    world.put(record())
    world.ledger.will(fault)
    assert world.sweep().sent == 1
    assert world.telemetry.warned("unreadable_not_parked")
    world.sweep()
    assert world.lanes.dead_letters("ops") == (1, True)


def test_a_lagging_index_does_not_park_twice() -> None:
    world = World()
    world.memory.plant(Key("ops", "bad"), next_attempt_at=NOW)
    world.states.open("ops")
    world.memory.lag()
    world.sweep()
    assert world.sweep().dead_lettered == 0
    assert world.telemetry.counted("unreadable", channel="ops") == 1


# digests


def digests(world: World, capacity: int = 1000) -> FakeChannel:
    return world.add_channel("daily", FakeChannel(mode=Mode.DIGEST, capacity=capacity))


def members(*keys: str, recipient: str | None = None) -> list[Notification]:
    return [record(channel="daily", dedup_key=key, recipient=recipient, body="12345") for key in keys]


def test_all_that_is_due_for_a_recipient_goes_out_as_one() -> None:
    world = World()
    channel = digests(world)
    world.put(*members("a", "b"), *members("c", "d", recipient="42"))
    assert world.sweep().sent == 4
    assert sorted(channel.sent) == [["a", "b"], ["c", "d"]]
    assert all(dispatch.digest for dispatch in channel.calls)
    batches = {key: world.get(key, "daily").dispatch_batch_id for key in "abcd"}
    assert batches["a"] == batches["b"] != batches["c"] == batches["d"]


def test_too_long_for_the_channel_is_several_batches() -> None:
    world = World(concurrency=1)
    channel = digests(world, capacity=10)
    world.put(*members(*"abcde"))
    assert world.sweep().sent == 5
    assert channel.sent == [["a", "b"], ["c", "d"], ["e"]]
    assert len({world.get(key, "daily").dispatch_batch_id for key in "abcde"}) == 3


def test_a_member_that_was_cancelled_meanwhile_does_not_go_out() -> None:
    world = World()
    channel = digests(world)
    world.put(*members("a", "b"))
    gone = world.get("a", "daily")
    world.ledger.on_write = lambda: world.memory.replace(gone, final(Status.SUPPRESSED, channel="daily", dedup_key="a"))
    assert world.sweep().sent == 1
    assert channel.sent == [["b"]]


@pytest.mark.parametrize("fault", [LOST, REFUSED])
def test_a_claim_that_fails_in_the_middle_does_not_waste_those_before_it(fault: str) -> None:
    world = World()
    channel = digests(world)
    world.put(*members("a", "b", "c"))
    world.ledger.will(None, fault)
    report = world.sweep()
    assert report.failed_items == 1
    assert channel.sent[0][0] == "a"
    assert world.get("a", "daily").status is Status.SENT
    world.sweep(100)
    assert sorted(key for keys in channel.sent for key in keys) == ["a", "b", "c"]


def test_a_digest_of_none_but_the_dead_is_not_sent() -> None:
    world = World()
    channel = digests(world)
    world.put(record(channel="daily", deliver_by=at(-1)))
    assert world.sweep().dead_lettered == 1
    assert not channel.calls


def test_what_may_have_killed_its_process_goes_last_and_alone() -> None:
    world = World(concurrency=8)
    dead_claim = {"attempt_count": 1, "claimed_until": NOW}
    world.put(*[record(dedup_key=f"suspect {n}", next_attempt_at=at(-99), **dead_claim) for n in range(3)])
    world.put(*[record(dedup_key=f"other {n}", attempt_count=2) for n in range(8)])
    at_once: list[int] = []
    running: set[str] = set()

    def slow(dispatch: Dispatch) -> Outcome:
        (member,) = dispatch.members
        running.add(member.dedup_key)
        time.sleep(0.01)
        if member.dedup_key.startswith("suspect"):
            at_once.append(len(running))
        running.discard(member.dedup_key)
        return Delivered()

    world.channel.respond = slow
    assert world.sweep(1).sent == 11
    assert at_once == [1, 1, 1]
    assert [key for (key,) in world.channel.sent[-3:]] == ["suspect 0", "suspect 1", "suspect 2"]


def test_a_member_of_a_digest_that_died_goes_by_itself() -> None:
    world = World()
    channel = world.add_channel("daily", FakeChannel(mode=Mode.DIGEST))
    dead_claim = {"attempt_count": 1, "claimed_until": NOW}
    world.put(*[record(channel="daily", dedup_key=key, **dead_claim) for key in "ab"])
    world.put(*[record(channel="daily", dedup_key=key) for key in "cd"])
    world.sweep(1)
    assert channel.sent == [["c", "d"], ["a"], ["b"]]
    assert all(call.digest for call in channel.calls)


def test_a_probe_may_be_of_what_died_before() -> None:
    world = World()
    world.put(record(dedup_key="a", attempt_count=1, claimed_until=NOW))
    world.put(record(dedup_key="b", attempt_count=1, claimed_until=NOW))
    world.states.hold("ops", Hold(NOW, FAILING), NOW, 5)
    world.channel.will(Retry("http_500", "x"))
    assert world.sweep(1).retrying == 1
    assert len(world.channel.calls) == 1
