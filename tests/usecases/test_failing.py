"""A channel whose endpoint is down, or whose target is gone (SPEC 5)."""

import threading
from dataclasses import replace
from datetime import timedelta

import pytest

from redeliver.core.hold import Hold
from redeliver.core.lifecycle import Policy
from redeliver.core.notification import Dispatch, Status
from redeliver.core.outcome import Delivered, Gone, Outcome, Reject, Retry
from redeliver.ports import ChannelState, Mode
from tests.builders import NOW, at, record
from tests.fakes import FakeChannel
from tests.world import World

DOWN = Retry("http_503", "down")
PATIENT = Policy(base_delay=timedelta(seconds=1), max_delay=timedelta(seconds=1), max_attempts=100)


def down(waiting: int = 20, *, concurrency: int = 1, policy: Policy = PATIENT) -> World:
    """Return a world whose channel `ops` is down and has so many notifications waiting."""
    world = World(concurrency=concurrency, policy=policy)
    world.channel.always(DOWN)
    world.put(*(record(dedup_key=f"{number:05}") for number in range(waiting)))
    return world


def untouched(world: World, waiting: int = 20) -> int:
    """Return how many records nobody has tried."""
    return sum(world.get(f"{number:05}").attempt_count == 0 for number in range(waiting))


def test_five_failures_in_a_row_hold_the_channel_and_nothing_else_is_charged() -> None:
    world = down()
    report = world.sweep()
    assert (report.retrying, report.held, len(world.channel.calls)) == (5, 1, 5)
    assert untouched(world) == 15
    assert world.states.open("ops") == ChannelState("ops", at(60), "failing", 5)
    assert world.telemetry.gauges["channels.held"] == 1
    assert world.telemetry.warned("channel_held")
    assert world.sweep(59).looked_at == 0
    assert len(world.channel.calls) == 5


def test_failures_are_counted_over_runs() -> None:
    world = down(1)
    for _ in range(4):
        world.sweep(1)
    assert world.states.open("ops") == ChannelState("ops", failures=4)
    assert world.sweep(1).held == 1
    assert world.states.open("ops").hold_reason == "failing"


def test_a_success_in_between_begins_anew() -> None:
    world = down(9)
    world.channel.will(DOWN, DOWN, DOWN, DOWN, Delivered(), DOWN, DOWN, DOWN, DOWN)
    report = world.sweep()
    assert (report.retrying, report.sent, report.held) == (8, 1, 0)
    assert world.states.open("ops") == ChannelState("ops", failures=4)


def test_refused_messages_are_not_failures() -> None:
    world = down(20)
    world.channel.always(Reject("too_long", "x"))
    assert world.sweep().dead_lettered == 20
    assert world.states.open("ops") == ChannelState("ops")


def test_a_recipients_rate_limit_is_no_failure_of_the_channel() -> None:
    world = World(policy=PATIENT, concurrency=1)
    world.channel.always(Retry("http_429", "slower", timedelta(seconds=1)))
    world.put(*(record(dedup_key=str(number), recipient=str(number)) for number in range(9)))
    assert world.sweep().held == 0
    assert world.states.open("ops").failures == 0


def test_the_ladder_one_probe_each() -> None:
    world = down()
    world.sweep()
    for minutes in (2, 4, 8, 16, 32, 60, 60):
        state = world.states.open("ops")
        assert state.hold_until is not None
        calls = len(world.channel.calls)
        report = world.sweep((state.hold_until - world.clock.now).total_seconds())
        assert (len(world.channel.calls) - calls, report.retrying, report.held) == (1, 1, 1)
        assert world.states.open("ops").hold_until == world.clock.now + timedelta(minutes=minutes)
    world.channel.always(Delivered())
    report = world.sweep(3600)
    assert (report.sent, report.held) == (20, 0)
    assert world.states.open("ops") == ChannelState("ops")
    assert world.telemetry.of("channel_recovered") == [{"channel": "ops", "reason": "failing"}]


