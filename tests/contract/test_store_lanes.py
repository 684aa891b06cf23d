"""What every store promises of many records: ports Lanes, Findings and FindingRecords."""

from dataclasses import replace
from datetime import timedelta

import pytest

from redeliver.core import retention
from redeliver.core.finding import FindingStatus
from redeliver.core.notification import Key, Notification, Status
from tests.builders import NOW, at, final, finding, record
from tests.fakes import keys_of
from tests.stores import Store

ACTIVE, RESOLVED = FindingStatus.ACTIVE, FindingStatus.RESOLVED
DAYS = timedelta(days=90)


def fill(store: Store, *records: Notification) -> None:
    for one in records:
        assert store.ledger.add(one, NOW)


def stamps(*records: Notification) -> list[tuple[Notification, Notification]]:
    return [(one, retention.stamped(one, NOW, DAYS)) for one in records]


# lanes


def test_a_lane_is_in_order_of_due_time_and_holds_open_records_alone(store: Store) -> None:
    fill(
        store,
        record(dedup_key="late", next_attempt_at=at(9)),
        record(dedup_key="early", next_attempt_at=at(-9), status=Status.RETRYING),
        final(dedup_key="sent"),
        final(Status.DEAD_LETTERED, dedup_key="dead"),
        record(channel="other"),
    )
    page = store.lanes.page("ops")
    assert [(row.key.dedup_key, row.next_attempt_at) for row in page.rows] == [("early", at(-9)), ("late", at(9))]
    assert page.after is None
    assert not store.lanes.page("nobody").rows


