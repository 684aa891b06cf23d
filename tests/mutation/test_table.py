"""The table of the mutation run names what there is."""

from tests.mutation.session import ROOT
from tests.mutation.table import GROUPS, ON_IMPORT


def test_every_path_leads_somewhere() -> None:
    named = [test for tests in (*(group.tests for group in GROUPS), *ON_IMPORT.values()) for test in tests]
    modules = [f"layers/common/redeliver/{module}.py" for group in GROUPS for module in group.modules]
    assert [
        path for path in (*named, *modules) if path.startswith(("tests/", "layers/")) and not (ROOT / path).exists()
    ] == []
