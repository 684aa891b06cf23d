"""Child processes that leave nothing behind, and the environment they run in."""

import contextlib
import os
import signal
import socket
import subprocess
import sys
import threading
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
REGION = "eu-central-1"
# The stack takes this pair for the account's root, IAM enforced or not.
CREDENTIALS = {"aws_access_key_id": "test", "aws_secret_access_key": "test"}


class CommandFailedError(Exception):
    """A program ended with an error; the message holds what it said."""


def run(command: Sequence[str], env: Mapping[str, str]) -> str:
    """Run a program from the project's root to its end and return what it printed.

    It gets a process group of its own, which is ended as a whole when this program is told to stop meanwhile: `sam`
    has children that would otherwise go on.
    """
    child = subprocess.Popen(
        command, cwd=ROOT, env=env, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
        text=True, process_group=0,
    )  # fmt: skip
    try:
        output, _ = child.communicate()
    except BaseException:
        end_group(child)
        raise
    if child.returncode != 0:
        raise CommandFailedError(f"{' '.join(command)} ended with {child.returncode}:\n{output}")
    return output


def end_group(child: subprocess.Popen[str]) -> None:
    """End a child that leads its own process group, with everything it started."""
    with child, contextlib.suppress(ProcessLookupError):
        os.killpg(child.pid, signal.SIGKILL)


def aws_environment(endpoint_url: str | None = None) -> dict[str, str]:
    """This program's environment without anything that could lead to a real account."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("AWS_", "SAM_"))}
    return kept | {
        # sam looks for the template's python3.x on PATH, and this is it.
        "PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ.get('PATH', os.defpath)}",
        "AWS_ACCESS_KEY_ID": CREDENTIALS["aws_access_key_id"],
        "AWS_SECRET_ACCESS_KEY": CREDENTIALS["aws_secret_access_key"],
        "AWS_DEFAULT_REGION": REGION,
        "AWS_REGION": REGION,
        "AWS_CONFIG_FILE": os.devnull,
        "AWS_SHARED_CREDENTIALS_FILE": os.devnull,
        "AWS_EC2_METADATA_DISABLED": "true",
        "SAM_CLI_TELEMETRY": "0",
        # A local stack is done in less than the five seconds sam waits between two looks.
        "SAM_CLI_POLL_DELAY": "0.5",
        "NO_PROXY": "127.0.0.1",
        "no_proxy": "127.0.0.1",
        **({"AWS_ENDPOINT_URL": endpoint_url} if endpoint_url else {}),
    }


def free_port() -> int:
    """A loopback port that nobody listens on at this moment."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port


@contextlib.contextmanager
def termination_as_interrupt() -> Iterator[None]:
    """Let SIGTERM end the program as Ctrl-C does, through every `finally`; its default ends it on the spot."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = signal.signal(signal.SIGTERM, signal.default_int_handler)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)
