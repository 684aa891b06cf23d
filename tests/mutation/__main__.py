"""Break the core and the store's conditions, one small fault at a time, and name every fault that no test notices.

`python -m tests.mutation [--functions] [module…]`: all of the table, or those named, like `core/hold store/channels`;
`--functions` leaves out what a module does when it is imported, which takes longest.
"""

import os
import sys
from collections.abc import Sequence
from pathlib import Path

import pytest

from tests.mutation.session import ROOT, Mutation
from tests.mutation.table import GROUPS

FUNCTIONS = "--functions"
_SURVIVORS = Path(__file__).with_name("survivors.md")


def main(arguments: Sequence[str]) -> int:
    """Run the table; return 1 if a fault survived that `survivors.md` does not explain."""
    os.chdir(ROOT)
    names = [argument for argument in arguments if argument != FUNCTIONS]
    ended = 0
    for group in GROUPS:
        wanted = {module: only for module, only in group.modules.items() if not names or module in names}
        if wanted:
            plugin = Mutation(wanted, _SURVIVORS.read_text(), on_import=FUNCTIONS not in arguments)
            ended |= int(pytest.main(["-p", "no:terminal", "-s", *group.tests], plugins=[plugin]))
    return ended


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
