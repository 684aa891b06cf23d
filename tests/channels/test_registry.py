import subprocess
import sys

import pytest

from infra.local.processes import ROOT
from redeliver.channels import TYPES

PROGRAM = """
import sys
from redeliver.channels import TYPES
from redeliver.channels.directory import Directory
before = {name for name in TYPES if f"redeliver.channels.{name}" in sys.modules}
assert not before and "telegram" in TYPES and len(TYPES), before
for name in TYPES:
    TYPES[name].fields
loaded = {name.partition(".")[0] for name in sys.modules} & {"boto3", "apprise", "email_validator"}
assert not loaded, loaded
"""


def test_nothing_is_imported_before_it_is_needed_and_no_library_of_one_channel_by_its_type() -> None:
    subprocess.run([sys.executable, "-c", PROGRAM], check=True, env={"PYTHONPATH": str(ROOT / "layers" / "common")})


def test_an_unknown_type() -> None:
    assert "pigeon" not in TYPES
    with pytest.raises(KeyError):
        TYPES["pigeon"]
