import json
import threading
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta

import pytest

from redeliver.accept import window_end
from redeliver.core.hold import Hold
from redeliver.core.notification import Key, Status, Unreadable
from redeliver.core.outcome import Delivered, Gone, Outcome, Reject, Retry
from redeliver.ports import Mode, Unavailable
from tests.builders import NOW, at, final, raw, record
from tests.fakes import LOST, REFUSED, FakeChannel
from tests.world import World

SECONDS = timedelta(seconds=1)


def test_sent_at_once() -> None:
    world = World()
    answer = world.send()
    stored = world.get()
    assert answer.as_json() == {
        "channel": "ops",
        "dedup_key": "k1",
        "result": "sent",
        "status": "sent",
        "attempt_count": 1,
        "dispatch_batch_id": stored.dispatch_batch_id,
    }
    assert (stored.status, stored.sent_at, stored.expires_at) == (Status.SENT, NOW, NOW + timedelta(days=90))
    assert world.telemetry.counted("sent", channel="ops", kind="price_drop") == 1


@pytest.mark.parametrize(
    ("outcome", "result", "next_attempt_at"),
    [
        (Retry("http_500", "it burns"), "retrying", int(at(300).timestamp())),
        (Reject("too_long", "it burns"), "dead_lettered", None),
        (Gone("http_410", "it burns"), "dead_lettered", None),
    ],
)
def test_failed_at_once(outcome: Outcome, result: str, next_attempt_at: int | None) -> None:
    world = World()
    world.channel.will(outcome)
    answer = world.send()
    assert (answer.result, answer.status, answer.attempt_count, answer.error) == (result, result, 1, "it burns")
    assert answer.next_attempt_at == next_attempt_at
    assert world.get().status == result
    reason = "transient" if result == "retrying" else "dead_lettered"
    assert world.telemetry.counted("failed", channel="ops", reason=reason) == 1
    assert world.telemetry.warned("notification_dead_lettered") is (result == "dead_lettered")


def test_the_put_is_the_first_claim() -> None:
    world = World()
    leases = []

    def look(dispatch: object) -> Outcome:
        leases.append(world.get())
        return Delivered()

    world.channel.respond = look
    world.send()
    assert (leases[0].attempt_count, leases[0].claimed_until, leases[0].next_attempt_at) == (1, at(65), at(65))
    assert world.memory.writes == 2


@pytest.mark.parametrize("status", sorted(Status))
def test_every_stored_status_makes_a_duplicate(status: Status) -> None:
    world = World()
    world.put(record(status=status) if status in ("pending", "retrying") else final(status))
    before = world.get()
    answer = world.send(body="changed since")
    assert (answer.result, answer.status) == ("duplicate", status)
    assert world.get() == before
    assert not world.channel.calls
    assert world.telemetry.counted("duplicate", channel="ops") == 1


def test_a_duplicate_that_names_a_finding_keeps_the_record() -> None:
    world = World()
    world.put(final(expires_at=at(500)))
    world.clock.pass_by(5)
    assert world.send(finding_id="CVE-1").result == "duplicate"
    stored = world.get()
    assert (stored.finding_id, stored.requested_at, stored.expires_at) == ("CVE-1", at(5), None)


@pytest.mark.parametrize(("seconds", "result"), [(499, "duplicate"), (500, "sent"), (501, "sent")])
def test_past_its_expiry_a_record_is_absent_though_dynamodb_still_has_it(seconds: int, result: str) -> None:
    world = World()
    world.put(final(expires_at=at(500)))
    world.clock.pass_by(seconds)
    assert world.send().result == result


def test_suppressed() -> None:
    world = World()
    answer = world.send(suppress="seen before", finding_id="CVE-1")
    assert (answer.result, answer.status, answer.attempt_count) == ("suppressed", "suppressed", 0)
    assert (world.get().last_reason, world.get().expires_at) == ("seen before", None)
    assert world.telemetry.counted("suppressed", channel="ops") == 1
    assert not world.channel.calls


def test_expired_before_it_was_asked_for() -> None:
    world = World()
    answer = world.send(deliver_by=at(-1).isoformat())
    assert (answer.result, world.get().last_reason) == ("dead_lettered", "expired")
    assert world.telemetry.counted("expired", channel="ops") == 1
    assert world.telemetry.warned("notification_dead_lettered")
    assert not world.channel.calls


def test_not_configured_is_stored_and_waits_without_an_attempt() -> None:
    world = World()
    answer = world.send(channel="nowhere")
    assert (answer.result, answer.status, answer.attempt_count) == ("not_configured", "pending", 0)
    assert answer.error == "nowhere: there is no document"
    assert world.telemetry.counted("not_configured") == 1
    assert world.get(channel="nowhere").next_attempt_at == NOW


