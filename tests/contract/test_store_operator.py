"""What every store promises an operator: ports Archive, Register and Holds."""

from collections.abc import Iterable, Sequence

import pytest

from redeliver.core.finding import FindingStatus
from redeliver.core.hold import OPERATOR, WAIT, Hold
from redeliver.core.notification import Key, Notification, Row, Status, Unreadable
from redeliver.operator.ports import Span
from tests.builders import NOW, at, final, finding, record
from tests.fakes import keys_of
from tests.stores import Store


def put(store: Store, *records: Notification) -> None:
    for one in records:
        assert store.ledger.add(one, NOW)


def dead(key: str, seconds: float, channel: str = "ops") -> Notification:
    return final(Status.DEAD_LETTERED, channel=channel, dedup_key=key, dead_lettered_at=at(seconds))


def keys(pages: Iterable[Sequence[Row]]) -> list[str]:
    return keys_of(row for page in pages for row in page)


@pytest.mark.parametrize(
    ("since", "until", "expected"),
    [(None, None, "abc"), (1, None, "bc"), (None, 1, "ab"), (1, 1, "b"), (0.5, 1.5, "b"), (3, None, ""), (2, 1, "")],
)
def test_dead_letters_by_the_time_of_their_death(
    store: Store, since: float | None, until: float | None, expected: str
) -> None:
    put(store, dead("b", 1), dead("c", 2), dead("a", 0), dead("x", 1, channel="other"), record(dedup_key="open"))
    span = Span(None if since is None else at(since), None if until is None else at(until))
    assert keys(store.archive.dead_letters_of("ops", span, newest_first=False)) == list(expected)
    assert keys(store.archive.dead_letters_of("ops", span, newest_first=True)) == list(reversed(expected))


def test_no_row_at_the_edge_of_a_page_is_missed_though_rows_leave_meanwhile(store: Store) -> None:
    put(store, *[dead(f"k{number:03}", number // 7) for number in range(250)])
    met = []
    for page in store.archive.dead_letters_of("ops", Span(), newest_first=False):
        for row in page:
            assert isinstance(row, Notification)
            met.append(row.dedup_key)
            assert store.ledger.replace(row, record(dedup_key=row.dedup_key, attempt_count=0))  # out of the index
    assert sorted(met) == [f"k{number:03}" for number in range(250)]
    assert keys(store.archive.dead_letters_of("ops", Span(), newest_first=False)) == []


def test_what_waits_longest_due_first(store: Store) -> None:
    put(store, record(dedup_key="b", next_attempt_at=at(9)), record(dedup_key="a", next_attempt_at=at(10)))
    put(store, record(dedup_key="c", next_attempt_at=at(-9)), dead("d", 0))
    assert keys(store.archive.waiting_in("ops")) == ["c", "b", "a"]


def test_all_of_a_channel_and_all_there_is(store: Store) -> None:
    put(store, *[record(dedup_key=f"k{number:03}") for number in range(120)], dead("z", 0), final(channel="other"))
    store.plant(Key("ops", "bad"), None, None)
    of_channel = keys(store.archive.of_channel("ops"))
    assert of_channel == ["bad", *[f"k{number:03}" for number in range(120)], "z"]
    assert sorted(keys(store.archive.everything())) == sorted([*of_channel, "k1"])


def test_unreadable_rows_are_told(store: Store) -> None:
    store.plant(Key("ops", "bad"), None, None)
    assert store.ledger.park(Unreadable(Key("ops", "bad"), "x"), at(3))
    ((row,),) = store.archive.dead_letters_of("ops", Span(at(3), at(3)), newest_first=True)
    assert isinstance(row, Unreadable)
    assert row.parked


def test_findings_are_known_or_not(store: Store) -> None:
    assert store.register.get("CVE-1") is None
    assert list(store.register.all()) == []
    store.findings.put(finding(FindingStatus.RESOLVED))
    store.findings.put(finding(FindingStatus.ACTIVE, finding_id="CVE-2"))
    known = store.register.get("CVE-1")
    assert known is not None
    assert known.resolved
    assert sorted(each.finding_id for each in store.register.all()) == ["CVE-1", "CVE-2"]
    store.findings.settle(known, at(99))
    assert {each.finding_id for each in store.register.all()} == {"CVE-1", "CVE-2"}
    assert list(store.findings.unsettled()) == [finding(FindingStatus.ACTIVE, finding_id="CVE-2")]


def state(store: Store) -> tuple[object, ...]:
    found = store.states.open("ops")
    return (found.hold_until, found.hold_reason, found.hold_note, found.failures)


def test_an_operator_holds_whatever_held_before_and_nobody_shortens_it(store: Store) -> None:
    store.states.open("ops")
    store.states.hold("ops", Hold(at(9000), WAIT), NOW, 3)
    store.holds.impose("ops", Hold(at(60), OPERATOR), "maintenance")
    assert state(store) == (at(60), OPERATOR, "maintenance", 3)
    assert not store.states.hold("ops", Hold(at(9000), WAIT), NOW)
    assert store.states.hold("ops", Hold(at(9000), WAIT), at(60))  # it is over
    assert state(store) == (at(9000), WAIT, None, 3)


def test_a_release_ends_any_hold_and_forgets_the_failures(store: Store) -> None:
    store.states.open("ops")
    assert not store.holds.release("ops")
    store.states.hold("ops", Hold(at(60), "failing"), NOW, 7)
    assert store.holds.release("ops")
    assert state(store) == (None, None, None, 0)
    assert not store.holds.release("ops")


def test_a_channel_nobody_has_used_can_be_held(store: Store) -> None:
    store.holds.impose("ops", Hold(at(60), OPERATOR), "not yet")
    assert state(store) == (at(60), OPERATOR, "not yet", 0)
