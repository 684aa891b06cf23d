"""Items near DynamoDB's limit of 400 KB: isolated before an attempt whose outcome would not fit, and parked once."""

from collections.abc import Iterator
from typing import Any

import pytest
from botocore.exceptions import ClientError

from redeliver.core.notification import Key, Notification, Status, Unreadable
from redeliver.store import items
from tests.builders import at, record
from tests.stores import Store, dynamo
from tests.world import World

TABLE = "NotificationsTable"


@pytest.fixture
def store() -> Iterator[Store]:
    with dynamo() as opened:
        yield opened


def put(store: Store, filling: int, name: str = "filling", key: str = "large") -> None:
    """Put a record that is due, with so many bytes in an attribute."""
    one = record(dedup_key=key, next_attempt_at=at(-9))
    item: dict[str, Any] = {"channel": {"S": "ops"}, "dedup_key": {"S": key}, **items.to_item(one)}
    store.client.put_item(TableName=TABLE, Item={**item, name: {"S": "x" * filling}})
    store.states.open("ops")


def stored(store: Store) -> dict[str, Any]:
    key = {"channel": {"S": "ops"}, "dedup_key": {"S": "large"}}
    item: dict[str, Any] = store.client.get_item(TableName=TABLE, Key=key)["Item"]
    return item


@pytest.fixture
def full(store: Store) -> Iterator[None]:
    """Let no item take more bytes; moto does not size an update as DynamoDB does, `tests/stack` has that."""

    def refuse(params: dict[str, Any], **_: Any) -> None:
        if "write_token" in params["ExpressionAttributeNames"].values():
            error: Any = {"Code": "ValidationException", "Message": "Item size to update has exceeded"}
            raise ClientError({"Error": error}, "UpdateItem")

    ledger: Any = store.ledger
    events = ledger._table.connection.client.meta.events
    events.register("provide-client-params.dynamodb.UpdateItem", refuse)
    yield
    events.unregister("provide-client-params.dynamodb.UpdateItem", refuse)


@pytest.mark.usefixtures("full")
def test_what_takes_no_more_bytes_is_parked_once_all_the_same(store: Store) -> None:
    put(store, items.LARGEST)
    row = store.ledger.get(Key("ops", "large"))
    assert isinstance(row, Unreadable)
    assert store.ledger.park(row, at(0))
    assert store.lanes.dead_letters("ops") == (1, True)  # where an operator sees it
    assert store.lanes.page("ops").rows == []
    before = stored(store)
    assert not store.ledger.park(row, at(60))
    assert stored(store) == before


def test_a_large_item_with_a_little_room_says_why_it_is_parked(store: Store) -> None:
    world = World(store=store)
    put(store, items.LARGEST)
    assert world.sweep().dead_lettered == 1
    row = store.ledger.get(Key("ops", "large"))
    assert isinstance(row, Unreadable)
    assert row.parked
    assert "more than 400000 bytes" in row.problem
    assert (stored(store)["status"], stored(store)["last_reason"]) == ({"S": "dead_lettered"}, {"S": "unreadable"})


def test_a_page_of_large_items_is_read_in_several_answers(store: Store) -> None:
    world = World(store=store)
    for number in range(60):  # DynamoDB answers a batch read with 16 MB at most
        put(store, 380_000, key=f"k{number}")
    assert world.sweep().sent == 60


def test_the_largest_record_of_ours_has_room(store: Store) -> None:
    world = World(store=store)
    most: dict[str, Any] = {
        "dedup_key": "k" * 1024,
        "subject": "s" * 1024,
        "body": "b" * 65_536,
        "payload": "p" * 65_000,
        "finding_id": "f" * 1024,
        "recipient": "r" * 256,
    }
    assert world.send(**most).result == "sent"
    stored_record = world.get("k" * 1024)
    assert isinstance(stored_record, Notification)
    assert stored_record.status is Status.SENT


# found by `python -m tests.mutation`


@pytest.mark.usefixtures("full")
def test_parking_what_takes_no_more_bytes_adds_none(store: Store) -> None:
    put(store, items.LARGEST)
    before = stored(store)
    assert store.ledger.park(Unreadable(Key("ops", "large"), "x"), at(0))
    assert len(str(stored(store))) <= len(str(before))