def test_nothing_goes_beside_a_probe_and_all_goes_after_it() -> None:
    world = down(8, concurrency=4)
    world.states.hold("ops", Hold(at(-1), "failing"), at(-61), failures=5)
    probed, together = threading.Event(), []

    def respond(dispatch: Dispatch) -> Outcome:
        together.append(probed.is_set())
        if len(together) == 1:
            assert not probed.wait(0.2)
            probed.set()
        return Delivered()

    world.channel.respond = respond
    assert world.sweep().sent == 8
    assert together == [False] + [True] * 7


def test_a_probe_that_is_refused_shows_that_somebody_is_there() -> None:
    world = down(3)
    world.states.hold("ops", Hold(at(-1), "failing"), at(-61), failures=5)
    world.channel.always(Delivered()).will(Reject("too_long", "x"))
    report = world.sweep()
    assert (report.dead_lettered, report.sent, report.held) == (1, 2, 0)


def test_a_probe_without_an_answer_is_no_recovery() -> None:
    world = down(3)
    world.states.hold("ops", Hold(at(-1), "gone"), at(-61))
    assert world.sweep().retrying == 1
    assert world.telemetry.of("channel_recovered") == []


def test_a_probe_is_a_digest_where_digests_are_sent() -> None:
    world = down(0)
    channel = world.add_channel("mail", FakeChannel(mode=Mode.DIGEST, capacity=12)).always(DOWN)
    world.put(*(record(channel="mail", dedup_key=str(number)) for number in range(6)))
    world.states.hold("mail", Hold(at(-1), "failing"), at(-61), failures=5)
    assert (world.sweep().retrying, channel.sent) == (2, [["0", "1"]])


def test_a_probe_that_somebody_else_makes_is_left_to_them() -> None:
    world = down(3)
    world.states.hold("ops", Hold(at(-1), "failing"), at(-61), failures=5)
    stale = world.states.open("ops")
    assert world.states.probe(stale, NOW) is not None
    world.rows.all = lambda: [stale]  # type: ignore[method-assign] # as a sweep read it that began at the same moment
    assert (world.sweep().held, len(world.channel.calls)) == (1, 0)


def test_a_probe_that_came_to_nothing_lets_no_other_go() -> None:
    world = down(3)
    world.states.hold("ops", Hold(at(-1), "failing"), at(-61), failures=5)
    world.ledger.on_write = lambda: world.memory.replace(
        world.get("00000"), replace(world.get("00000"), attempt_count=1)
    )
    report = world.sweep()
    assert (report.conflicts, report.held, len(world.channel.calls)) == (1, 1, 0)
    assert world.states.open("ops") == ChannelState("ops", at(60), "failing", 5)


@pytest.mark.parametrize(("wait", "hold"), [(10, (60, "failing")), (90, (90, "wait"))])
def test_of_two_reasons_the_longer_hold_counts(wait: float, hold: tuple[float, str]) -> None:
    world = down(1, policy=Policy())
    world.states.free(world.states.open("ops"), 4)
    world.channel.always(Retry("http_503", "down", timedelta(seconds=wait)))
    world.sweep()
    state = world.states.open("ops")
    assert (state.hold_until, state.hold_reason) == (at(hold[0]), hold[1])


def test_other_channels_do_not_wait_for_a_slow_probe() -> None:
    world = down(3, concurrency=2)
    quick = world.add_channel("quick")
    world.put(*(record(channel="quick", dedup_key=str(number)) for number in range(5)))
    world.states.hold("ops", Hold(at(-1), "failing"), at(-61), failures=5)
    done = threading.Event()

    def slow(dispatch: Dispatch) -> Outcome:
        assert done.wait(5)
        return DOWN

    def count(dispatch: Dispatch) -> Outcome:
        if len(quick.calls) == 5:
            done.set()
        return Delivered()

    world.channel.respond, quick.respond = slow, count
    report = world.sweep()
    assert (report.sent, report.retrying) == (5, 1)


