"""What every store promises of where recipients have moved: port Addresses."""

from collections.abc import Iterator

import pytest

from redeliver.core.hold import Hold
from redeliver.ports import ChannelState, Unavailable
from redeliver.store.channels import MOST_MOVED, DynamoChannelStates
from redeliver.store.connection import connect
from redeliver.store.models import ChannelModel
from tests.builders import NOW, at
from tests.stores import Store, dynamo


@pytest.fixture
def table() -> Iterator[Store]:
    with dynamo() as opened:
        yield opened


def another() -> DynamoChannelStates:
    """Return the states as another process sees them."""
    return DynamoChannelStates(connect(ChannelModel, "ChannelsTable"))


def test_nobody_has_moved_at_first(store: Store) -> None:
    assert store.addresses.current("ops", "1") is None
    store.states.open("ops")
    assert store.addresses.current("ops", "1") is None


@pytest.mark.parametrize("opened", [True, False], ids=["a row", "no row yet"])
def test_a_move_is_remembered_by_channel_and_recipient(store: Store, opened: bool) -> None:
    if opened:
        store.states.open("ops")
    store.addresses.move("ops", "1", "-1001")
    store.addresses.move("ops", "a.b[0] #é'", "-1002")
    for _ in range(2):  # before and after the row is read again
        assert store.addresses.current("ops", "1") == "-1001"
        assert store.addresses.current("ops", "a.b[0] #é'") == "-1002"
        assert store.addresses.current("ops", "2") is None
        assert store.addresses.current("dev", "1") is None
        assert [state.channel for state in store.states.all()] == ["ops"]


def test_a_later_move_replaces_an_earlier_one(store: Store) -> None:
    store.addresses.move("ops", "1", "-1001")
    store.addresses.move("ops", "1", "-1002")
    store.states.open("ops")
    assert store.addresses.current("ops", "1") == "-1002"


def test_a_hold_stays_as_it_is(store: Store) -> None:
    store.states.hold("ops", Hold(at(60), "wait"), NOW)
    store.addresses.move("ops", "1", "-1001")
    assert store.states.open("ops") == ChannelState("ops", at(60), "wait")
    store.states.hold("ops", Hold(at(90), "wait"), NOW)
    store.states.open("ops")
    assert store.addresses.current("ops", "1") == "-1001"


def test_another_process_knows_it_once_it_has_read_the_row(table: Store) -> None:
    table.addresses.move("ops", "1", "-1001")
    one, other = another(), another()
    assert one.current("ops", "1") is None
    one.open("ops")
    other.all()
    assert one.current("ops", "1") == other.current("ops", "1") == "-1001"


def test_two_processes_that_learn_something_keep_both(table: Store) -> None:
    one, other, third = another(), another(), another()
    one.move("ops", "1", "-1001")
    other.move("ops", "2", "-1002")
    third.open("ops")
    assert (third.current("ops", "1"), third.current("ops", "2")) == ("-1001", "-1002")


def test_only_so_many_are_kept(table: Store) -> None:
    for number in range(MOST_MOVED + 1):
        table.addresses.move("ops", str(number), "-1")
    table.addresses.move("ops", "0", "-2")  # one of them, again
    states = another()
    states.open("ops")
    assert states.current("ops", "0") == "-2"
    assert states.current("ops", str(MOST_MOVED - 1)) == "-1"
    assert states.current("ops", str(MOST_MOVED)) is None


@pytest.mark.parametrize("moved", [{"S": "x"}, {"M": {"1": {"N": "5"}}}, {"L": []}])
def test_a_row_that_somebody_mistyped_is_one_without_moves(table: Store, moved: dict[str, object]) -> None:
    table.client.put_item(TableName="ChannelsTable", Item={"channel": {"S": "ops"}, "moved": moved})
    table.states.open("ops")
    assert table.addresses.current("ops", "1") is None


def test_a_table_that_fails_says_so(table: Store) -> None:
    table.client.delete_table(TableName="ChannelsTable")
    with pytest.raises(Unavailable):
        table.addresses.move("ops", "1", "-1001")
