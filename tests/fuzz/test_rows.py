"""Rows of any shape: a record, or what is wrong with it, and never the end of a sweep."""

from dataclasses import replace
from datetime import datetime
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from redeliver.core import lifecycle, moments
from redeliver.core.finding import DamagedFinding
from redeliver.core.notification import OPEN, Key, Notification, Status, Unreadable
from redeliver.store.findings import finding_of
from redeliver.store.items import CODECS, from_item, to_item
from tests.builders import final, finding, record
from tests.fuzz.strategies import examples
from tests.stores import dynamo
from tests.world import World

STORABLE = st.text(max_size=30) | st.sampled_from(
    ["", "x" * 2000, "pending", "1", "{", "null", "[" * 900 + "]" * 900, '"\\ud800"']
)
# What DynamoDB takes for a number: 38 digits, and spellings of its own.
NUMBERS = (
    st.integers(-(10**38) + 1, 10**38 - 1).map(str)
    | st.integers(-5, 2**54).map(str)
    | st.sampled_from(
        ["1.5", "1E+3", "1E+30", "-0", "0.0", "1764504000", "1764504000000", "253402300799", "1E-100", "007"]
    )
)
VALUES = (
    st.builds(lambda text: {"S": text}, STORABLE)
    | st.builds(lambda number: {"N": number}, NUMBERS)
    | st.builds(lambda flag: {"BOOL": flag}, st.booleans())
    | st.sampled_from(
        [
            {"NULL": True},
            {"B": b"x"},
            {"L": [{"S": "x"}]},
            {"M": {"a": {"N": "1"}}},
            {"SS": ["a"]},
            {"NS": ["1"]},
            {"M": {}},
        ]
    )
)
VALID = {"channel": {"S": "ops"}, "dedup_key": {"S": "odd"}, **to_item(record(dedup_key="odd", payload="{}"))}
NAMES = st.sampled_from([*(set(CODECS) - {"channel", "dedup_key"}), "lane", "more"])
ROWS = st.builds(
    lambda changes, absent: {n: v for n, v in {**VALID, **changes}.items() if n not in absent},
    st.dictionaries(NAMES, VALUES, max_size=3),
    st.sets(NAMES, max_size=1),
)
MOMENTS = st.integers(0, 250_000_000_000).map(moments.from_epoch)
RECORDS = st.builds(
    Notification,
    channel=st.from_regex(r"[A-Za-z0-9_.-]{1,64}", fullmatch=True),
    dedup_key=st.text(min_size=1, max_size=40),
    kind=st.from_regex(r"[a-z0-9_.-]{1,64}", fullmatch=True),
    subject=st.text(max_size=20),
    body=st.text(max_size=50),
    created_at=MOMENTS,
    updated_at=MOMENTS,
    requested_at=MOMENTS,
    status=st.sampled_from(Status),
    attempt_count=st.integers(0, 2**53 - 1),
    redrive_count=st.integers(0, 2**53 - 1),
    recipient=st.none() | st.text(max_size=20),
    payload=st.none() | st.sampled_from(["{}", "[1, 2.5]", "null", '"\\ud800"']),
    finding_id=st.none() | st.text(max_size=20),
    claimed_until=st.none() | MOMENTS,
    last_error=st.none() | st.text(max_size=20),
    last_reason=st.none() | st.text(max_size=20),
    maybe_delivered=st.booleans(),
    dispatch_batch_id=st.none() | st.text(max_size=20),
    resolve_with=st.none() | st.just("{}"),
    deliver_by=st.none() | MOMENTS,
    sent_at=st.none() | MOMENTS,
    dead_lettered_at=st.none() | MOMENTS,
    expires_at=st.none() | MOMENTS,
)


@examples(300)
@given(RECORDS, MOMENTS)
def test_every_record_comes_back_as_it_was_written(one: Notification, due: datetime) -> None:
    whole = replace(one, next_attempt_at=due) if one.status in OPEN else one
    keys = {"channel": {"S": whole.channel}, "dedup_key": {"S": whole.dedup_key}}
    assert from_item({**keys, **to_item(whole)}) == whole


