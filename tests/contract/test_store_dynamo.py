"""What only the real table can hold: items that are no records, the template's tables, errors of the service."""

from collections.abc import Iterator
from typing import Any

import pytest
from botocore.exceptions import (
    ClientError,
    ConnectionClosedError,
    ConnectTimeoutError,
    EndpointConnectionError,
    ReadTimeoutError,
)
from pynamodb.exceptions import CancellationReason, PutError, TransactWriteError, VerboseClientError
from pynamodb.models import Model

from redeliver.core.finding import DamagedFinding
from redeliver.core.notification import Key, Notification, Status, Unreadable
from redeliver.core.policy import Policy
from redeliver.ports import Unavailable, Waiting
from redeliver.store import items
from redeliver.store.connection import translated
from redeliver.store.findings import DynamoFindingRecords
from redeliver.store.models import ChannelModel, FindingModel, NotificationModel
from redeliver.store.notifications import DynamoNotifications
from tests.builders import NOW, at, final, finding, record
from tests.stores import Store, dynamo, tables
from tests.world import World

TABLE = "NotificationsTable"


@pytest.fixture
def store() -> Iterator[Store]:
    with dynamo() as opened:
        yield opened


def item_of(one: Notification, **changes: object) -> dict[str, Any]:
    """Return the raw item of a record; an attribute given as None is left out."""
    item = {"channel": {"S": one.channel}, "dedup_key": {"S": one.dedup_key}, **items.to_item(one), **changes}
    return {name: value for name, value in item.items() if value is not None}


BAD: dict[str, dict[str, object]] = {
    "number as text": {"attempt_count": {"S": "1"}},
    "text as number": {"body": {"N": "1"}},
    "flag as text": {"maybe_delivered": {"S": "yes"}},
    "null": {"recipient": {"NULL": True}},
    "map": {"payload": {"M": {}}},
    "no kind": {"kind": None},
    "no attempt count": {"attempt_count": None},
    "no status": {"status": None},
    "no time of creation": {"created_at": None},
    "status of a later version": {"status": {"S": "snoozed"}},
    "sent, and due all the same": {"status": {"S": "sent"}},
    "status as number": {"status": {"N": "1"}},
    "fractional count": {"attempt_count": {"N": "1.5"}},
    "negative count": {"attempt_count": {"N": "-1"}},
    "huge count": {"attempt_count": {"N": "1E+30"}},
    "fractional moment": {"created_at": {"N": "1.5"}},
    "moment in milliseconds": {"claimed_until": {"N": "1764504000000"}},
    "moment before the calendar": {"deliver_by": {"N": "-99999999999"}},
    "moment so late that nothing can follow": {"created_at": {"N": "253402300799"}},
    "payload that is no JSON": {"payload": {"S": "{"}},
    "due at a fraction": {"next_attempt_at": {"N": "1764504000.5"}},
    "due in milliseconds": {"next_attempt_at": {"N": "1764504000000"}},
    "due before the calendar": {"next_attempt_at": {"N": "-1E+20"}},
}


@pytest.mark.parametrize("changes", BAD.values(), ids=BAD.keys())
def test_no_bad_row_stops_a_sweep_and_each_is_parked_once(store: Store, changes: dict[str, object]) -> None:
    world = World(store=store, policy=Policy())
    store.client.put_item(TableName=TABLE, Item=item_of(record(dedup_key="bad", next_attempt_at=at(-9)), **changes))
    world.put(record(dedup_key="good"))
    readable = isinstance(store.ledger.get(Key("ops", "bad")), Notification)
    report = world.sweep()
    assert report.failed_items == 0
    assert world.get("good").status is Status.SENT
    if readable:  # an odd value with which one can go on all the same
        assert report.sent == 2
        return
    row = store.ledger.get(Key("ops", "bad"))
    if isinstance(row, Unreadable):
        (name,) = changes
        assert name in row.problem
        assert row.parked
    else:  # what parking wrote over was all that was wrong with it
        assert row is not None
        assert (row.status, row.last_reason) == (Status.DEAD_LETTERED, "unreadable")
    assert (report.dead_lettered, report.dead_letters, report.pending) == (1, 1, 0)
    assert world.telemetry.counted("unreadable", channel="ops") == 1
    assert world.telemetry.gauges["notifications.oldest_due_seconds"] < 1000
    before = store.client.scan(TableName=TABLE)["Items"]
    assert world.sweep(60).looked_at == 0
    assert store.client.scan(TableName=TABLE)["Items"] == before


def test_open_without_a_moment_is_unreadable(store: Store) -> None:
    store.client.put_item(TableName=TABLE, Item=item_of(record(), next_attempt_at=None))
    row = store.ledger.get(record().key)
    assert isinstance(row, Unreadable)
    assert "next_attempt_at is missing" in row.problem


