import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import ExitStack
from threading import Event, Thread

import pytest

from tests.faults.killing import OLD_ENOUGH, PROC, Killer

SLEEP = "import time; time.sleep(300)"
AT_WORK = f"import socket; open_ = socket.socket(); {SLEEP}"


@pytest.fixture
def processes() -> Iterator[dict[str, subprocess.Popen[bytes]]]:
    """Processes that look like functions', and one that does not."""
    with ExitStack() as stack:
        started = {}
        for name, program in (("send-1", AT_WORK), ("send-2", SLEEP), ("other-1", AT_WORK), ("bystander", AT_WORK)):
            command = name if name == "bystander" else f"/tmp/ministack-lambda-{name}-x/_worker.py"
            started[name] = stack.enter_context(subprocess.Popen([sys.executable, "-c", program, command]))
            stack.callback(started[name].kill)
        yield started


def test_only_a_function_that_is_named_and_has_started_is_killed(
    processes: dict[str, subprocess.Popen[bytes]],
) -> None:
    stop = Event()
    killer = Killer(["send-1", "send-2"], seed=1, every_seconds=0.1, progress=lambda: 1, least=0)
    thread = Thread(target=killer.run, args=(stop,))
    thread.start()
    try:
        assert processes["send-1"].wait(60) == -9
        time.sleep(1.5)
    finally:
        stop.set()
        thread.join()
    assert killer.kills == 1 or not PROC
    left = ("send-2", "other-1", "bystander") if PROC else ("other-1", "bystander")
    assert not any(processes[name].poll() for name in left)


def test_without_progress_nothing_is_killed(processes: dict[str, subprocess.Popen[bytes]]) -> None:
    stop = Event()
    killer = Killer(["send-1", "send-2"], seed=1, every_seconds=0.1, progress=lambda: 0, least=1)
    thread = Thread(target=killer.run, args=(stop,))
    thread.start()
    time.sleep(2 if PROC else OLD_ENOUGH + 2)
    stop.set()
    thread.join()
    assert processes["send-1"].poll() is None
