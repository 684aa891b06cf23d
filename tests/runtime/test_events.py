"""Every event file for `sam local invoke`, through the functions as Lambda runs them."""

import pytest

from tests.runtime.functions import Functions
from tests.stack.test_events import ANSWERS, assert_answered


@pytest.mark.parametrize("name", ANSWERS)
def test_event(functions: Functions, name: str) -> None:
    assert_answered(functions, name)