def test_parking_leaves_the_rest_as_found(store: Store) -> None:
    bad = item_of(final(dedup_key="bad"), kind={"N": "7"}, extra={"S": "x"})
    store.client.put_item(TableName=TABLE, Item=bad)
    store.ledger.park(Unreadable(Key("ops", "bad"), "x"), at(5))
    parked = store.client.scan(TableName=TABLE)["Items"][0]
    del parked["write_token"]
    moment = {"N": str(int(at(5).timestamp()))}
    assert parked == {
        **bad,
        "status": {"S": "dead_lettered"},
        "last_reason": {"S": "unreadable"},
        "dead_lettered_at": moment,
        "updated_at": moment,
    }


def test_a_page_that_ends_in_a_bad_row_goes_on_in_the_next_sweep(store: Store) -> None:
    world = World(store=store)
    for number in range(100):
        bad = item_of(record(dedup_key=f"{number:03}"), next_attempt_at={"N": str(-(10**20) - number)})
        store.client.put_item(TableName=TABLE, Item=bad)
    world.put(record(dedup_key="good"))
    assert (world.sweep().dead_lettered, world.sweep().sent) == (100, 1)


def test_attributes_of_a_later_version_are_no_reason_to_stop(store: Store) -> None:
    store.client.put_item(TableName=TABLE, Item=item_of(record(), colour={"S": "red"}))
    assert store.ledger.get(record().key) == record()


DAMAGED: dict[str, tuple[dict[str, Any], str]] = {
    "status of a later version": ({"status": {"S": "open"}}, "status is not as redeliver writes it"),
    "status as number": ({"status": {"N": "1"}}, "status is not as redeliver writes it"),
    "no status": ({"status": None}, "status is missing"),
    "change as number": ({"changed_at": {"N": "5"}}, "changed_at is not as redeliver writes it"),
    "change that is no moment": ({"changed_at": {"S": "tomorrow"}}, "changed_at is not as redeliver writes it"),
    "change of another width": ({"changed_at": {"S": "2026-11-30T12:00:00Z"}}, "changed_at is not as"),
    "no change": ({"changed_at": None}, "changed_at is missing"),
    "fraction of a second": ({"unsettled": {"N": "1.5"}}, "unsettled is not as redeliver writes it"),
    "beyond the calendar": ({"unsettled": {"N": "1E+30"}}, "unsettled is not as redeliver writes it"),
    "unsettled as text": ({"unsettled": {"S": "yes"}}, "unsettled is not as redeliver writes it"),
}


@pytest.mark.parametrize(("changes", "problem"), DAMAGED.values(), ids=DAMAGED.keys())
def test_a_damaged_finding_is_named_and_stops_no_pass(store: Store, changes: dict[str, Any], problem: str) -> None:
    bad = {
        "finding_id": {"S": "bad"},
        "status": {"S": "active"},
        "changed_at": {"S": "2026-11-30T12:00:00.000000000Z"},
        "unsettled": {"N": "1"},
        **changes,
    }
    store.client.put_item(TableName="FindingsTable", Item={name: value for name, value in bad.items() if value})
    store.findings.put(finding())
    found = {each.finding_id: each for each in store.findings.unsettled()}
    assert found["CVE-1"] == finding()
    damaged = found["bad"]
    assert isinstance(damaged, DamagedFinding)
    assert damaged.problem.startswith(problem)
    assert store.register.get("bad") is None
    assert [each.finding_id for each in store.register.all()] == ["CVE-1"]


@pytest.mark.parametrize(
    "row",
    [
        {"hold_until": {"S": "soon"}},
        {"hold_until": {"N": "1E+30"}},
        {"hold_until": {"N": "1.5"}},
        {"hold_reason": {"N": "1"}},
    ],
    ids=str,
)
def test_a_channel_row_that_an_operator_mistyped_holds_nothing(store: Store, row: dict[str, Any]) -> None:
    store.client.put_item(TableName="ChannelsTable", Item={"channel": {"S": "ops"}, **row})
    assert not store.states.open("ops").held(NOW)
    assert [state.channel for state in store.states.all()] == ["ops"]


@pytest.mark.parametrize(
    ("model", "name"),
    [(NotificationModel, "NotificationsTable"), (FindingModel, "FindingsTable"), (ChannelModel, "ChannelsTable")],
)
def test_the_models_have_the_keys_of_the_template(model: type[Model], name: str) -> None:
    declared = tables()[name]
    ours: Any = model._get_schema()
    assert ours["key_schema"] == declared["KeySchema"]
    assert sorted(map(str, ours["attribute_definitions"])) == sorted(map(str, declared["AttributeDefinitions"]))
    indexes = [
        {
            "IndexName": one["index_name"],
            "KeySchema": sorted(one["key_schema"], key=lambda key: str(key["KeyType"])),
            "Projection": one["projection"],
        }
        for one in ours["global_secondary_indexes"]
    ]
    assert sorted(indexes, key=str) == sorted(declared.get("GlobalSecondaryIndexes", ()), key=str)


