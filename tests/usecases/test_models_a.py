"""What system A asks for, by number (SPEC 11): a price tracker whose Telegram messages got lost."""

import threading
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta

import pytest

from redeliver.core.notification import Status
from redeliver.core.outcome import Retry
from redeliver.core.policy import Policy
from tests.builders import NOW, at, final, raw, record
from tests.world import World

MINUTE = timedelta(minutes=1)
DOWN = Retry("http_502", "Bad Gateway")


def tracker(attempts: int = 6, cap: int = 60 * 24, most: int = 50) -> World:
    policy = Policy(base_delay=MINUTE, max_delay=cap * MINUTE, max_attempts=attempts)
    return World(policy=policy, max_records=most, concurrency=1)


def test_a1_a_failed_send_is_stored_whole() -> None:
    world = tracker()
    world.channel.will(DOWN)
    world.send(kind="new_ad", body="All of the text\nas it was", recipient="-100123")
    stored = world.get()
    assert (stored.kind, stored.recipient, stored.body) == ("new_ad", "-100123", "All of the text\nas it was")
    assert (stored.status, stored.last_error, stored.last_reason) == (Status.RETRYING, "Bad Gateway", "http_502")


@pytest.mark.parametrize(("seconds", "sent"), [(59, 0), (60, 1)], ids=["before its time", "at its time"])
def test_a2_the_next_sweep_tries_it_when_its_backoff_has_passed(seconds: int, sent: int) -> None:
    world = tracker()
    world.channel.will(DOWN)
    world.send()
    assert world.sweep(seconds).sent == sent


@pytest.mark.parametrize(("cap", "waits"), [(24 * 60, [1, 2, 4, 8, 16]), (5, [1, 2, 4, 5, 5])])
def test_a3_waits_double_from_a_minute_up_to_the_cap(cap: int, waits: list[int]) -> None:
    world = tracker(cap=cap)
    world.channel.always(DOWN)
    world.send()
    for wait in waits:
        due = world.get().next_attempt_at
        assert due == world.clock.now + wait * MINUTE
        world.clock.now = due + timedelta(seconds=17)  # late, as sweeps are: the next wait counts from there
        world.sweep()
    assert world.get().status is Status.DEAD_LETTERED


def test_a3_capped_at_60_when_the_cap_is_60() -> None:
    world = tracker(attempts=9, cap=60)
    world.channel.always(DOWN)
    world.put(record(status=Status.RETRYING, attempt_count=6))
    world.sweep()
    assert world.get().next_attempt_at == NOW + 60 * MINUTE


def test_a4_after_the_last_attempt_dead_and_a_log_line() -> None:
    world = tracker(attempts=2)
    world.channel.always(DOWN)
    world.send()
    world.sweep(60)
    assert world.get().status is Status.DEAD_LETTERED
    (line,) = world.telemetry.of("notification_dead_lettered")
    expected = {
        "channel": "ops",
        "dedup_key": "k1",
        "kind": "price_drop",
        "subject": "Cheaper",
        "status": "dead_lettered",
        "attempt_count": 2,
        "reason": "http_502",
        "error": "Bad Gateway",
    }
    assert line == expected


def test_a5_at_most_50_a_cycle_fewest_attempts_first_then_oldest() -> None:
    world = tracker()
    world.put(*(record(dedup_key=f"b{n:02}", attempt_count=1, next_attempt_at=at(n - 9999)) for n in range(40)))
    world.put(*(record(dedup_key=f"a{n:02}", next_attempt_at=at(n - 999)) for n in range(20)))
    assert world.sweep().sent == 50
    assert [keys[0] for keys in world.channel.sent] == [f"a{n:02}" for n in range(20)] + [f"b{n:02}" for n in range(30)]


def test_a6_the_same_thing_twice_is_one_record() -> None:
    world = tracker()
    world.channel.will(DOWN)
    assert [world.send().result for _ in range(2)] == ["retrying", "duplicate"]
    assert len(world.memory.rows) == 1


def test_a6_also_when_both_run_at_once() -> None:
    world = tracker()
    gate = threading.Barrier(2)

    def ask() -> str:
        gate.wait(5)
        return world.new_accept()(raw(), world.deadline()).result

    with ThreadPoolExecutor(2) as pool:
        results = sorted(done.result() for done in [pool.submit(ask) for _ in range(2)])
    assert results == ["duplicate", "sent"]
    assert len(world.channel.calls) == 1


def test_a7_a_retry_that_succeeds_is_recorded_like_a_direct_success() -> None:
    world = tracker()
    world.send(dedup_key="direct")
    world.channel.will(DOWN)
    world.send(dedup_key="retried")
    world.sweep(60)
    direct, retried = world.get("direct"), world.get("retried")
    assert (retried.status, retried.sent_at) == (direct.status, at(60))
    assert (retried.last_error, retried.last_reason) == (None, None)
    assert (retried.next_attempt_at, retried.claimed_until) == (None, None)
    assert retried.expires_at == direct.expires_at
    assert world.telemetry.counted("sent", channel="ops", kind="price_drop") == 2


def test_a8_pending_and_dead_counts_are_in_the_log_and_on_request() -> None:
    world = tracker()
    world.put(*(record(dedup_key=str(n), next_attempt_at=at(99)) for n in range(3)))
    world.put(final(Status.DEAD_LETTERED, dedup_key="dead"))
    world.sweep()
    (line,) = world.telemetry.of("sweep_finished")
    assert (line["pending"], line["dead_letters"]) == (3, 1)
    answer = world.operate(command="counts")
    assert (answer["pending"], answer["dead_letters"]) == (3, 1)


def test_a9_the_retry_sends_the_stored_text_though_the_source_has_changed() -> None:
    world = tracker()
    world.channel.will(DOWN)
    world.send(body="Now 99")
    assert world.send(body="Now 89").result == "duplicate"
    world.sweep(60)
    assert [dispatch.members[0].body for dispatch in world.channel.calls] == ["Now 99", "Now 99"]


@pytest.mark.parametrize("length", [1023, 1024, 1025, 10**6])
def test_a10_error_texts_are_capped(length: int) -> None:
    world = tracker()
    world.channel.will(Retry("http_500", "é" * length))
    world.send()
    assert len(world.get().last_error or "") == min(length, 1024)