def test_a_long_lane_comes_in_pages_of_a_hundred(store: Store) -> None:
    numbers = range(250)
    fill(store, *(record(dedup_key=f"{n:03}", next_attempt_at=at(n // 10)) for n in numbers))
    first = store.lanes.page("ops")
    assert first.after is not None
    assert store.lanes.waiting("ops", first.after) == (150, True)
    second = store.lanes.page("ops", first.after)
    assert second.after is not None
    third = store.lanes.page("ops", second.after)
    rows = [*first.rows, *second.rows, *third.rows]
    assert [row.key.dedup_key for row in rows] == [f"{n:03}" for n in numbers]
    assert [len(page.rows) for page in (first, second, third)] == [100, 100, 50]
    assert third.after is None
    fetched = store.lanes.fetch([row.key for row in rows])
    assert keys_of(fetched) == [f"{n:03}" for n in numbers]


def test_a_claim_leaves_the_row_where_it_was(store: Store) -> None:
    fill(store, record())
    before = store.lanes.page("ops")
    assert store.ledger.replace(record(), record(attempt_count=1, claimed_until=at(65)))
    assert store.lanes.page("ops") == before


def test_fetch_keeps_the_order_leaves_out_the_absent_and_forgives_repetition(store: Store) -> None:
    fill(store, record(dedup_key="a"), record(dedup_key="b"))
    store.plant(Key("ops", "c"), None, None)
    wanted = [Key("ops", name) for name in ("c", "nothing", "b", "a", "b")]
    assert keys_of(store.lanes.fetch(wanted)) == ["c", "b", "a"]
    assert not store.lanes.fetch([])


def test_dead_letters_are_counted_by_channel(store: Store) -> None:
    fill(store, final(), *(final(Status.DEAD_LETTERED, dedup_key=str(n)) for n in range(3)))
    fill(store, final(Status.DEAD_LETTERED, channel="other"))
    counted = [store.lanes.dead_letters(channel) for channel in ("ops", "other", "x")]
    assert counted == [(3, True), (1, True), (0, True)]


# findings


@pytest.mark.parametrize(
    ("news", "changed", "stored", "written"),
    [
        (ACTIVE, 1, RESOLVED, True),
        (RESOLVED, 1, ACTIVE, True),
        (RESOLVED, -1, ACTIVE, False),
        (ACTIVE, -1, RESOLVED, False),
        (ACTIVE, 0, RESOLVED, True),
        (RESOLVED, 0, ACTIVE, False),
        (RESOLVED, 0, RESOLVED, True),
    ],
    ids=[
        "newer active",
        "newer resolved",
        "older resolved",
        "older active",
        "tie, active",
        "tie, resolved",
        "the same",
    ],
)
def test_news_is_written_unless_it_is_outdone(
    store: Store, news: FindingStatus, changed: float, stored: FindingStatus, written: bool
) -> None:
    assert store.findings.put(finding(stored))
    later = finding(news, changed, unsettled=at(50))
    assert store.findings.put(later) is written
    assert list(store.findings.unsettled()) == [later if written else finding(stored)]


def test_news_is_ordered_by_the_nanosecond(store: Store) -> None:
    assert store.findings.put(finding(RESOLVED, changed_at="2026-11-30T12:00:00.000000002Z"))
    assert not store.findings.put(finding(ACTIVE, changed_at="2026-11-30T12:00:00.000000001Z"))


def test_a_settled_finding_is_not_looked_at_until_there_is_news(store: Store) -> None:
    store.findings.put(finding())
    assert store.findings.settle(finding(), at(1000))
    assert not list(store.findings.unsettled())
    assert store.findings.put(finding(unsettled=at(20)))
    assert list(store.findings.unsettled()) == [finding(unsettled=at(20))]


@pytest.mark.parametrize(("moment", "written"), [(999, False), (1000, True)])
def test_past_its_expiry_a_finding_is_unknown(store: Store, moment: float, written: bool) -> None:
    store.findings.put(finding(RESOLVED))
    assert store.findings.settle(finding(RESOLVED), at(1000))
    assert store.findings.put(finding(ACTIVE, -5, unsettled=at(moment))) is written


def test_a_finding_that_changed_is_not_settled(store: Store) -> None:
    assert not store.findings.settle(finding(), None)
    store.findings.put(finding(RESOLVED, 1))
    assert not store.findings.settle(finding(RESOLVED), None)
    assert not store.findings.settle(finding(ACTIVE, 1), None)
    assert store.findings.settle(finding(RESOLVED, 1), None)


# records of findings


def test_the_records_of_a_finding_come_in_pages(store: Store) -> None:
    fill(store, *(final(dedup_key=f"{n:03}", finding_id="CVE-1") for n in range(250)))
    fill(store, final(channel="b", finding_id="CVE-2"), final(channel="c"))
    pages = [keys_of(page) for page in store.records.pages("CVE-1")]
    assert [len(page) for page in pages] == [99, 99, 52]
    assert sorted(key for page in pages for key in page) == [f"{n:03}" for n in range(250)]
    assert [keys_of(page) for page in store.records.pages("CVE-9")] in ([], [[]])


def test_stamps_are_written_while_the_finding_is_resolved_as_read(store: Store) -> None:
    records = [final(dedup_key=f"{n:02}", finding_id="CVE-1") for n in range(20)]
    fill(store, *records)
    store.findings.put(finding())
    assert store.records.stamp(finding(), stamps(*records)) == 20
    assert {one.expires_at for one in records_of(store)} == {NOW + DAYS}
    assert store.records.stamp(finding(), stamps(records[0])) == 0
    assert store.records.stamp(finding(), []) == 0


def records_of(store: Store) -> list[Notification]:
    return [row for page in store.records.pages("CVE-1") for row in page if isinstance(row, Notification)]


@pytest.mark.parametrize(
    "known",
    [None, finding(ACTIVE), finding(RESOLVED, 1), finding(ACTIVE, 1)],
    ids=["unknown", "tie", "again", "active"],
)
def test_no_stamp_when_there_is_news(store: Store, known: None) -> None:
    one = final(finding_id="CVE-1")
    fill(store, one)
    if known is not None:
        store.findings.put(known)
    assert store.records.stamp(finding(), stamps(one)) == 0
    assert store.ledger.get(one.key) == one


@pytest.mark.parametrize(
    "moved",
    [
        {"requested_at": at(1)},
        {"status": Status.PENDING, "next_attempt_at": at(5)},
        {"expires_at": at(7)},
        {"finding_id": "CVE-2"},
        {"redrive_count": 1},
    ],
    ids=str,
)
def test_a_record_that_moved_is_not_stamped_and_the_others_are(store: Store, moved: dict[str, object]) -> None:
    one, other = final(finding_id="CVE-1"), final(dedup_key="k2", finding_id="CVE-1")
    now = replace(one, **moved)  # type: ignore[arg-type] # the cases are well typed
    fill(store, now, other)
    store.findings.put(finding())
    assert store.records.stamp(finding(), stamps(one, other)) == 1
    assert store.ledger.get(one.key) == now
    assert store.ledger.get(other.key) == retention.stamped(other, NOW, DAYS)


def test_a_record_that_is_gone_is_not_made_anew(store: Store) -> None:
    store.findings.put(finding())
    one = final(finding_id="CVE-1")
    assert store.records.stamp(finding(), stamps(one)) == 0
    assert not store.records.release(replace(one, expires_at=at(5)), one)
    assert store.ledger.get(one.key) is None


def test_release_takes_the_expiry_off_once_whatever_else_happened(store: Store) -> None:
    one = final(finding_id="CVE-1", expires_at=at(50))
    fill(store, replace(one, requested_at=at(3)))
    assert store.records.release(one, retention.released(one, at(4)))
    assert not store.records.release(one, retention.released(one, at(4)))
    assert store.ledger.get(one.key) == replace(one, requested_at=at(3), updated_at=at(4), expires_at=None)


# found by `python -m tests.mutation`


@pytest.mark.parametrize("status", [ACTIVE, RESOLVED])
def test_older_news_is_not_written_though_it_says_the_same(store: Store, status: FindingStatus) -> None:
    assert store.findings.put(finding(status))
    assert not store.findings.put(finding(status, -1))