def test_errors_of_the_service_are_told_by_their_code(store: Store) -> None:
    store.client.delete_table(TableName=TABLE)
    with pytest.raises(Unavailable, match="DynamoDB: ResourceNotFoundException"):
        store.ledger.get(record().key)
    with pytest.raises(Unavailable, match="DynamoDB: ResourceNotFoundException"):
        store.ledger.add(record(), NOW)


def test_a_transaction_that_fails_as_a_whole_is_an_error(store: Store) -> None:
    one = final(finding_id="CVE-1")
    store.findings.put(finding())
    store.client.delete_table(TableName=TABLE)
    with pytest.raises(Unavailable, match="DynamoDB: ResourceNotFoundException"):
        store.records.stamp(finding(), [(one, final(finding_id="CVE-1", expires_at=at(9)))])


class BusyTable:
    """A table of which transactions collide with others so many times."""

    def __init__(self, collisions: int, code: str) -> None:
        self.connection = self
        self.left, self.code, self.tries = collisions, code, 0

    def get_operation_kwargs(self, *keys: str, **_: object) -> dict[str, object]:
        return {}

    def transact_write_items(self, *_: object) -> None:
        self.tries += 1
        self.left -= 1
        if self.left >= 0:
            error = {"Error": {"Code": "TransactionCanceledException", "Message": ""}}
            reasons = [None, CancellationReason(self.code)]
            cause = VerboseClientError(error, "TransactWriteItems", cancellation_reasons=reasons)
            raise TransactWriteError("cancelled", cause)


@pytest.mark.parametrize("code", ["TransactionConflict", "ThrottlingError"])
@pytest.mark.parametrize(("collisions", "stamped", "tries"), [(0, 1, 1), (2, 1, 3), (3, 0, 3)])
def test_a_transaction_that_another_gets_in_the_way_of_is_tried_again(
    code: str, collisions: int, stamped: int, tries: int
) -> None:
    table: Any = BusyTable(collisions, code)
    records = DynamoFindingRecords(table, table)
    assert records.stamp(finding(), [(final(), final(expires_at=at(9)))]) == stamped
    assert table.tries == tries


def test_the_items_of_a_transaction_stay_under_what_dynamodb_takes() -> None:
    table: Any = BusyTable(0, "")
    sizes: list[int] = []
    table.transact_write_items = lambda checks, _, __, updates: sizes.append(len(updates))
    large: dict[str, Any] = {"body": "x" * 65_000, "payload": f'"{"x" * 65_000}"'}
    pairs = [(final(dedup_key=str(n), **large), final(dedup_key=str(n), expires_at=at(9), **large)) for n in range(99)]
    assert DynamoFindingRecords(table, table).stamp(finding(), pairs) == 99
    assert sum(sizes) == 99
    assert len(sizes) == 4
    assert max(sizes) * 130_000 <= 4_000_000  # "the aggregate size of the items" (TransactWriteItems)


class SlowTable:
    """A table that answers a batch read one item at a time, when it is not `busy`, and a count in so many pages."""

    table_name = TABLE

    def __init__(self, pages: int = 10**9, busy: int = 0) -> None:
        self.pages, self.asked, self.busy = pages, 0, busy

    def batch_get_item(self, keys: list[dict[str, str]], **_: object) -> dict[str, Any]:
        self.asked += 1
        if self.asked <= self.busy:
            return {"Responses": {}, "UnprocessedKeys": {TABLE: {"Keys": keys}}}
        found = item_of(record(dedup_key=keys[0]["dedup_key"]))
        rest = {TABLE: {"Keys": keys[1:]}} if keys[1:] else {}
        return {"Responses": {TABLE: [found]}, "UnprocessedKeys": rest}

    def query(self, *_: object, **__: object) -> dict[str, Any]:
        self.asked += 1
        return {"Items": [], "Count": 7, **({"LastEvaluatedKey": {}} if self.asked < self.pages else {})}


def test_a_batch_read_goes_on_until_all_is_read() -> None:
    table: Any = SlowTable()
    keys = [Key("ops", str(n)) for n in range(5)]
    assert [row.dedup_key for row in DynamoNotifications(table).fetch(keys) if isinstance(row, Notification)] == list(
        "01234"
    )
    assert table.asked == 5


