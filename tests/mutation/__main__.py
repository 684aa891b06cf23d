"""Break the core and the store's conditions, one small fault at a time, and name every fault that no test notices.

`python -m tests.mutation [module…]`: all of the table, or those named, such as `core/hold store/channels`.
"""

import os
import sys
from collections.abc import Sequence
from pathlib import Path

import pytest

from tests.mutation.session import ROOT, Mutation
from tests.mutation.table import GROUPS

_SURVIVORS = Path(__file__).with_name("survivors.md")


def main(names: Sequence[str]) -> int:
    """Run the table; return 1 if a fault survived that `survivors.md` does not explain."""
    os.chdir(ROOT)
    ended = 0
    for group in GROUPS:
        wanted = {module: only for module, only in group.modules.items() if not names or module in names}
        if wanted:
            plugin = Mutation(wanted, _SURVIVORS.read_text())
            ended |= int(pytest.main(["-p", "no:terminal", "-s", *group.tests], plugins=[plugin]))
    return ended


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
