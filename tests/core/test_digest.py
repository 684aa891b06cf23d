import pytest
from hypothesis import given
from hypothesis import strategies as st

from redeliver.core import digest
from redeliver.core.notification import Dispatch, Notification
from tests.builders import record

RECORDS = st.lists(
    st.builds(
        lambda key, channel, recipient, size: record(
            dedup_key=key, channel=channel, recipient=recipient, body="x" * size
        ),
        st.text(min_size=1),
        st.sampled_from(["a", "b"]),
        st.sampled_from([None, "1", "2"]),
        st.integers(0, 12),
    )
)


def weigh(one: Notification) -> int:
    return len(one.body)


def keys(runs: list[tuple[Notification, ...]]) -> list[list[str]]:
    return [[one.dedup_key for one in run] for run in runs]


def sized(*sizes: int) -> list[Notification]:
    return [record(dedup_key=str(n), body="x" * size) for n, size in enumerate(sizes)]


def test_groups_by_channel_and_recipient_in_order_of_arrival() -> None:
    given_ = [
        record(dedup_key="1", recipient="b"),
        record(dedup_key="2"),
        record(dedup_key="3", recipient="b"),
        record(dedup_key="4", channel="other"),
        record(dedup_key="5"),
    ]
    assert [[one.dedup_key for one in group] for group in digest.by_recipient(given_)] == [
        ["1", "3"],
        ["2", "5"],
        ["4"],
    ]


@given(RECORDS)
def test_grouping_loses_and_mixes_nothing(records: list[Notification]) -> None:
    groups = digest.by_recipient(records)
    assert sorted(map(id, (one for group in groups for one in group))) == sorted(map(id, records))
    assert all(len({(one.channel, one.recipient) for one in group}) == 1 for group in groups)


def test_split_fills_to_the_brim() -> None:
    assert keys(list(digest.split(sized(5, 5, 1), weigh, 10))) == [["0", "1"], ["2"]]


def test_split_starts_anew_one_over_the_brim() -> None:
    assert keys(list(digest.split(sized(5, 6), weigh, 10))) == [["0"], ["1"]]


def test_one_that_never_fits_goes_alone() -> None:
    assert keys(list(digest.split(sized(1, 11, 1), weigh, 10))) == [["0"], ["1"], ["2"]]


def test_nothing_splits_into_nothing() -> None:
    assert list(digest.split([], weigh, 10)) == []


@given(RECORDS, st.integers(0, 30))
def test_split_keeps_order_and_capacity(records: list[Notification], capacity: int) -> None:
    runs = list(digest.split(records, weigh, capacity))
    assert [one for run in runs for one in run] == records
    assert all(runs)
    assert all(len(run) == 1 or sum(map(weigh, run)) <= capacity for run in runs)


@given(st.integers(2, 101))
def test_halves_are_smaller_and_lose_nothing(number: int) -> None:
    whole = Dispatch(tuple(record(dedup_key=str(n)) for n in range(number)), digest=True)
    left, right = digest.halves(whole)
    assert left.members + right.members == whole.members
    assert 0 <= len(right.members) - len(left.members) <= 1
    assert left.digest
    assert right.digest
    assert len({left.batch_id, right.batch_id, whole.batch_id}) == 3


@pytest.mark.parametrize(("number", "sizes"), [(500, [500]), (501, [500, 1]), (1000, [500, 500])])
def test_no_digest_has_more_members_than_one_run_can_write(number: int, sizes: list[int]) -> None:
    records = [record(dedup_key=str(each)) for each in range(number)]
    assert [len(run) for run in digest.split(records, lambda _: 1, 10**6)] == sizes