@pytest.mark.parametrize(("pages", "counted"), [(1, (7, True)), (10, (70, True)), (11, (70, False))])
def test_a_backlog_is_counted_up_to_ten_pages(pages: int, counted: tuple[int, bool]) -> None:
    table: Any = SlowTable(pages)
    assert DynamoNotifications(table).waiting("ops", Waiting(Key("ops", "a"), NOW)) == counted
    table = SlowTable(pages)
    assert DynamoNotifications(table).dead_letters("ops") == counted


@pytest.mark.parametrize("busy", [0, 3, 4])
def test_a_batch_read_that_brings_nothing_is_repeated_with_pauses_and_not_for_ever(busy: int) -> None:
    table: Any = SlowTable(busy=busy)
    pauses: list[float] = []
    notifications = DynamoNotifications(table, pauses.append)
    if busy > 3:
        with pytest.raises(Unavailable, match="2 keys of a batch read stay unprocessed"):
            notifications.fetch([Key("ops", "0"), Key("ops", "1")])
    else:
        assert len(notifications.fetch([Key("ops", "0"), Key("ops", "1")])) == 2
    assert pauses == [0.1, 0.2, 0.4][:busy]


def test_errors_without_a_code_are_told_by_their_kind() -> None:
    with pytest.raises(Unavailable, match="DynamoDB: ConnectionError: Failed to put item"), translated():
        raise PutError(cause=ConnectionError("refused"), msg="Failed to put item")


@pytest.mark.parametrize(
    "kind", [ConnectionClosedError, ConnectTimeoutError, EndpointConnectionError, ReadTimeoutError]
)
@pytest.mark.parametrize("wrapped", [True, False])
def test_a_request_without_an_answer_is_unavailable_by_its_kind(kind: Any, wrapped: bool) -> None:
    error = kind(endpoint_url="https://dynamodb", error="x")
    with pytest.raises(Unavailable, match=f"DynamoDB: {kind.__name__}"), translated():
        raise PutError(cause=error, msg="Failed") if wrapped else error


def test_only_a_lost_condition_is_no_error(store: Store) -> None:
    ledger: Any = store.ledger
    events = ledger._table.connection.client.meta.events

    def throttled(**_: Any) -> None:
        raise ClientError({"Error": {"Code": "ThrottlingException", "Message": "slow down"}}, "PutItem")

    events.register("before-call.dynamodb.PutItem", throttled)
    try:
        with pytest.raises(Unavailable, match="ThrottlingException: slow down"):
            store.ledger.add(record(), NOW)
    finally:
        events.unregister("before-call.dynamodb.PutItem", throttled)


# found by `python -m tests.mutation`


def test_parking_ends_a_claim(store: Store) -> None:
    store.client.put_item(TableName=TABLE, Item=item_of(record(claimed_until=at(65)), kind={"N": "7"}))
    assert store.ledger.park(Unreadable(record().key, "x"), NOW)
    assert "claimed_until" not in store.client.scan(TableName=TABLE)["Items"][0]


@pytest.mark.parametrize(
    "half",
    [final(Status.DEAD_LETTERED, last_reason="http_410"), final(last_reason="unreadable")],
    ids=["a dead letter for another reason", "the reason alone"],
)
def test_what_only_half_looks_parked_is_parked(store: Store, half: Notification) -> None:
    store.client.put_item(TableName=TABLE, Item=item_of(half, kind={"N": "7"}))
    assert store.ledger.park(Unreadable(half.key, "x"), NOW)
    assert not store.ledger.park(Unreadable(half.key, "x"), at(1))


class BusyFinding(BusyTable):
    """The same, where the finding itself is what others are writing."""

    def transact_write_items(self, *_: object) -> None:
        try:
            super().transact_write_items()
        except TransactWriteError as error:
            reasons = [CancellationReason(self.code), None]
            told = {"Error": {"Code": "TransactionCanceledException", "Message": ""}}
            cause = VerboseClientError(told, "TransactWriteItems", cancellation_reasons=reasons)
            raise TransactWriteError("cancelled", cause) from error


def test_a_finding_that_another_is_writing_is_tried_again() -> None:
    table: Any = BusyFinding(1, "TransactionConflict")
    records = DynamoFindingRecords(table, table)
    assert records.stamp(finding(), [(final(), final(expires_at=at(9)))]) == 1
    assert table.tries == 2


def test_news_of_the_finding_ends_the_tries_at_once() -> None:
    table: Any = BusyFinding(9, "ConditionalCheckFailed")
    records = DynamoFindingRecords(table, table)
    assert records.stamp(finding(), [(final(), final(expires_at=at(9)))]) == 0
    assert table.tries == 1