def test_an_unknown_channel_is_no_dimension() -> None:
    world = World()
    for _ in range(2):
        world.send(channel="nowhere")
    world.send(channel="nowhere", dedup_key="b", suppress="x")
    world.send(channel="nowhere", dedup_key="c", deliver_by=at(-1).isoformat())
    names = {name: dict(by) for name, by in world.telemetry.counts}
    assert names == {f"notifications.{n}": {} for n in ("not_configured", "duplicate", "suppressed", "expired")}


def test_when_nobody_can_tell_the_channel_it_is_accepted() -> None:
    world = World()
    world.channels.down = True
    answer = world.send()
    assert (answer.result, answer.attempt_count) == ("accepted", 0)
    assert world.telemetry.warned("channel_unavailable")
    world.channels.down = False
    assert world.sweep().sent == 1


@pytest.mark.parametrize(
    ("left", "result"), [(12.04, "accepted"), (12.05, "sent"), (60, "sent")], ids=["too short", "just enough", "plenty"]
)
def test_no_attempt_without_room_for_a_whole_one(left: float, result: str) -> None:
    world = World()
    answer = world.send(left=left * SECONDS)
    assert answer.result == result
    assert bool(world.channel.calls) is (result == "sent")
    assert world.get().attempt_count == (1 if result == "sent" else 0)


@pytest.mark.parametrize(
    ("now", "seconds", "expected"),
    [(0, 0, 0), (0.5, 0, 0.5), (0, 60, 60), (59.9, 60, 60), (60, 60, 120), (1, -5, 1), (61, 3600, 3600)],
)
def test_digest_windows_are_aligned(now: float, seconds: int, expected: float) -> None:
    assert window_end(at(now), seconds) == at(expected)


def test_a_digest_member_waits_for_the_end_of_its_window() -> None:
    world = World()
    world.add_channel("daily", FakeChannel(mode=Mode.DIGEST, digest_seconds=3600))
    world.clock.pass_by(100)
    answer = world.send(channel="daily")
    assert (answer.result, answer.attempt_count, answer.next_attempt_at) == ("accepted", 0, int(at(3600).timestamp()))


def test_on_hold_it_is_stored_uncharged() -> None:
    world = World()
    world.states.open("ops")
    world.states.hold("ops", Hold(at(60), "operator"), NOW)
    answer = world.send()
    assert (answer.result, answer.attempt_count, world.get().next_attempt_at) == ("accepted", 0, NOW)
    assert not world.channel.calls


def test_a_container_goes_by_a_channels_row_for_30_seconds() -> None:
    world = World()
    world.send(dedup_key="a")
    world.states.hold("ops", Hold(at(600), "operator"), NOW)
    world.clock.pass_by(29.9)
    assert world.send(dedup_key="b").result == "sent"
    assert world.rows.reads == 1
    world.clock.pass_by(0.1)
    assert world.send(dedup_key="c").result == "accepted"
    assert world.rows.reads == 2


@pytest.mark.parametrize(
    ("recipient", "held"), [(None, True), ("42", False)], ids=["about the channel", "about one recipient"]
)
def test_a_named_wait(recipient: str | None, held: bool) -> None:
    world = World()
    world.channel.will(Retry("http_429", "slower", timedelta(seconds=900)))
    assert world.send(recipient=recipient).next_attempt_at == int(at(900).timestamp())
    state = world.states.open("ops")
    assert (state.hold_until, state.hold_reason) == ((at(900), "wait") if held else (None, None))
    assert world.send(dedup_key="k2").result == ("accepted" if held else "sent")


def test_a_named_wait_is_clamped_to_the_cap() -> None:
    world = World()
    world.channel.will(Retry("http_429", "slower", timedelta(days=300)))
    world.send()
    assert world.states.open("ops").hold_until == world.get().next_attempt_at == NOW + timedelta(days=1)


def test_a_hold_that_cannot_be_written_costs_no_answer() -> None:
    world = World()
    world.rows.broken = True
    world.channel.will(Retry("http_429", "slower", timedelta(seconds=900)))
    assert world.send().result == "retrying"
    assert world.telemetry.warned("hold_not_written")


# bad input


@pytest.mark.parametrize(
    ("given", "field"),
    [
        (raw(subject=...), "subject"),
        (raw(channel="no spaces"), "channel"),
        (raw(dedup_key="é" * 513), "dedup_key"),
        (raw(extra=1), "extra"),
        ("text", "JSON object"),
        (None, "JSON object"),
        ([raw()], "JSON object"),
    ],
    ids=lambda given: str(given)[:20],
)
def test_invalid_names_the_field_and_stores_nothing(given: object, field: str) -> None:
    world = World()
    answer = world.accept(given, world.deadline())
    assert (answer.result, answer.status) == ("invalid", None)
    assert field in str(answer.error)
    assert not world.memory.rows
    assert not world.rows.rows
    assert world.telemetry.counted("invalid") == 1


