"""The benchmark runs; what it measures is no matter of a test."""

import pytest

from infra.local.processes import ROOT
from tests.benchmarks import cold_start


def test_every_function_is_measured(capsys: pytest.CaptureFixture[str]) -> None:
    cold_start.main(rounds=1)
    measured = {line.partition(":")[0] for line in capsys.readouterr().out.splitlines()}
    assert measured == {folder.name for folder in (ROOT / "functions").iterdir()}