def test_attempts_in_flight_when_a_hold_begins_are_one_trouble_not_many() -> None:
    world = down(32, concurrency=32)
    all_in = threading.Barrier(32)

    def respond(dispatch: Dispatch) -> Outcome:
        all_in.wait(5)
        return DOWN

    world.channel.respond = respond
    world.sweep()
    assert world.states.open("ops") == ChannelState("ops", at(60), "failing", 5)


def test_send_stores_while_a_channel_fails_and_until_a_probe_has_gone_through() -> None:
    world = down(0)
    world.states.hold("ops", Hold(at(60), "failing"), NOW, failures=5)
    assert world.new_accept()(_raw("a"), world.deadline()).result == "accepted"
    world.clock.pass_by(61)
    assert world.new_accept()(_raw("b"), world.deadline()).result == "accepted"
    assert not world.channel.calls
    world.channel.always(Delivered())
    assert world.sweep().sent == 2
    assert world.new_accept()(_raw("c"), world.deadline()).result == "sent"


def test_send_does_not_count_failures() -> None:
    world = down(0, policy=Policy())
    for number in range(9):
        assert world.send(dedup_key=str(number)).result == "retrying"
    assert world.states.open("ops") == ChannelState("ops")


def test_three_hours_down_with_ten_thousand_waiting_cost_a_few_dozen_requests() -> None:
    world = down(10_000, concurrency=32, policy=Policy())
    for _ in range(180):
        world.sweep(60)
    assert len(world.channel.calls) <= 48
    assert untouched(world, 10_000) >= 10_000 - 48
    assert not world.telemetry.of("notification_dead_lettered")
    world.channel.always(Delivered())
    world.max_records = 10_000
    sent = sum(world.sweep(60).sent for _ in range(62))
    assert sent >= 10_000 - 48  # the few that were tried keep to their own backoff


def test_a_target_that_is_gone_costs_one_dead_letter_and_the_others_wait() -> None:
    world = down(5)
    world.channel.always(Gone("http_410", "gone"))
    report = world.sweep()
    assert (report.dead_lettered, report.held) == (1, 1)
    assert untouched(world, 5) == 4
    assert world.states.open("ops").hold_until == at(24 * 3600)
    assert world.states.open("ops").hold_reason == "gone"
    report = world.sweep(24 * 3600)
    assert (report.dead_lettered, report.held, len(world.channel.calls)) == (1, 1, 2)


@pytest.mark.parametrize("recipient", [None, "42"])
def test_of_a_recipient_that_is_gone_only_the_record_is_dead(recipient: str | None) -> None:
    world = down(0)
    world.channel.always(Delivered()).will(Gone("chat_not_found", "gone"))
    assert world.send(dedup_key="a", recipient=recipient).result == "dead_lettered"
    assert world.send(dedup_key="b").result == ("sent" if recipient else "accepted")
    assert world.get("a").status is Status.DEAD_LETTERED
    assert world.states.open("ops").hold_reason == (None if recipient else "gone")


def test_an_operator_who_releases_a_channel_lets_it_try() -> None:
    world = down(3)
    world.channel.will(Gone("http_410", "gone"))
    world.sweep()
    world.channel.always(Delivered())
    assert world.states.free(world.states.open("ops"), 0)
    assert world.sweep(1).sent == 2


def test_a_probe_that_cannot_be_taken_stops_no_other_channel() -> None:
    world = down(3)
    world.states.hold("ops", Hold(at(-1), "failing"), at(-61), failures=5)
    world.add_channel("other")
    world.put(record(channel="other", dedup_key="a"))
    world.rows.broken = True
    report = world.sweep()
    assert (report.sent, report.held, len(world.channel.calls)) == (1, 1, 0)
    assert world.telemetry.warned("channel_not_written")


def test_what_cannot_be_written_of_a_channel_stops_no_run() -> None:
    world = down(3)
    world.rows.broken = True
    assert world.sweep().retrying == 3
    assert world.telemetry.warned("channel_not_written")


def _raw(key: str) -> dict[str, object]:
    return {"channel": "ops", "dedup_key": key, "kind": "k", "subject": "s", "body": "b"}
