"""Which records an operator means, and what it takes to find them."""

from collections.abc import Iterator, Sequence

import pytest

from redeliver.core.notification import OPEN, Key, Notification, Row, Status, Unreadable
from redeliver.operator.ports import Span
from redeliver.operator.search import DEAD, Filter, latest, moment_of, search
from tests.builders import NOW, at, final, record
from tests.fakes import keys_of
from tests.memory import MemoryFindings, MemoryNotifications

CHANNELS = ("chat", "ops")


class Pages(MemoryNotifications):
    """The store in memory, which remembers how many rows were read by whom."""

    def __init__(self) -> None:
        super().__init__(MemoryFindings(), page_size=10)
        self.read: list[tuple[str, int]] = []

    def dead_letters_of(self, channel: str, span: Span, *, newest_first: bool) -> Iterator[Sequence[Row]]:
        return self._noted("dead", super().dead_letters_of(channel, span, newest_first=newest_first))

    def waiting_in(self, channel: str) -> Iterator[Sequence[Row]]:
        return self._noted("waiting", super().waiting_in(channel))

    def of_channel(self, channel: str) -> Iterator[Sequence[Row]]:
        return self._noted("all", super().of_channel(channel))

    def pages(self, finding_id: str) -> Iterator[Sequence[Row]]:
        return self._noted("finding", super().pages(finding_id))

    def _noted(self, way: str, pages: Iterator[Sequence[Row]]) -> Iterator[Sequence[Row]]:
        for page in pages:
            self.read.append((way, len(page)))
            yield page

    @property
    def ways(self) -> set[str]:
        return {way for way, _ in self.read}

    @property
    def rows_read(self) -> int:
        return sum(number for _, number in self.read)


@pytest.fixture
def store() -> Pages:
    pages = Pages()
    for one in (
        record(dedup_key="due"),
        record(dedup_key="retry", status=Status.RETRYING, next_attempt_at=at(60)),
        final(dedup_key="sent", sent_at=at(5)),
        final(Status.SUPPRESSED, dedup_key="not"),
        final(Status.DEAD_LETTERED, dedup_key="dead", last_reason="http_503", finding_id="CVE-1", kind="cve"),
        final(Status.DEAD_LETTERED, dedup_key="other", channel="chat", finding_id="CVE-1", dead_lettered_at=at(9)),
    ):
        pages.add(one, NOW)
    return pages


def found(store: Pages, **wanted: object) -> list[str]:
    return keys_of(search(store, CHANNELS, Filter(**wanted)))  # type: ignore[arg-type] # well typed in each case


@pytest.mark.parametrize(
    ("wanted", "expected", "way"),
    [
        ({}, ["other", "dead", "due", "not", "retry", "sent"], {"all"}),
        ({"channel": "ops", "statuses": DEAD}, ["dead"], {"dead"}),
        ({"statuses": DEAD}, ["other", "dead"], {"dead"}),
        ({"statuses": OPEN}, ["due", "retry"], {"waiting"}),
        ({"statuses": frozenset({Status.RETRYING})}, ["retry"], {"waiting"}),
        ({"statuses": DEAD | OPEN}, ["other", "dead", "due", "retry"], {"all"}),
        ({"finding_id": "CVE-1"}, ["dead", "other"], {"finding"}),
        ({"finding_id": "CVE-1", "channel": "chat"}, ["other"], {"finding"}),
        ({"finding_id": "CVE-1", "statuses": OPEN}, [], {"finding"}),
        ({"kind": "cve"}, ["dead"], {"all"}),
        ({"reason": "http_503"}, ["dead"], {"all"}),
        ({"span": Span(at(5), None)}, ["other", "sent"], {"all"}),
        ({"span": Span(None, at(4))}, ["dead", "due", "not", "retry"], {"all"}),
        ({"statuses": DEAD, "span": Span(at(9), at(9))}, ["other"], {"dead"}),
    ],
)
def test_it_finds_what_is_meant_by_the_cheapest_way(
    store: Pages, wanted: dict[str, object], expected: list[str], way: set[str]
) -> None:
    assert found(store, **wanted) == expected
    assert store.ways == way


def test_a_findings_records_are_read_once_however_many_channels_there_are(store: Pages) -> None:
    found(store, finding_id="CVE-1")
    assert store.rows_read == 2


def test_a_record_of_a_channel_that_is_not_meant_is_left_out(store: Pages) -> None:
    assert keys_of(search(store, ["chat"], Filter(finding_id="CVE-1"))) == ["other"]


def test_the_latest_dead_letters_are_read_no_further_than_needed() -> None:
    store = Pages()
    for number in range(100):
        for channel in CHANNELS:
            dead = final(Status.DEAD_LETTERED, channel=channel, dedup_key=f"{channel}{number:03}")
            store.add(dead if channel == "chat" else _later(dead, number), NOW)
    rows = latest(store, CHANNELS, Filter(statuses=DEAD), 5)
    assert keys_of(rows) == ["ops099", "ops098", "ops097", "ops096", "ops095"]
    assert store.rows_read == 20  # a page of each
    assert len(latest(store, CHANNELS, Filter(statuses=DEAD), 500)) == 200


def _later(record: Notification, seconds: int) -> Notification:
    return final(
        Status.DEAD_LETTERED, channel=record.channel, dedup_key=record.dedup_key, dead_lettered_at=at(1 + seconds)
    )


def test_the_latest_of_anything_are_the_newest(store: Pages) -> None:
    assert keys_of(latest(store, CHANNELS, Filter(), 2)) == ["other", "sent"]
    assert keys_of(latest(store, CHANNELS, Filter(finding_id="CVE-1", statuses=DEAD), 1)) == ["other"]


@pytest.mark.parametrize(
    ("wanted", "expected"),
    [
        ({}, True),
        ({"channel": "ops"}, True),
        ({"channel": "chat"}, False),
        ({"statuses": DEAD}, True),
        ({"statuses": OPEN}, False),
        ({"reason": "unreadable"}, True),
        ({"reason": "timeout"}, False),
        ({"kind": "cve"}, False),
        ({"finding_id": "CVE-1"}, False),
        ({"span": Span(NOW, None)}, False),
    ],
)
def test_of_a_row_that_cannot_be_read_only_what_is_known_counts(wanted: dict[str, object], expected: bool) -> None:
    row = Unreadable(Key("ops", "bad"), "kind is missing", parked=True)
    assert Filter(**wanted).takes(row) is expected  # type: ignore[arg-type] # well typed in each case


def test_a_parked_row_is_found_by_the_span_of_the_index(store: Pages) -> None:
    store.plant(Key("ops", "bad"))
    store.park(Unreadable(Key("ops", "bad"), "x"), at(3))
    assert found(store, statuses=DEAD, span=Span(at(3), at(3))) == ["bad"]
    assert found(store, statuses=DEAD, span=Span(at(4), at(5))) == []
    assert found(store, span=Span(at(3), at(3))) == []


def test_the_moment_of_a_record_is_when_it_came_into_its_state() -> None:
    assert moment_of(final(sent_at=at(3), updated_at=at(9))) == at(3)
    assert moment_of(final(Status.DEAD_LETTERED, dead_lettered_at=at(4), updated_at=at(9))) == at(4)
    assert moment_of(record(updated_at=at(9))) == at(9)
