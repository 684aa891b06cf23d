from datetime import UTC, datetime, timedelta, timezone

import pytest
from hypothesis import given
from hypothesis import strategies as st

from redeliver.core import moments
from tests.builders import NOW

MOMENTS = st.datetimes(
    min_value=datetime(1, 1, 2),  # noqa: DTZ001 - hypothesis wants it naive
    max_value=datetime(9999, 12, 30),  # noqa: DTZ001 - the same
    timezones=st.just(UTC),
)


@given(MOMENTS)
def test_floor_and_ceil_enclose_the_moment(moment: datetime) -> None:
    low, high = moments.floor(moment), moments.ceil(moment)
    assert low <= moment <= high
    assert high - low == (timedelta(0) if moment.microsecond == 0 else timedelta(seconds=1))


@given(MOMENTS)
def test_epoch_and_back_is_the_floor(moment: datetime) -> None:
    assert moments.from_epoch(moments.to_epoch(moment)) == moments.floor(moment)


@pytest.mark.parametrize("seconds", [10**11 * 3, -(10**11), 10**30], ids=["year 11476", "before year 1", "beyond C"])
def test_no_moment_outside_the_calendar(seconds: int) -> None:
    with pytest.raises(ValueError, match=r"not a moment between the years 1 and 9999|out of range"):
        moments.from_epoch(seconds)


@given(MOMENTS, st.integers(-14 * 60, 14 * 60))
def test_text_and_moment_say_the_same(moment: datetime, minutes: int) -> None:
    elsewhere = moment.astimezone(timezone(timedelta(minutes=minutes))) if 2 < moment.year < 9998 else moment
    parsed, text = moments.parse(elsewhere.isoformat())
    assert parsed == moment
    assert text == moments.text_of(moment)


@given(MOMENTS, MOMENTS)
def test_text_sorts_as_moments_do(one: datetime, other: datetime) -> None:
    assert (moments.text_of(one) < moments.text_of(other)) == (one < other)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("2026-11-30T12:00:00Z", "2026-11-30T12:00:00.000000000Z"),
        ("2026-11-30t12:00:00z", "2026-11-30T12:00:00.000000000Z"),
        ("2026-11-30 12:00:00.5Z", "2026-11-30T12:00:00.500000000Z"),
        ("2026-11-30T13:30:00+01:30", "2026-11-30T12:00:00.000000000Z"),
        ("2026-11-30T12:00:00.1234567899Z", "2026-11-30T12:00:00.123456789Z"),
        ("0999-01-01T00:00:00Z", "0999-01-01T00:00:00.000000000Z"),
    ],
)
def test_parse(text: str, expected: str) -> None:
    assert moments.parse(text)[1] == expected


@pytest.mark.parametrize(
    "text",
    [
        "", "2026-11-30", "2026-11-30T12:00:00",
        "2026-11-30T12:00Z", "20261130T120000Z", "1764504000", " 2026-11-30T12:00:00Z",
        "2026-02-30T12:00:00Z", "2026-11-30T25:00:00Z", "0000-01-01T00:00:00Z", "0001-01-01T00:00:00+23:00",
        "9999-12-31T23:59:59-23:00", "2026-11-30T12:00:00+99:00", "\uff12026-11-30T12:00:00Z", "2026-11-30T12:00:00Z\n",
    ],
)  # fmt: skip
def test_what_is_no_moment_says_so(text: str) -> None:
    with pytest.raises(ValueError, match=r"not an RFC 3339 date and time|not a moment in the calendar"):
        moments.parse(text)


def test_fractions_beyond_microseconds_are_kept_in_the_text_alone() -> None:
    moment, text = moments.parse("2026-11-30T12:00:00.000000999Z")
    assert moment == NOW
    assert text.endswith(".000000999Z")
