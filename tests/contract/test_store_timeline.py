"""What every store promises whoever pages through the records: port Timeline."""

import pytest

from redeliver.core.notification import OPEN, Key, Notification, Status
from redeliver.operator.paging import Entry, Source, Stretch
from redeliver.operator.search import DEAD, Filter
from redeliver.ports import AT_ONCE
from tests.builders import NOW, at, final, record
from tests.stores import BOTH, Store

ALL = Filter()


def put(store: Store, *records: Notification) -> None:
    for one in records:
        assert store.ledger.add(one, NOW)


def keys(stretch: Stretch) -> list[str]:
    return [entry.key.dedup_key for entry in stretch.entries]


def several(store: Store) -> None:
    put(store, final(Status.DEAD_LETTERED, dedup_key="dead-1", dead_lettered_at=at(1), kind="cve"))
    put(store, final(Status.DEAD_LETTERED, dedup_key="dead-2", dead_lettered_at=at(2)))
    put(store, final(dedup_key="sent", sent_at=at(3)), record(dedup_key="due-2", next_attempt_at=at(9)))
    put(store, record(dedup_key="due-1", next_attempt_at=at(4), updated_at=at(5), status=Status.RETRYING))
    put(store, record(channel="other", dedup_key="elsewhere"))


def test_each_source_has_its_records_in_its_order_with_their_moments(store: Store) -> None:
    several(store)
    dead = store.timeline.stretch(Source.DEAD_LETTERS, "ops", Filter(statuses=DEAD), None, 1000)
    assert dead.entries == [Entry(at(2), Key("ops", "dead-2")), Entry(at(1), Key("ops", "dead-1"))]
    due = store.timeline.stretch(Source.DUE, "ops", Filter(statuses=OPEN), None, 1000)
    assert due.entries == [Entry(at(4), Key("ops", "due-1")), Entry(at(9), Key("ops", "due-2"))]
    table = store.timeline.stretch(Source.TABLE, "ops", ALL, None, 1000)
    assert {entry.key.dedup_key: entry.moment for entry in table.entries} == {
        "dead-1": at(1), "dead-2": at(2), "due-1": at(5), "due-2": NOW, "sent": at(3),
    }  # fmt: skip
    assert keys(table) == sorted(keys(table))
    assert (dead.after, due.after, table.after) == (None, None, None)


@pytest.mark.parametrize(
    ("wanted", "expected"),
    [
        (Filter(statuses=frozenset({Status.SENT})), ["sent"]),
        (Filter(statuses=frozenset({Status.SENT, Status.RETRYING})), ["due-1", "sent"]),
        (Filter(kind="cve"), ["dead-1"]),
        (Filter(kind="cve", statuses=DEAD), ["dead-1"]),
        (Filter(kind="cve", statuses=OPEN), []),
    ],
)
def test_the_table_shows_only_what_has_the_status_and_the_kind(
    store: Store, wanted: Filter, expected: list[str]
) -> None:
    several(store)
    assert keys(store.timeline.stretch(Source.TABLE, "ops", wanted, None, 1000)) == expected


@pytest.mark.parametrize("source", list(Source))
def test_it_goes_on_where_it_ended(store: Store, source: Source) -> None:
    for number in range(7):
        place = {"dedup_key": f"k{number}", "dead_lettered_at": at(number // 3), "next_attempt_at": at(number // 3)}
        status = {Source.DUE: Status.PENDING, Source.DEAD_LETTERS: Status.DEAD_LETTERED, Source.TABLE: Status.SENT}
        kept = {Source.DUE: "next_attempt_at", Source.DEAD_LETTERS: "dead_lettered_at"}.get(source)
        moments = {name: place[name] if name == kept else None for name in ("dead_lettered_at", "next_attempt_at")}
        put(store, final(status[source], **{**place, **moments}))
    found: list[str] = []
    after = None
    for _ in range(4):
        stretch = store.timeline.stretch(source, "ops", ALL, after, 2)
        found += keys(stretch)
        after = stretch.after
        if after is None:
            break
    assert sorted(found) == [f"k{number}" for number in range(7)]


def test_it_goes_on_though_the_record_where_it_ended_is_gone(store: Store) -> None:
    put(store, *(final(dedup_key=f"k{number}") for number in range(4)))
    stretch = store.timeline.stretch(Source.TABLE, "ops", ALL, Entry(NOW, Key("ops", "k1-gone")), 1000)
    assert keys(stretch) == ["k2", "k3"]


def test_what_cannot_be_read_is_there_with_the_moment_of_1970(store: Store) -> None:
    store.plant(Key("ops", "bad"), None, None)
    assert store.timeline.stretch(Source.TABLE, "ops", ALL, None, 1000).entries == [Entry(AT_ONCE, Key("ops", "bad"))]


def test_a_stretch_costs_the_rows_that_were_read_those_not_wanted_too(store: Store) -> None:
    several(store)
    assert store.timeline.stretch(Source.TABLE, "ops", Filter(kind="cve"), None, 1000).cost == 5
    assert store.timeline.stretch(Source.DUE, "ops", Filter(kind="cve"), None, 1000).cost == 2
    assert store.timeline.stretch(Source.TABLE, "empty", ALL, None, 1000).cost == 0


def test_large_records_cost_more_than_their_number() -> None:
    with BOTH["dynamo"]() as store:
        put(store, *(final(dedup_key=f"k{number:02}", body="x" * 60_000) for number in range(40)))
        stretch = store.timeline.stretch(Source.TABLE, "ops", ALL, None, 1000)
        assert stretch.cost == 1000  # two answers of a megabyte, and it is enough
        assert 20 < len(stretch.entries) < 40
        rest = store.timeline.stretch(Source.TABLE, "ops", ALL, stretch.after, 1000)
        assert keys(stretch) + keys(rest) == [f"k{number:02}" for number in range(40)]
