"""What every store promises of single records: ports Ledger and ChannelStates."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from redeliver.core import lifecycle
from redeliver.core.hold import Hold
from redeliver.core.notification import Key, Notification, Status, Unreadable
from redeliver.core.outcome import Delivered
from redeliver.core.policy import Policy
from redeliver.ports import ChannelState
from tests.builders import NOW, at, final, record, request
from tests.stores import Store

POLICY = Policy()


def stored(store: Store, one: Notification) -> Notification:
    assert store.ledger.add(one, NOW)
    return one


FULL = record(
    status=Status.RETRYING,
    attempt_count=3,
    redrive_count=1,
    recipient="-100",
    payload='{"a":[1,null,"é"]}',
    finding_id="CVE-1",
    claimed_until=at(65),
    last_error="line\nline",
    last_reason="http_500",
    maybe_delivered=True,
    dispatch_batch_id="b",
    deliver_by=at(-(10**10)),
    sent_at=at(1),
    dead_lettered_at=at(2),
    expires_at=at(3),
)


@pytest.mark.parametrize("one", [FULL, record(), final(), record(body="", dedup_key="a|b#c\n\x00é🎈")], ids=str)
def test_what_is_put_is_got(store: Store, one: Notification) -> None:
    assert store.ledger.get(one.key) is None
    stored(store, one)
    assert store.ledger.get(one.key) == one


def test_what_is_there_is_not_replaced_by_a_put(store: Store) -> None:
    stored(store, record())
    assert not store.ledger.add(record(body="other"), at(10**9))
    assert store.ledger.get(record().key) == record()


@pytest.mark.parametrize(("moment", "taken"), [(9, False), (10, True), (11, True)], ids=["before", "at", "after"])
def test_past_its_expiry_a_record_is_absent(store: Store, moment: float, taken: bool) -> None:
    stored(store, final(expires_at=at(10), finding_id="F"))
    again = record(created_at=at(moment))
    assert store.ledger.add(again, at(moment)) is taken
    assert store.ledger.get(again.key) == (again if taken else final(expires_at=at(10), finding_id="F"))


def test_an_update_changes_what_differs_and_removes_what_is_gone(store: Store) -> None:
    stored(store, FULL)
    after = record(last_error="x", recipient="-100", status=Status.RETRYING, updated_at=at(8))
    assert store.ledger.replace(FULL, after)
    assert store.ledger.get(FULL.key) == after


@pytest.mark.parametrize(
    "moved",
    [
        {"status": Status.RETRYING},
        {"attempt_count": 1},
        {"next_attempt_at": at(1)},
        {"claimed_until": at(1)},
        {"redrive_count": 1},
        {"finding_id": "F"},
        {"expires_at": at(9)},
    ],
    ids=lambda moved: next(iter(moved)),
)
def test_a_write_on_an_old_reading_changes_nothing(store: Store, moved: dict[str, Any]) -> None:
    was = record()
    now = stored(store, replace(was, **moved))
    assert not store.ledger.replace(was, replace(was, body="mine"))
    assert store.ledger.get(was.key) == now


def test_a_write_does_not_undo_what_it_knows_nothing_of(store: Store) -> None:
    was = record()
    stored(store, replace(was, requested_at=at(7), last_error="news"))
    assert store.ledger.replace(was, replace(was, attempt_count=1))
    assert store.ledger.get(was.key) == replace(was, requested_at=at(7), last_error="news", attempt_count=1)


def test_an_older_request_does_not_undo_a_newer_one(store: Store) -> None:
    was = final(finding_id="F")
    stored(store, replace(was, requested_at=at(10)))
    older = lifecycle.asked_again(was, request(finding_id="F"), at(5))
    assert not store.ledger.replace(was, older)


def test_there_is_no_update_of_what_is_absent(store: Store) -> None:
    assert not store.ledger.replace(record(), record(attempt_count=1))
    assert not store.ledger.replace(final(next_attempt_at=None), final(updated_at=at(1)))
    assert store.ledger.get(record().key) is None


ARROWS: list[tuple[str, Notification, Callable[[Notification], Notification | None]]] = [
    ("claim", record(), lambda r: lifecycle.claim(r, NOW, at(65))),
    ("settle", record(attempt_count=1, claimed_until=at(65)),
     lambda r: lifecycle.settle(r, Delivered(), NOW, POLICY, batch_id="b")),
    ("give up", record(attempt_count=5, claimed_until=NOW), lambda r: lifecycle.give_up(r, NOW, POLICY)),
    ("stale", record(deliver_by=at(-1)), lambda r: lifecycle.stale(r, NOW, POLICY)),
    ("redrive", final(Status.DEAD_LETTERED), lambda r: lifecycle.redrive(r, NOW)),
    ("cancel", record(), lambda r: lifecycle.cancel(r, NOW, POLICY, reason="x")),
    ("asked again", final(expires_at=at(9)), lambda r: lifecycle.asked_again(r, request(finding_id="F"), at(1))),
]  # fmt: skip


@pytest.mark.parametrize(("before", "arrow"), [case[1:] for case in ARROWS], ids=[case[0] for case in ARROWS])
def test_each_arrow_is_written_once(
    store: Store, before: Notification, arrow: Callable[[Notification], Notification | None]
) -> None:
    stored(store, before)
    after = arrow(before)
    assert after is not None
    assert store.ledger.replace(before, after)
    assert store.ledger.get(before.key) == after
    assert not store.ledger.replace(before, after)


def test_a_redrive_loses_to_an_expiry_that_was_set_meanwhile(store: Store) -> None:
    was = final(Status.DEAD_LETTERED, finding_id="F")
    stored(store, replace(was, expires_at=at(100)))
    redriven = lifecycle.redrive(was, NOW)
    assert redriven is not None
    assert not store.ledger.replace(was, redriven)


def test_asking_again_loses_to_an_expiry_that_was_set_meanwhile(store: Store) -> None:
    was = final(finding_id="F")
    stored(store, replace(was, expires_at=at(100)))
    assert not store.ledger.replace(was, lifecycle.asked_again(was, request(finding_id="F"), at(5)))


# unreadable rows


def test_an_unreadable_row_is_told_and_parked_once(store: Store) -> None:
    key = Key("ops", "bad")
    store.plant(key, 5, "F")
    row = store.ledger.get(key)
    assert isinstance(row, Unreadable)
    assert (row.key, row.parked) == (key, False)
    assert [waiting.key for waiting in store.lanes.page("ops").rows] == [key]
    assert store.ledger.park(row, at(9))
    assert not store.ledger.park(row, at(10))
    parked = store.ledger.get(key)
    assert isinstance(parked, Unreadable)
    assert parked.parked
    assert not store.lanes.page("ops").rows
    assert store.lanes.dead_letters("ops") == (1, True)
    assert [list(page) for page in store.records.pages("F")] == [[parked]]


def test_what_is_gone_is_not_parked(store: Store) -> None:
    assert not store.ledger.park(Unreadable(Key("ops", "never was"), "x"), NOW)
    assert store.ledger.get(Key("ops", "never was")) is None


def test_unreadable_rows_block_a_put_and_are_not_updated(store: Store) -> None:
    key = record().key
    store.plant(key, None, None)
    assert not store.ledger.add(record(), at(10**9))
    assert not store.ledger.replace(record(), record(attempt_count=1))


# channel rows


def test_a_channel_row_is_made_once_and_kept(store: Store) -> None:
    assert not store.states.all()
    assert store.states.open("b").hold_until is None
    assert store.states.hold("b", Hold(at(60), "wait"), NOW)
    store.states.open("a")
    held = store.states.open("b")
    assert (held.channel, held.hold_until, held.hold_reason) == ("b", at(60), "wait")
    assert [state.channel for state in store.states.all()] == ["a", "b"]
    assert store.states.all()[1] == held


@pytest.mark.parametrize(
    ("until", "reason", "moment", "changed"),
    [
        (61, "wait", 0, True),
        (60, "wait", 0, False),
        (59, "wait", 0, False),
        (59, "wait", 59, False),
        (61, "wait", 60, True),
        (50, "wait", 60, True),
    ],
    ids=["longer", "as long", "shorter", "just not over", "just over", "over, into the past"],
)
def test_a_hold_is_only_made_longer(store: Store, until: float, reason: str, moment: float, changed: bool) -> None:
    store.states.hold("ops", Hold(at(60), "not_configured"), NOW)
    assert store.states.hold("ops", Hold(at(until), reason), at(moment)) is changed
    expected = (at(until), reason) if changed else (at(60), "not_configured")
    state = store.states.open("ops")
    assert (state.hold_until, state.hold_reason) == expected


def test_only_time_ends_a_hold_of_an_operator(store: Store) -> None:
    store.states.hold("ops", Hold(at(60), "operator"), NOW)
    assert not store.states.hold("ops", Hold(at(1000), "wait"), at(59))
    assert store.states.hold("ops", Hold(at(1000), "wait"), at(60))


@pytest.mark.parametrize(("moment", "held"), [(59, True), (60, False)])
def test_held(store: Store, moment: float, held: bool) -> None:
    store.states.hold("ops", Hold(at(60), "wait"), NOW)
    assert store.states.open("ops").held(at(moment)) is held


def test_a_hold_writes_the_failures_that_are_known_and_keeps_the_others(store: Store) -> None:
    store.states.open("ops")
    store.states.hold("ops", Hold(at(60), "failing"), NOW, failures=5)
    store.states.hold("ops", Hold(at(90), "wait"), NOW)
    assert store.states.open("ops") == ChannelState("ops", at(90), "wait", 5)
    assert store.states.all() == [ChannelState("ops", at(90), "wait", 5)]


def test_of_two_that_would_probe_one_does(store: Store) -> None:
    store.states.open("ops")
    store.states.hold("ops", Hold(at(60), "failing"), NOW, failures=5)
    read = store.states.open("ops")
    assert store.states.probe(read, at(60.5)) == ChannelState("ops", at(121), "failing", 5)
    assert store.states.probe(read, at(60.5)) is None
    assert store.states.open("ops") == ChannelState("ops", at(121), "failing", 5)


def test_freeing_ends_the_hold_and_keeps_the_failures(store: Store) -> None:
    read = store.states.open("ops")
    assert store.states.free(read, 3)
    assert store.states.open("ops") == ChannelState("ops", failures=3)
    store.states.hold("ops", Hold(at(60), "failing"), NOW, failures=5)
    assert store.states.free(store.states.open("ops"), 0)
    assert store.states.open("ops") == ChannelState("ops")


def test_a_hold_that_came_meanwhile_is_not_ended(store: Store) -> None:
    read = store.states.open("ops")
    store.states.hold("ops", Hold(at(60), "operator"), NOW)
    assert not store.states.free(read, 0)
    held = store.states.open("ops")
    store.states.hold("ops", Hold(at(120), "failing"), at(60))
    assert not store.states.free(held, 0)
    assert store.states.open("ops").hold_reason == "failing"


# found by `python -m tests.mutation`


def test_a_hold_until_the_same_moment_for_another_reason_is_another_hold(store: Store) -> None:
    store.states.open("ops")
    store.states.hold("ops", Hold(at(60), "failing"), NOW)
    read = store.states.open("ops")
    store.holds.impose("ops", Hold(at(60), "operator"), "maintenance")
    assert store.states.probe(read, at(60)) is None
    assert not store.states.free(read, 0)
    assert store.states.open("ops") == ChannelState("ops", at(60), "operator", 0, "maintenance")


def test_the_note_of_a_hold_ends_with_it(store: Store) -> None:
    store.holds.impose("ops", Hold(at(60), "operator"), "maintenance")
    assert store.holds.release("ops")
    assert store.states.open("ops") == ChannelState("ops")
    store.holds.impose("ops", Hold(at(60), "operator"), "maintenance")
    assert store.states.free(store.states.open("ops"), 0)
    assert store.states.open("ops") == ChannelState("ops")
