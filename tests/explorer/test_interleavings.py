"""Every interleaving of small cases, with a death at every point: no rule is broken by any.

`python -m tests.explorer` goes deeper, and prints the counts.
"""

import pytest

from tests.explorer.case import Case
from tests.explorer.cases import CASES
from tests.explorer.search import Search


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_no_interleaving_breaks_a_rule(case: Case) -> None:
    assert Search(case).run().schedules >= case.schedules