@examples(400)
@given(ROWS)
def test_an_item_is_a_record_or_says_what_is_wrong(item: dict[str, Any]) -> None:
    row = from_item(item)
    if isinstance(row, Unreadable):
        row.problem.encode()
        assert len(row.problem) < 200
        assert any(name in row.problem for name in (*CODECS, "lane"))
    else:
        assert (row.status in OPEN) == (row.next_attempt_at is not None)
        read = to_item(row)
        assert from_item({**read, "channel": item["channel"], "dedup_key": item["dedup_key"]}) == row


INDEXED = {"lane": "S", "next_attempt_at": "N", "finding_id": "S", "dead_lettered_at": "N"}


def takes(item: dict[str, Any]) -> bool:
    """Tell whether DynamoDB takes an item: the keys of its indexes have types, which moto does not look at."""
    given = {name: item[name] for name in INDEXED if name in item}
    return all(value.get(INDEXED[name]) not in (None, "") for name, value in given.items())


@examples(20)
@given(st.lists(ROWS.filter(takes), min_size=1, max_size=5))
def test_no_row_stops_a_sweep_and_none_is_met_for_ever(rows: list[dict[str, Any]]) -> None:
    with dynamo() as store:
        world, keys = World(store=store), [Key("ops", f"odd {number}") for number in range(len(rows))]
        for key, row in zip(keys, rows, strict=True):
            store.client.put_item(TableName="NotificationsTable", Item={**row, "dedup_key": {"S": key.dedup_key}})
        world.put(record(dedup_key="good"))
        assert world.sweep().failed_items == 0
        assert world.get("good").status is Status.SENT
        world.clock.pass_by(1)
        again = world.sweep()
        assert (again.failed_items, again.looked_at) == (0, again.conflicts)
        for key, item in zip(keys, rows, strict=True):
            left = store.ledger.get(key)
            due = isinstance(left, Notification) and lifecycle.due(left, world.clock.now)
            assert not due or item.get("lane") != {"S": "ops#0"}


FINDING = {
    "status": {"S": "resolved"},
    "changed_at": {"S": "2026-11-30T12:00:00.000000000Z"},
    "unsettled": {"N": "1764504000"},
}
FINDINGS = st.builds(
    lambda changes, absent: {n: v for n, v in {**FINDING, **changes}.items() if n not in absent},
    st.dictionaries(st.sampled_from([*FINDING, "expires_at", "more"]), VALUES, max_size=3),
    st.sets(st.sampled_from(sorted(FINDING)), max_size=1),
)


@examples(400)
@given(FINDINGS)
def test_an_item_is_a_finding_or_says_what_is_wrong(item: dict[str, Any]) -> None:
    found = finding_of({"finding_id": {"S": "odd"}, **item})
    assert found.finding_id == "odd"
    if isinstance(found, DamagedFinding):
        assert found.problem.split()[0] in FINDING
    else:
        assert moments.parse(found.changed_at)[1] == found.changed_at


@examples(20)
@given(st.lists(FINDINGS, min_size=1, max_size=4), st.lists(ROWS.filter(takes), max_size=4))
def test_no_row_stops_the_daily_run(findings: list[dict[str, Any]], rows: list[dict[str, Any]]) -> None:
    with dynamo() as store:
        world = World(store=store)
        for number, item in enumerate(findings):
            store.client.put_item(TableName="FindingsTable", Item={"finding_id": {"S": f"odd {number}"}, **item})
        for number, row in enumerate(rows):
            of_it = {**row, "dedup_key": {"S": f"odd {number}"}, "finding_id": {"S": "CVE-1"}}
            store.client.put_item(TableName="NotificationsTable", Item=of_it)
        world.put(final(dedup_key="good", finding_id="CVE-1"))
        store.findings.put(finding())
        damaged = [each for each in store.findings.unsettled() if isinstance(each, DamagedFinding)]
        report = world.heal(600)
        assert report.failed_items == len(damaged)
        assert world.get("good").expires_at is not None
        assert {line["finding_id"] for line in world.telemetry.of("finding_failed")} == {d.finding_id for d in damaged}