def test_invalid_echoes_what_it_can() -> None:
    world = World()
    answer = world.accept(raw(kind=5, dedup_key="k" * 5000), world.deadline()).as_json()
    assert (answer["channel"], answer["dedup_key"]) == ("ops", "k" * 1024)
    assert answer["status"] is None
    assert answer["attempt_count"] is None


# others at the same time, and faults


@pytest.mark.parametrize("_round", range(5))
def test_two_at_the_same_moment_give_one_delivery(_round: int) -> None:
    world = World()
    gate = threading.Barrier(8)

    def ask() -> str:
        accept = world.new_accept()
        gate.wait(5)
        return accept(raw(), world.deadline()).result

    with ThreadPoolExecutor(8) as pool:
        results = sorted(f.result() for f in [pool.submit(ask) for _ in range(8)])
    assert results == ["duplicate"] * 7 + ["sent"]
    assert len(world.channel.calls) == 1


def test_an_unreadable_record_is_parked_and_answered() -> None:
    world = World()
    world.memory.plant(Key("ops", "k1"), next_attempt_at=NOW)
    for _ in range(2):
        answer = world.send()
        assert (answer.result, answer.status) == ("duplicate", "dead_lettered")
        assert "cannot be read: status has a value" in str(answer.error)
    row = world.ledger.get(Key("ops", "k1"))
    assert isinstance(row, Unreadable)
    assert row.parked
    assert world.telemetry.counted("unreadable", channel="ops") == 1


@pytest.mark.parametrize("fault", [LOST, REFUSED])
def test_what_could_not_be_stored_is_raised(fault: str) -> None:
    world = World()
    world.ledger.will(fault)
    with pytest.raises(Unavailable):
        world.send()
    assert not world.channel.calls


@pytest.mark.parametrize(("fault", "result"), [(LOST, "duplicate"), (REFUSED, "sent")])
def test_asked_again_after_a_put_whose_answer_was_lost(fault: str, result: str) -> None:
    world = World()
    world.ledger.will(fault)
    with pytest.raises(Unavailable):
        world.send()
    assert world.send().result == result
    world.sweep(65)
    assert len(world.channel.calls) == 1
    assert world.get().status is Status.SENT
    assert world.get().maybe_delivered is (fault == LOST)  # for all that anybody knows


def test_a_record_that_goes_away_in_between_is_tried_again() -> None:
    world = World()
    world.put(final(expires_at=at(10)))
    world.clock.now = at(9)
    world.ledger.on_write = lambda: world.clock.pass_by(0)
    assert world.send().result == "duplicate"

    def vanish() -> None:
        world.ledger.on_write = lambda: world.memory.rows.clear()

    world.ledger.on_write = vanish
    assert world.send(finding_id="F").result == "sent"


def test_a_record_that_goes_away_before_it_is_read_is_made_anew() -> None:
    world = World()
    world.put(final())
    world.ledger.on_read = lambda: world.memory.rows.clear()
    assert world.send().result == "sent"


def test_overtaken_for_ever_gives_up_and_says_so() -> None:
    world = World()
    world.put(final())

    def overtake() -> None:
        stored = world.get()
        world.memory.rows[stored.key] = final(redrive_count=stored.redrive_count + 1)
        world.ledger.on_write = overtake

    world.ledger.on_write = overtake
    with pytest.raises(Unavailable, match="others kept writing"):
        world.send(finding_id="F")


def test_what_no_time_is_left_to_store_goes_back_unstored() -> None:
    world = World()
    assert world.send(dedup_key="a", left=timedelta(seconds=2)).result == "accepted"
    with pytest.raises(Unavailable, match="no time was left to store it"):
        world.send(dedup_key="b", left=timedelta(seconds=1.9))
    assert not world.has("b")
    assert world.send(dedup_key="B", kind="NO", left=timedelta(seconds=1)).result == "invalid"  # whenever it comes


@pytest.mark.parametrize("field", ["channel", "dedup_key"])
def test_half_a_surrogate_pair_in_what_is_echoed_spoils_no_other_answer(field: str) -> None:
    world = World()
    answer = world.accept(raw(**{field: "a\ud800"}), world.deadline())
    assert answer.result == "invalid"
    json.dumps(answer.as_json(), ensure_ascii=False).encode()  # as Lambda's runtime does from Python 3.12 on
