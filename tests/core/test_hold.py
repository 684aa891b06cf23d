from datetime import timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from redeliver.core.hold import FAILURES_IN_A_ROW, LONGEST_FAILING, failing_for


@pytest.mark.parametrize(
    ("failures", "minutes"), [(0, 0), (4, 0), (5, 1), (6, 2), (7, 4), (8, 8), (9, 16), (10, 32), (11, 60), (12, 60)]
)
def test_the_ladder(failures: int, minutes: int) -> None:
    assert failing_for(failures) == timedelta(minutes=minutes)


@given(st.integers())
def test_it_is_total_and_never_falls(failures: int) -> None:
    assert timedelta() <= failing_for(failures) <= failing_for(failures + 1) <= LONGEST_FAILING
    assert (failing_for(failures) > timedelta()) == (failures >= FAILURES_IN_A_ROW)
