import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import ExitStack
from threading import Event, Thread

import pytest

from tests.faults.killing import OLD_ENOUGH, Killer

SLEEP = "import time; time.sleep(300)"


@pytest.fixture
def processes() -> Iterator[dict[str, subprocess.Popen[bytes]]]:
    """Processes that look like functions', and one that does not."""
    with ExitStack() as stack:
        started = {}
        for name in ("send-1", "other-1", "bystander"):
            command = name if name == "bystander" else f"/tmp/ministack-lambda-{name}-x/_worker.py"
            started[name] = stack.enter_context(subprocess.Popen([sys.executable, "-c", SLEEP, command]))
            stack.callback(started[name].kill)
        yield started


def test_only_a_function_that_is_named_and_has_started_is_killed(
    processes: dict[str, subprocess.Popen[bytes]],
) -> None:
    stop, began = Event(), time.monotonic()
    killer = Killer({"SendFunction": "send-1"}, seed=1, every_seconds=0.1, progress=lambda: 1, least=0)
    thread = Thread(target=killer.run, args=(stop,))
    thread.start()
    try:
        assert processes["send-1"].wait(60) == -9
    finally:
        stop.set()
        thread.join()
    assert time.monotonic() - began >= OLD_ENOUGH
    assert [processes[name].poll() for name in ("other-1", "bystander")] == [None, None]


def test_without_progress_nothing_is_killed(processes: dict[str, subprocess.Popen[bytes]]) -> None:
    stop = Event()
    killer = Killer({"SendFunction": "send-1"}, seed=1, every_seconds=0.1, progress=lambda: 0, least=1)
    thread = Thread(target=killer.run, args=(stop,))
    thread.start()
    time.sleep(OLD_ENOUGH + 1.5)
    stop.set()
    thread.join()
    assert processes["send-1"].poll() is None
