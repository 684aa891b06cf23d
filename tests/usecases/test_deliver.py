"""Settling: what an attempt came to is written whatever happens, or is known not to be (CASES 4)."""

from datetime import timedelta

import pytest

from redeliver.core.notification import INTERRUPTED, Dispatch, Notification, Status
from redeliver.core.outcome import Delivered, Outcome, Reject, Retry
from redeliver.deliver import End
from redeliver.ports import Mode
from tests.builders import NOW, at, record
from tests.fakes import LOST, REFUSED, FakeChannel
from tests.world import World

CLAIMED = record(attempt_count=1, claimed_until=at(65), next_attempt_at=at(65))


@pytest.mark.parametrize("faults", [[LOST], [REFUSED], [REFUSED, LOST], [LOST, REFUSED], [REFUSED] * 20], ids=str)
@pytest.mark.parametrize("outcome", [Delivered(), Retry("http_500", "x"), Reject("no", "x")], ids=str)
def test_a_settle_that_fails_is_written_again(faults: list[str], outcome: Outcome) -> None:
    world = World()
    world.channel.will(outcome)
    world.ledger.will(None, *faults)
    answer = world.send()
    assert answer.result == world.get().status != Status.PENDING
    assert len(world.channel.calls) == 1
    assert world.pauses
    assert world.telemetry.counted("conflicts", channel="ops") == 0
    assert sum(n for (name, _), n in world.telemetry.counts.items() if name.endswith((".sent", ".failed"))) == 1


def test_a_settle_that_cannot_be_written_leaves_the_outcome_unknown() -> None:
    world = World()
    world.ledger.will(None, *[REFUSED] * 10_000)
    answer = world.send()
    assert (answer.result, answer.status, answer.attempt_count) == ("accepted", "pending", 1)
    assert world.telemetry.warned("settle_not_written")
    assert world.telemetry.counted("conflicts", channel="ops") == 0  # nobody else has the record
    assert world.telemetry.counted("sent", channel="ops", kind="price_drop") == 0
    world.ledger.plan.clear()
    assert timedelta(seconds=57) < world.clock.now - NOW <= timedelta(seconds=60)
    assert world.sweep().looked_at == 0
    assert world.telemetry.counted("maybe_delivered", channel="ops") == 0
    world.clock.now = at(64.9)
    assert world.sweep().sent == 0
    assert len(world.channel.calls) == 1
    assert world.sweep(0.1).sent == 1
    assert (world.get().maybe_delivered, world.get().attempt_count) == (True, 2)
    assert world.telemetry.counted("maybe_delivered", channel="ops") == 1


def test_a_write_is_repeated_with_full_jitter_and_growing_pauses() -> None:
    world = World()
    world.ledger.will(None, *[REFUSED] * 9)
    assert world.send().result == "sent"
    assert world.pauses == [chance * 0.5 for chance in (0.1, 0.2, 0.4, 0.8, 1.6, 3.0, 3.0, 3.0, 3.0)]


def test_a_sweep_that_cannot_settle_counts_no_conflict() -> None:
    world = World()
    world.put(record())
    world.ledger.will(None, *[REFUSED] * 10_000)
    report = world.sweep()
    assert (report.sent, report.conflicts, report.failed_items) == (0, 0, 0)


@pytest.mark.parametrize("outcome", [Retry("timeout", "x", maybe_delivered=True), Retry("http_500", "x")], ids=str)
def test_an_answer_that_never_came_is_counted(outcome: Retry) -> None:
    world = World()
    world.channel.will(outcome)
    world.send()
    assert world.telemetry.counted("maybe_delivered", channel="ops") == int(outcome.maybe_delivered)


def test_the_last_claim_that_died_is_counted_too() -> None:
    world = World()
    world.put(record(attempt_count=5, claimed_until=NOW))
    assert world.sweep(1).dead_lettered == 1
    assert world.get().last_reason == INTERRUPTED
    assert world.telemetry.counted("maybe_delivered", channel="ops") == 1


def test_a_claim_that_was_lost_to_another_is_not_settled() -> None:
    world = World()

    def slow(dispatch: Dispatch) -> Outcome:
        world.channel.respond = lambda dispatch: Delivered()
        world.clock.pass_by(66)  # beyond the lease, which no deadline allows
        assert world.sweep().sent == 1
        return Retry("timeout", "x")

    world.channel.respond = slow
    answer = world.send()
    assert (answer.result, world.get().status, world.get().attempt_count) == ("accepted", Status.SENT, 2)
    assert world.telemetry.counted("conflicts", channel="ops") == 1


def test_a_finding_that_comes_in_while_it_is_sent_keeps_the_record() -> None:
    world = World()

    def asked_again(dispatch: Dispatch) -> Outcome:
        assert world.new_accept()({**REQUEST, "finding_id": "CVE-1"}, world.deadline()).result == "duplicate"
        return Delivered()

    world.channel.respond = asked_again
    assert world.send().result == "sent"
    assert (world.get().finding_id, world.get().expires_at) == ("CVE-1", None)


