"""Channels left alone: not configured, asked to wait, held by an operator (SPEC 5)."""

from datetime import timedelta

import pytest

from redeliver.core.hold import Hold
from redeliver.core.notification import Dispatch, Status
from redeliver.core.outcome import Delivered, Outcome, Retry
from redeliver.ports import Mode
from tests.builders import NOW, at, record
from tests.fakes import FakeChannel
from tests.world import World

SLOWER = Retry("http_429", "slower", timedelta(seconds=900))


def test_not_configured_costs_nothing_and_is_looked_at_again() -> None:
    world = World()
    waiting = [record(channel="nowhere", dedup_key=str(n)) for n in range(3)]
    world.put(*waiting)
    writes = world.memory.writes
    report = world.sweep()
    assert (report.not_configured, report.held, report.pending, report.looked_at) == (3, 1, 3, 0)
    assert world.memory.writes == writes
    assert world.telemetry.counted("not_configured") == 3
    state = world.states.open("nowhere")
    assert (state.hold_until, state.hold_reason) == (at(900), "not_configured")
    channel = world.add_channel("nowhere")
    assert world.sweep(899).sent == 0
    assert world.channels.looked_up == ["nowhere"]
    assert world.sweep(1).sent == 3
    assert len(channel.calls) == 3


def test_records_of_a_channel_that_was_removed_are_still_seen() -> None:
    world = World()
    world.channel.will(Retry("http_500", "x"))
    world.send()
    del world.channels.known["ops"]
    assert world.sweep(300).not_configured == 1
    assert world.get().attempt_count == 1


def test_documents_that_cannot_be_read_now_hold_nothing() -> None:
    world = World()
    world.put(record())
    world.channels.down = True
    report = world.sweep()
    assert (report.sent, report.not_configured, report.held) == (0, 0, 0)
    assert world.telemetry.warned("channel_unavailable")
    world.channels.down = False
    assert world.sweep().sent == 1


def test_a_wait_for_the_channel_holds_all_of_it_from_then_on() -> None:
    world = World(concurrency=1)
    world.channel.will(SLOWER)
    world.put(*(record(dedup_key=str(n), next_attempt_at=at(n - 9)) for n in range(4)))
    report = world.sweep()
    assert (report.retrying, report.sent, report.held) == (1, 0, 1)
    assert len(world.channel.calls) == 1
    assert world.get("1") == record(dedup_key="1", next_attempt_at=at(-8))  # neither claimed nor charged
    assert world.states.open("ops").hold_until == world.get("0").next_attempt_at == at(900)
    assert world.telemetry.warned("channel_held")
    assert world.sweep(899).sent == 0
    assert world.sweep(1).sent == 4


def test_a_wait_for_a_recipient_is_the_records_own() -> None:
    world = World(concurrency=1)
    world.channel.will(SLOWER)
    world.put(record(dedup_key="a", recipient="42", next_attempt_at=at(-1)), record(dedup_key="b", recipient="43"))
    report = world.sweep()
    assert (report.retrying, report.sent, report.held) == (1, 1, 0)
    assert world.states.open("ops").hold_until is None
    assert world.get("a").next_attempt_at == at(900)


@pytest.mark.parametrize("configured", [True, False])
def test_a_hold_that_cannot_be_written_stops_no_run(configured: bool) -> None:
    world = World()
    world.channel.will(SLOWER)
    world.put(record())
    if not configured:
        del world.channels.known["ops"]
    world.rows.broken = True
    report = world.sweep()
    assert (report.retrying, report.not_configured, report.held) == (int(configured), 1 - configured, 1)
    assert world.telemetry.warned("hold_not_written")
    assert not world.telemetry.warned("channel_held")


def test_a_wait_is_clamped_to_the_cap() -> None:
    world = World()
    world.channel.will(Retry("http_429", "slower", timedelta(days=300)))
    world.put(record())
    world.sweep()
    assert world.states.open("ops").hold_until == world.get().next_attempt_at == NOW + timedelta(days=1)


def test_the_longest_wait_of_a_run_counts_and_is_written_once() -> None:
    world = World(concurrency=2)
    waits = iter([5, 900])

    def respond(dispatch: Dispatch) -> Outcome:
        return Retry("http_429", "slower", timedelta(seconds=next(waits)))

    channel = world.add_channel("daily", FakeChannel(mode=Mode.DIGEST, capacity=1, respond=respond))
    world.put(*(record(channel="daily", dedup_key=key) for key in "ab"))
    world.sweep()
    assert world.rows.writes == 1
    assert len(channel.calls) in (1, 2)  # the second may have been in flight when the first came back


@pytest.mark.parametrize(("moment", "sent"), [(59, 0), (60, 1)])
def test_an_operators_hold(moment: int, sent: int) -> None:
    world = World()
    world.put(record())
    world.states.hold("ops", Hold(at(60), "operator"), NOW)
    report = world.sweep(moment)
    assert (report.sent, report.held, report.pending) == (sent, 1 - sent, 1 - sent)
    assert world.get().status is (Status.SENT if sent else Status.PENDING)


def test_on_hold_nothing_is_written_or_looked_up_and_it_still_shows() -> None:
    world = World()
    world.put(record())
    world.states.hold("ops", Hold(at(60), "operator"), NOW)
    writes = world.memory.writes, world.rows.writes
    world.sweep(30)
    assert (world.memory.writes, world.rows.writes) == writes
    assert not world.channels.looked_up
    assert world.telemetry.gauges["notifications.pending"] == 1
    assert world.telemetry.gauges["channels.held"] == 1
    assert world.telemetry.gauges["notifications.oldest_due_seconds"] == 30


def test_attempts_in_flight_when_a_hold_begins_are_finished() -> None:
    world = World()

    def respond(dispatch: Dispatch) -> Outcome:
        world.states.hold("ops", Hold(at(600), "operator"), NOW)
        return Delivered()

    world.channel.respond = respond
    world.put(record())
    assert world.sweep().sent == 1


def test_a_hold_is_no_reason_to_let_stale_ones_out_later() -> None:
    world = World()
    world.put(record(deliver_by=at(30)))
    world.states.hold("ops", Hold(at(60), "operator"), NOW)
    world.sweep(60)
    assert world.get().last_reason == "expired"
    assert not world.channel.calls
