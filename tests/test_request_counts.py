"""What each path costs: DynamoDB requests counted at the wire, write units by rule (SPEC 10).

moto does not charge for indexes, so units are counted as DynamoDB does, for items up to 1 KB: one per write of an item
(a refused one too); and per index, one when the item enters or leaves it, two when its key changes (out and in), none
else. A write in a transaction costs double, its condition check too. Indexes are read from the template.
"""

import json
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from typing import Any

import pytest

from redeliver.core.hold import Hold
from redeliver.core.notification import Status
from redeliver.core.outcome import Delivered, Outcome, Reject, Retry
from redeliver.ports import Mode
from tests.builders import at, final, record
from tests.fakes import FakeChannel
from tests.stores import dynamo, tables
from tests.world import World

TABLE = "NotificationsTable"
INDEXES = [[key["AttributeName"] for key in index["KeySchema"]] for index in tables()[TABLE]["GlobalSecondaryIndexes"]]
READS = {"GetItem", "BatchGetItem", "Query", "Scan"}


@dataclass
class Meter:
    """Requests by operation and table, and write units."""

    requests: Counter[tuple[str, str]] = field(default_factory=Counter)
    units: int = 0

    def of(self, table: str = TABLE) -> dict[str, int]:
        """Return the requests to a table by operation."""
        return {operation: number for (operation, name), number in self.requests.items() if name == table}


def index_units(before: Mapping[str, Any], after: Mapping[str, Any]) -> int:
    """Return what the change of one item costs in its indexes."""
    units = 0
    for names in INDEXES:
        old, new = ([item.get(name) for name in (*names, "channel", "dedup_key")] for item in (before, after))
        was, is_now = None not in old, None not in new
        units += 2 if was and is_now and old != new else int(was != is_now)
    return units


def _key_of(body: Mapping[str, Any]) -> Mapping[str, Any]:
    return {name: (body.get("Key") or body["Item"])[name] for name in ("channel", "dedup_key")}


def _tables_of(body: Mapping[str, Any]) -> str:
    return "+".join(name for name in tables() if name in json.dumps(body))


@pytest.fixture
def world() -> Iterator[World]:
    with dynamo() as store:
        yield World(store=store, concurrency=1)


@contextmanager
def metered(world: World) -> Iterator[Meter]:
    """Count what the block asks of DynamoDB."""
    store, meter = world.store, Meter()
    assert store is not None

    def item(key: Mapping[str, Any]) -> Mapping[str, Any]:
        found: Mapping[str, Any] = store.client.get_item(TableName=TABLE, Key=key).get("Item", {})
        return found

    def count(model: Any, params: dict[str, Any], context: dict[str, Any], **_: object) -> None:
        body = json.loads(params["body"])
        meter.requests[model.name, _tables_of(body)] += 1
        if model.name in ("PutItem", "UpdateItem") and body["TableName"] == TABLE:
            context["written"] = (_key_of(body), item(_key_of(body)))

    def charge(context: dict[str, Any], **_: object) -> None:
        if "written" in context:
            key, before = context["written"]
            meter.units += 1 + index_units(before, item(key))

    clients = [table.connection.client for table in world_connections(world)]
    for client in clients:
        client.meta.events.register("before-call.dynamodb", count, unique_id="count")
        client.meta.events.register("after-call.dynamodb", charge, unique_id="charge")
    try:
        yield meter
    finally:
        for client in clients:
            client.meta.events.unregister("before-call.dynamodb", unique_id="count")
            client.meta.events.unregister("after-call.dynamodb", unique_id="charge")


def world_connections(world: World) -> list[Any]:
    """Return the tables' connections of the store."""
    store: Any = world.store
    return [store.ledger._table, store.findings._table, store.states._table]


def opened(world: World) -> None:
    """Have the channel's row made: it is, once, before the first record."""
    world.accept._state("ops", world.clock.now)


OUTCOMES: list[tuple[str, Outcome, int]] = [
    ("delivered", Delivered(), 4),
    ("failed", Retry("http_500", "x"), 5),
    ("rejected", Reject("no", "x"), 5),
]


@pytest.mark.parametrize("finding", [None, "CVE-1"], ids=["without a finding", "with one"])
@pytest.mark.parametrize(("outcome", "units"), [case[1:] for case in OUTCOMES], ids=[case[0] for case in OUTCOMES])
def test_first_attempt(world: World, outcome: Outcome, units: int, finding: str | None) -> None:
    opened(world)
    world.channel.will(outcome)
    with metered(world) as meter:
        world.send(finding_id=finding)
    assert meter.requests == {("PutItem", TABLE): 1, ("UpdateItem", TABLE): 1}
    assert meter.units == units + (finding is not None)