REQUEST = {"channel": "ops", "dedup_key": "k1", "kind": "price_drop", "subject": "Cheaper", "body": "Now 99"}


def test_a_record_that_vanished_is_not_made_anew() -> None:
    world = World()

    def vanish(dispatch: Dispatch) -> Outcome:
        world.memory.rows.clear()
        return Delivered()

    world.channel.respond = vanish
    assert world.send().result == "accepted"
    assert not world.memory.rows


@pytest.mark.parametrize("count", [1, 2, 3])
def test_attempts_are_counted_by_claims_alone(count: int) -> None:
    world = World()
    world.channel.always(Retry("http_500", "x"))
    world.send()
    for _ in range(count):
        world.sweep(3600)
    assert world.get().attempt_count == len(world.channel.calls) == count + 1


# digests


def digest(*keys: str, **more: object) -> Dispatch:
    return Dispatch(tuple(record(dedup_key=key, attempt_count=1, claimed_until=at(65)) for key in keys), digest=True)


def guilty(*names: str) -> FakeChannel:
    def respond(dispatch: Dispatch) -> Outcome:
        bad = {member.dedup_key for member in dispatch.members} & set(names)
        return Reject("bad_markup", "x") if bad else Delivered()

    return FakeChannel(mode=Mode.DIGEST, respond=respond)


def attempt(world: World, channel: FakeChannel, dispatch: Dispatch, left: float = 60) -> dict[str, Notification]:
    world.put(*dispatch.members)
    settled = world.deliver().attempt(channel, dispatch, world.deadline(timedelta(seconds=left)))
    assert all(one.end is End.WRITTEN for one in settled)
    return {one.record.dedup_key: world.get(one.record.dedup_key) for one in settled}


@pytest.mark.parametrize("names", ["", "a", "d", "h", "ah", "abcd", "abcdefgh"], ids=lambda names: names or "none")
def test_a_refused_digest_is_narrowed_to_the_guilty(names: str) -> None:
    channel = guilty(*names)
    ended = attempt(World(), channel, digest(*"abcdefgh"))
    assert sorted(key for key, one in ended.items() if one.status is Status.DEAD_LETTERED) == sorted(names)
    assert sorted(key for key, one in ended.items() if one.status is Status.SENT) == sorted(
        set("abcdefgh") - set(names)
    )
    assert {one.attempt_count for one in ended.values()} == {1}
    if len(names) == 1:
        assert len(channel.calls) == 7  # 1 + 2 a level


def test_each_part_that_went_out_has_a_batch_id_of_its_own() -> None:
    ended = attempt(World(), guilty("d"), digest(*"abcd"))
    assert ended["a"].dispatch_batch_id == ended["b"].dispatch_batch_id
    assert len({one.dispatch_batch_id for one in ended.values()}) == 3
    assert ended["d"].dispatch_batch_id is None


def test_parts_behind_one_in_trouble_are_spared_and_were_not_sent() -> None:
    channel = FakeChannel(mode=Mode.DIGEST).will(
        Reject("bad", "x"), Retry("timeout", "x", maybe_delivered=True), Delivered()
    )
    ended = attempt(World(), channel, digest(*"abcd"))
    assert channel.sent == [["a", "b", "c", "d"], ["a", "b"]]
    assert {key: (one.status, one.maybe_delivered) for key, one in ended.items()} == {
        "a": (Status.RETRYING, True),
        "b": (Status.RETRYING, True),
        "c": (Status.RETRYING, False),
        "d": (Status.RETRYING, False),
    }


def test_without_time_to_narrow_it_is_tried_again_later() -> None:
    ended = attempt(World(), guilty("a"), digest(*"ab"), left=12.05)
    assert {one.last_reason for one in ended.values()} == {"out_of_time"}
    assert {one.status for one in ended.values()} == {Status.RETRYING}


def test_a_part_for_which_writing_has_left_no_time_is_not_sent() -> None:
    world, dispatch = World(), digest("a", "b")
    world.put(*dispatch.members)
    world.ledger.will(*[REFUSED] * 500)
    channel = FakeChannel(mode=Mode.DIGEST).will(Reject("bad", "x"), Delivered())
    world.deliver().attempt(channel, dispatch, world.deadline())
    assert channel.sent == [["a", "b"], ["a"]]


def test_a_single_member_needs_no_narrowing() -> None:
    channel = guilty("a")
    assert attempt(World(), channel, digest("a"))["a"].status is Status.DEAD_LETTERED
    assert len(channel.calls) == 1


def test_one_member_that_cannot_be_settled_does_not_undo_the_others() -> None:
    world = World()
    dispatch = digest("a", "b")
    world.put(dispatch.members[1])
    settled = world.deliver().attempt(FakeChannel(), dispatch, world.deadline())
    assert [(one.record.dedup_key, one.end) for one in settled] == [("a", End.LOST), ("b", End.WRITTEN)]
