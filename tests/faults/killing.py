"""Function processes ended in the middle of their work, as Lambda ends what is out of memory or time."""

import contextlib
import os
import random
import re
import signal
import subprocess
import time
from collections.abc import Callable, Collection, Iterator, Mapping
from pathlib import Path
from threading import Event

# One that is still starting is left alone: when a start fails, the local stack ends all processes of its function. By
# its first request it shows that it has started; where that cannot be seen, by its age.
OLD_ENOUGH = 10.0  # seconds
LOOK_EVERY = 0.5
PROC = Path("/proc/self/fd").exists()
_LINE = re.compile(r"\s*(\d+)\s+(\d+)\s+(.*)")


class Killer:
    """Kills processes of functions, by their physical names, at moments that a seed decides.

    After each it waits until `progress` has grown by `least`: on a machine where starting a process takes longer than
    the pause between two kills, nothing would ever be done.
    """

    def __init__(
        self, functions: Collection[str], seed: int, every_seconds: float, progress: Callable[[], int], least: int
    ) -> None:
        self.kills = 0
        self._functions = functions
        self._chance = random.Random(f"kills {seed}")
        self._every = every_seconds
        self._progress = progress
        self._least = least

    def run(self, stop: Event) -> None:
        """Kill until told to stop."""
        since: dict[int, float] = {}
        next_kill, reached = self._pause(), 0
        while not stop.wait(LOOK_EVERY):
            found, now = list(self._processes()), time.monotonic()
            since = {pid: since.get(pid, now) for pid in found}
            next_kill -= LOOK_EVERY
            if next_kill > 0 or self._progress() - reached < self._least:
                continue
            if started := sorted(pid for pid in found if _has_started(pid, now - since[pid])):
                with contextlib.suppress(ProcessLookupError):
                    os.kill(self._chance.choice(started), signal.SIGKILL)
                    self.kills += 1
                next_kill, reached = self._pause(), self._progress()

    def _pause(self) -> float:
        return self._every * (0.5 + self._chance.random())

    def _processes(self) -> Iterator[int]:
        """Return those that descend from this program: the stack's, since it started the stack."""
        processes = {pid: (parent, command) for pid, parent, command in _all_processes()}
        for pid, (_, command) in processes.items():
            ours = any(f"ministack-lambda-{name}-" in command for name in self._functions)
            if ours and os.getpid() in _ancestors(pid, processes):
                yield pid


def _has_started(pid: int, age: float) -> bool:
    if not PROC:
        return age >= OLD_ENOUGH
    try:
        return any(str(file.readlink()).startswith("socket:") for file in Path(f"/proc/{pid}/fd").iterdir())
    except OSError:  # it has ended meanwhile
        return False


def _ancestors(pid: int, processes: Mapping[int, tuple[int, str]]) -> Collection[int]:
    found: list[int] = []
    while pid in processes and pid not in found:
        found.append(pid)
        pid = processes[pid][0]
    return found


def _all_processes() -> Iterator[tuple[int, int, str]]:
    if PROC:  # a small Linux may have no `ps`
        yield from _in_proc()
        return
    listed = subprocess.run(["ps", "-axo", "pid=,ppid=,command="], capture_output=True, text=True, check=True).stdout
    for match in filter(None, map(_LINE.fullmatch, listed.splitlines())):
        yield int(match[1]), int(match[2]), match[3]


def _in_proc() -> Iterator[tuple[int, int, str]]:
    for folder in Path("/proc").iterdir():
        if folder.name.isdigit():
            with contextlib.suppress(OSError):  # it has ended meanwhile
                parent = int((folder / "stat").read_text().rpartition(")")[2].split()[1])
                yield int(folder.name), parent, (folder / "cmdline").read_text(errors="replace").replace("\0", " ")
