from datetime import timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from redeliver.core.backoff import delay, jittered

MINUTE = timedelta(minutes=1)
WAITS = st.timedeltas(min_value=timedelta(0))


def minutes(attempts: int, base: int, cap: int) -> float:
    return delay(attempts, base * MINUTE, cap * MINUTE) / MINUTE


def test_default_waits_are_5_10_20_40_minutes() -> None:
    assert [minutes(n, 5, 24 * 60) for n in (1, 2, 3, 4)] == [5, 10, 20, 40]


def test_base_of_a_minute_gives_1_2_4_8_16() -> None:
    assert [minutes(n, 1, 24 * 60) for n in (1, 2, 3, 4, 5)] == [1, 2, 4, 8, 16]


@pytest.mark.parametrize(
    ("attempts", "expected"),
    [(6, 32), (7, 60), (8, 60), (10**9, 60)],
    ids=["below the cap", "first at the cap", "beyond the cap", "a billion"],
)
def test_cap(attempts: int, expected: int) -> None:
    assert minutes(attempts, 1, 60) == expected


@pytest.mark.parametrize("attempts", [0, -1, -(10**9), 1])
def test_nothing_attempted_waits_like_the_first_attempt(attempts: int) -> None:
    assert minutes(attempts, 5, 60) == 5


def test_base_above_the_cap_is_cut() -> None:
    assert minutes(1, 90, 60) == 60


def test_negative_lengths_wait_nothing() -> None:
    assert delay(3, -MINUTE, MINUTE) == timedelta(0)
    assert delay(3, MINUTE, -MINUTE) == timedelta(0)


@given(st.integers(), WAITS, WAITS)
def test_total_and_within_bounds(attempts: int, base: timedelta, cap: timedelta) -> None:
    assert min(base, cap) <= delay(attempts, base, cap) <= cap


@given(st.integers(1, 10**9), WAITS, WAITS)
def test_doubles_until_the_cap(attempts: int, base: timedelta, cap: timedelta) -> None:
    wait = delay(attempts, base, cap)
    following = delay(attempts + 1, base, cap)
    assert following == (cap if wait > cap / 2 else 2 * wait) or following in (cap, 2 * wait)
    assert following >= wait


@given(WAITS)
def test_smallest_base_reaches_any_cap(cap: timedelta) -> None:
    assert delay(10**9, timedelta(microseconds=1), cap) == cap


@pytest.mark.parametrize(
    ("fraction", "chance", "expected"),
    [(0.0, 0.9, 100), (0.5, 0.0, 50), (0.5, 0.5, 100), (0.5, 1.0, 150), (1.0, 0.0, 0)],
)
def test_jitter(fraction: float, chance: float, expected: int) -> None:
    assert jittered(timedelta(seconds=100), fraction, chance) == timedelta(seconds=expected)


def test_the_least_base_passes_the_greatest_cap() -> None:
    assert delay(68, timedelta.resolution, timedelta.max) == timedelta.max
