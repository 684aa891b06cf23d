from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from redeliver.core.outcome import (
    LONGEST_WAIT,
    Delivered,
    Gone,
    Outcome,
    Reject,
    Retry,
    from_status,
    parse_retry_after,
    worth_retrying_at_once,
)

NOW = datetime(2026, 3, 1, 12, 0, 0, tzinfo=UTC)


@pytest.mark.parametrize("status", range(100, 600))
def test_every_status_has_an_outcome(status: int) -> None:
    outcome = from_status(status, "said so", timedelta(seconds=7))
    match status // 100:
        case 2:
            assert outcome == Delivered()
        case 3:
            assert isinstance(outcome, Retry)
            assert outcome.reason == "redirect"
            assert "not followed" in outcome.error
            assert outcome.wait is None
        case _ if status == 410:
            assert outcome == Gone("http_410", "said so")
        case _:
            assert outcome == Retry(f"http_{status}", "said so", timedelta(seconds=7))


@pytest.mark.parametrize("status", range(100, 600))
def test_what_is_tried_again_at_once(status: int) -> None:
    assert worth_retrying_at_once(status) == (status in {408, 429} or status >= 500)


@pytest.mark.parametrize(
    ("value", "seconds"),
    [
        ("0", 0),
        ("7", 7),
        (" 7 ", 7),
        ("1.2", 2),
        ("2.", 2),
        (7, 7),
        (0.001, 1),
        ("Sun, 01 Mar 2026 12:00:30 GMT", 30),
        ("Sunday, 01-Mar-26 12:00:30 GMT", 30),
        ("Sun Mar  1 12:00:30 2026", 30),
        ("Sun, 01 Mar 2026 12:00:30 -0000", 30),
    ],
)
def test_waits_that_can_be_read(value: object, seconds: int) -> None:
    assert parse_retry_after(value, NOW) == timedelta(seconds=seconds)


@pytest.mark.parametrize("value", ["9" * 400, 10**400, float("inf"), "Fri, 31 Dec 9999 23:59:59 GMT", 1e300])
def test_a_wait_without_measure_is_the_longest(value: object) -> None:
    assert parse_retry_after(value, NOW) == LONGEST_WAIT


@pytest.mark.parametrize(
    "value",
    [
        *(
            None,
            "",
            "soon",
            "-1",
            -1,
            -0.5,
            float("nan"),
            True,
            "nan",
            "inf",
            "1_000",
            "1e3",
            "0x10",
            "٣",
            [7],
            {"s": 7},
        ),
        *("Sun, 01 Mar 2026 11:59:59 GMT", "Sun, 99 Mar 2026 12:00:00 GMT", "Sun, 01 Mar 99999 12:00:00 GMT"),
    ],
)
def test_nonsense_is_no_wait(value: object) -> None:
    assert parse_retry_after(value, NOW) is None


@given(st.one_of(st.text(), st.integers(), st.floats(), st.none(), st.booleans(), st.datetimes().map(str)))
def test_reading_a_wait_is_total(value: object) -> None:
    wait = parse_retry_after(value, NOW)
    assert wait is None or timedelta(0) <= wait <= LONGEST_WAIT
    assert wait is None or wait.microseconds == 0


@pytest.mark.parametrize("status", [204, 302, 404, 410, 503])
def test_an_outcome_keeps_the_status_for_the_history(status: int) -> None:
    assert from_status(status, "x").status == status


def test_a_wait_of_more_than_a_year_is_nonsense_and_cut() -> None:
    assert parse_retry_after(10**12, NOW) == timedelta(days=366)


@pytest.mark.parametrize(
    ("outcome", "with_status"),
    [
        (Delivered(), Delivered(status=200)),
        (Retry("x", "y"), Retry("x", "y", status=503)),
        (Reject("x", "y"), Reject("x", "y", 400)),
        (Gone("x", "y"), Gone("x", "y", 410)),
    ],
    ids=["delivered", "retry", "reject", "gone"],
)
def test_a_status_is_no_part_of_what_an_outcome_is(outcome: Outcome, with_status: Outcome) -> None:
    assert outcome == with_status
    assert (outcome.status, outcome.maybe_delivered) == (None, False)
