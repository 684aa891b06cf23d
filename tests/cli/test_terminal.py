"""A real terminal: the question before many are moved, the bar, and Ctrl-C in the middle."""

import json
import os
import pty
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

import pytest

from infra.local.processes import ROOT
from tests.cli.bare_stack import BareStack, bare_stack
from tests.cli.race import put_dead_letters

REDRIVE = ("redrive", "--reason", "http_503")


@pytest.fixture(scope="module")
def stack() -> Iterator[BareStack]:
    with bare_stack() as running:
        put_dead_letters(running, 40)
        yield running


@dataclass
class Terminal:
    """A program that has a terminal for its questions, and a pipe for its answers."""

    program: "subprocess.Popen[str]"
    screen: int

    def shows(self, text: str) -> str:
        """Return what is on the screen once it has that text."""
        seen, end = "", time.monotonic() + 60
        while text not in seen:
            assert time.monotonic() < end, seen
            seen += os.read(self.screen, 4096).decode()
        return seen

    def ends(self) -> tuple[int, str]:
        """Return the exit code and the answer."""
        answer, _ = self.program.communicate(timeout=60)
        return self.program.returncode, answer


@contextmanager
def typing(stack: BareStack, *words: str) -> Iterator[Terminal]:
    screen, inner = pty.openpty()
    command = [sys.executable, "-m", "redeliver_cli", *words]
    environment = stack.environment | {"TERM": "xterm", "COLUMNS": "100"}
    with subprocess.Popen(
        command, cwd=ROOT, env=environment, stdin=inner, stdout=subprocess.PIPE, stderr=inner, text=True
    ) as program:
        os.close(inner)
        try:
            yield Terminal(program, screen)
        finally:
            program.kill()
            os.close(screen)


def test_no_is_no(stack: BareStack) -> None:
    with typing(stack, *REDRIVE) as terminal:
        assert "40 would be sent again" in terminal.shows("Go ahead? [y/N]")
        os.write(terminal.screen, b"n\n")
        terminal.shows("nothing has been done")
        assert terminal.ends() == (1, "")


def test_ctrl_c_says_how_far_it_came_and_the_same_again_goes_on(stack: BareStack) -> None:
    with typing(stack, *REDRIVE, "--json", "--rate", "5") as terminal:
        terminal.shows("Go ahead? [y/N]")
        os.write(terminal.screen, b"y\n")
        terminal.shows("/40")  # the bar
        time.sleep(1)
        terminal.program.send_signal(signal.SIGINT)
        terminal.shows("the same command again goes on")
        code, answer = terminal.ends()
        interrupted = json.loads(answer)
        assert (code, interrupted["complete"]) == (130, False)
        assert 0 < interrupted["moved"] < 40
    with typing(stack, *REDRIVE, "--yes", "--json", "--rate", "0") as terminal:
        code, answer = terminal.ends()
        assert code == 0
        # One may have been written, and the program interrupted before it was counted.
        assert 40 - interrupted["moved"] - json.loads(answer)["moved"] in (0, 1)
