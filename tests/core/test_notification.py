from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from redeliver.core.notification import FINAL, OPEN, Dispatch, Key, Status, Unreadable, lane_of, message_id
from tests.builders import NOW, at, record


def test_every_status_is_either_open_or_final() -> None:
    assert set(Status) == OPEN | FINAL
    assert not OPEN & FINAL


@pytest.mark.parametrize(
    ("expires", "expected"), [(-1, True), (0, True), (1, False), (None, False)], ids=["past", "now", "later", "never"]
)
def test_expired(expires: float | None, expected: bool) -> None:
    assert record(expires_at=None if expires is None else at(expires)).expired(NOW) is expected


def test_lane_of_a_channel() -> None:
    assert record().lane == lane_of("ops") == "ops#0"


def test_message_id_is_the_same_over_attempts_and_redrives() -> None:
    assert message_id(record()) == message_id(record(attempt_count=3, redrive_count=2, status=Status.RETRYING))


@pytest.mark.parametrize("changes", [{"channel": "b"}, {"dedup_key": "k2"}, {"created_at": at(1)}], ids=str)
def test_message_id_is_another_for_another_notification(changes: dict[str, object]) -> None:
    assert message_id(record()) != message_id(record(**changes))


@given(st.lists(st.text(), min_size=2, max_size=2), st.lists(st.text(), min_size=2, max_size=2))
def test_no_separator_in_the_parts_makes_two_notifications_one(one: Sequence[str], other: Sequence[str]) -> None:
    ids = [message_id(record(channel=channel, dedup_key=key)) for channel, key in (one, other)]
    assert (ids[0] == ids[1]) == (one == other)


@pytest.mark.parametrize(
    "changes", [{"attempt_count": 2}, {"redrive_count": 1}, {"created_at": at(1)}, {"dedup_key": "x"}], ids=str
)
def test_batch_id_is_another_for_another_attempt(changes: dict[str, object]) -> None:
    first = Dispatch((record(attempt_count=1), record(dedup_key="k2", attempt_count=1)), digest=True)
    second = Dispatch((record(**{"attempt_count": 1, **changes}), first.members[1]), digest=True)
    assert first.batch_id != second.batch_id


def test_dispatch_is_what_its_members_share() -> None:
    dispatch = Dispatch((record(recipient="42"),))
    assert (dispatch.channel, dispatch.recipient) == ("ops", "42")
    assert dispatch.batch_id == Dispatch(dispatch.members, digest=True).batch_id


def test_ids_have_32_digits() -> None:
    assert len(message_id(record())) == len(Dispatch((record(),)).batch_id) == 32


def test_an_unreadable_row_is_not_parked_and_a_dispatch_no_digest_unless_it_says_so() -> None:
    assert not Unreadable(Key("ops", "k"), "x").parked
    assert not Dispatch((record(),)).digest
