"""What nobody wants any more is not sent: `deliver_by` of a notification, `max_age` of a channel."""

from datetime import timedelta

import pytest

from redeliver.core.hold import FAILING, Hold
from redeliver.core.notification import EXPIRED, Status
from redeliver.core.outcome import Delivered, Outcome, Retry
from redeliver.ports import Mode
from tests.builders import NOW, at, final, record
from tests.fakes import FakeChannel
from tests.world import World

HOUR = timedelta(hours=1)
DOWN = Retry("http_500", "x")


def world_of(max_age: timedelta | None = HOUR) -> World:
    world = World()
    world.channel.max_age = max_age
    return world


def test_what_is_older_than_its_channel_allows_is_parked_at_the_next_look() -> None:
    world = world_of()
    world.put(record(dedup_key="old", created_at=NOW - HOUR - timedelta(seconds=1)))
    world.put(record(dedup_key="young", created_at=NOW - HOUR))
    report = world.sweep()
    assert (report.sent, report.dead_lettered) == (1, 1)
    assert world.channel.sent == [["young"]]
    parked = world.get("old")
    assert (parked.status, parked.last_reason, parked.attempt_count) == (Status.DEAD_LETTERED, EXPIRED, 0)
    assert world.telemetry.counted("expired", channel="ops") == 1


def test_a_retry_that_would_come_too_late_is_not_planned() -> None:
    world = world_of(timedelta(minutes=14))
    world.channel.always(DOWN)
    assert world.send().result == "retrying"
    assert world.sweep(300).retrying == 0
    assert (world.get().last_reason, world.get().attempt_count) == (EXPIRED, 2)  # the third: 15 minutes after the first


def test_a_document_that_names_no_age_lets_everything_go() -> None:
    world = world_of(None)
    world.put(record(created_at=NOW - 1000 * HOUR))
    assert world.sweep().sent == 1


def test_the_document_as_it_is_now_decides() -> None:
    world = world_of(None)
    world.channel.always(DOWN)
    world.send()
    world.channel.max_age = timedelta(minutes=2)
    assert world.sweep(300).dead_lettered == 1
    assert len(world.channel.calls) == 1


def test_a_redrive_asks_for_what_is_old() -> None:
    world = world_of()
    world.put(final(Status.DEAD_LETTERED, created_at=NOW - 5 * HOUR, last_reason=EXPIRED))
    world.operate(command="redrive", channel="ops", dedup_keys=["k1"])
    assert world.sweep().sent == 1


def test_a_hold_keeps_what_becomes_too_old_until_it_is_over() -> None:
    world = world_of()
    del world.channels.known["ops"]
    assert world.send().result == "not_configured"
    world.channels.known["ops"] = world.channel
    assert world.sweep(2 * 3600).dead_lettered == 1
    assert world.channel.calls == []


def test_a_digest_goes_without_those_that_are_too_old() -> None:
    world = World()
    world.add_channel("daily", channel := FakeChannel(mode=Mode.DIGEST, max_age=HOUR))
    world.put(record(channel="daily", dedup_key="old", created_at=NOW - 2 * HOUR))
    world.put(record(channel="daily", dedup_key="a"), record(channel="daily", dedup_key="b"))
    world.sweep()
    assert channel.sent == [["a", "b"]]


def test_a_notification_without_a_channel_document_has_no_age() -> None:
    world = World()
    world.channels.down = True
    world.put(record(created_at=NOW - 1000 * HOUR))
    assert world.sweep().dead_lettered == 0


@pytest.mark.parametrize(("answer", "sent"), [(DOWN, 0), (Delivered(), 3)], ids=["down", "back"])
def test_what_is_too_old_is_no_probe(answer: Outcome, sent: int) -> None:
    world = world_of()
    world.channel.always(answer)
    world.put(*(record(dedup_key=f"old {n}", created_at=NOW - 2 * HOUR, next_attempt_at=at(-9)) for n in range(40)))
    world.put(*(record(dedup_key=f"young {n}") for n in range(3)))
    world.states.hold("ops", Hold(at(-1), FAILING), at(-61), failures=5)
    report = world.sweep()
    assert (report.dead_lettered, report.sent, len(world.channel.calls)) == (40, sent, sent or 1)
    assert (world.states.open("ops").hold_reason is None) is bool(sent)