@pytest.mark.parametrize(
    ("finding", "expected"),
    [(None, {"PutItem": 1, "GetItem": 1}), ("F", {"PutItem": 1, "GetItem": 1, "UpdateItem": 1})],
)
def test_duplicate(world: World, finding: str | None, expected: dict[str, int]) -> None:
    world.send(finding_id=finding)
    world.clock.pass_by(1)
    with metered(world) as meter:
        world.send(finding_id=finding)
    assert meter.of() == expected
    assert meter.units == (1 if finding is None else 2)


RETRIES: list[tuple[str, Outcome, int, int]] = [
    ("delivered", Delivered(), 1, 3),
    ("failed", Retry("http_500", "x"), 1, 4),
    ("dead", Retry("http_500", "x"), 4, 4),
]


@pytest.mark.parametrize(
    ("outcome", "count", "units"), [case[1:] for case in RETRIES], ids=[case[0] for case in RETRIES]
)
def test_retry(world: World, outcome: Outcome, count: int, units: int) -> None:
    world.put(record(status=Status.RETRYING, attempt_count=count))
    world.channel.will(outcome)
    with metered(world) as meter:
        world.sweep()
    assert meter.of()["UpdateItem"] == 2
    assert meter.units == units


ENDS: dict[str, tuple[dict[str, Any], Callable[[World], object]]] = {
    "give up": ({"attempt_count": 5, "claimed_until": at(-1)}, World.sweep),
    "stale": ({"deliver_by": at(-1)}, World.sweep),
    "redrive": (
        {"status": Status.DEAD_LETTERED, "next_attempt_at": None, "dead_lettered_at": at(-9)},
        lambda world: world.operate(command="redrive", channel="ops", dedup_keys=["k1"]),
    ),
}


@pytest.mark.parametrize(("changes", "act"), ENDS.values(), ids=ENDS)
def test_give_up_stale_redrive(world: World, changes: dict[str, Any], act: Callable[[World], object]) -> None:
    world.put(replace(record(), **changes))
    with metered(world) as meter:
        act(world)
    assert meter.of()["UpdateItem"] == 1
    assert meter.units == 3


@pytest.mark.parametrize("number", [1, 7])
def test_digest(world: World, number: int) -> None:
    world.add_channel("daily", FakeChannel(mode=Mode.DIGEST))
    world.states.open("daily")
    with metered(world) as accepted:
        for n in range(number):
            world.send(channel="daily", dedup_key=str(n))
    assert (accepted.of(), accepted.units) == ({"PutItem": number}, 2 * number)
    with metered(world) as meter:
        assert world.sweep().sent == number
    assert meter.of()["UpdateItem"] == 2 * number
    assert meter.units == 3 * number


@pytest.mark.parametrize("reason", ["operator", "not configured"])
def test_on_hold_and_not_configured(world: World, reason: str) -> None:
    world.put(*(record(dedup_key=str(n)) for n in range(5)))
    if reason == "operator":
        world.states.hold("ops", Hold(at(60), "operator"), at(0))
    else:
        del world.channels.known["ops"]
    with metered(world) as meter:
        world.sweep()
    assert (meter.of(), meter.units) == ({"Query": 2}, 0)


@pytest.mark.parametrize(("number", "transactions"), [(1, 1), (100, 2)])
def test_stamp_and_release(world: World, number: int, transactions: int) -> None:
    world.put(*(final(dedup_key=f"{n:03}", finding_id="CVE-1") for n in range(number)))
    with metered(world) as stamped:
        assert world.news("resolved").stamped == number
    both = {op: n for (op, names), n in stamped.requests.items() if op == "TransactWriteItems"}
    assert both == {"TransactWriteItems": transactions}
    assert stamped.units == 0  # in indexes; in the table 2n + 2 a transaction, which is what transactions cost
    world.clock.pass_by(1)
    with metered(world) as released:
        assert world.news("active").released == number
    assert released.of()["UpdateItem"] == released.units == number


@pytest.mark.parametrize(("number", "pages"), [(1, 1), (100, 1), (101, 2)])
def test_reading_what_is_due(world: World, number: int, pages: int) -> None:
    world.put(*(record(dedup_key=f"{n:03}") for n in range(number)))
    with metered(world) as meter:
        world.sweep()
    counting = 1 if number > 100 else 0  # of the backlog behind the first page
    reads = {operation: meter.of()[operation] for operation in ("Query", "BatchGetItem")}
    assert reads == {"Query": pages + 1 + counting, "BatchGetItem": pages}


def test_quiet_tick(world: World) -> None:
    for name in ("ops", "other"):
        world.put(record(channel=name, next_attempt_at=at(60)))
    with metered(world) as meter:
        world.sweep()
    assert meter.requests == {("Scan", "ChannelsTable"): 1, ("Query", TABLE): 4}


def test_reads_of_a_sent_record_are_none(world: World) -> None:
    opened(world)
    with metered(world) as meter:
        world.send()
    assert not READS & set(meter.of())
