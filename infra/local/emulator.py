"""AWS's stand-in as a process of its own: started on a free loopback port, ended with all it started and wrote."""

import contextlib
import logging
import subprocess
import sys
import tempfile
import time
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from typing import IO

from infra.local.processes import REGION, ROOT, CommandFailedError, aws_environment, free_port

READY_WITHIN_SECONDS = 60
SAVED_WITHIN_SECONDS = 20
PYTHON = ROOT / ".tools" / "stack" / "bin" / "python"
JANITOR = ROOT / "infra" / "local" / "janitor.py"
WRAPPER = ROOT / "infra" / "local" / "ministack_wrapper.py"

logger = logging.getLogger(__name__)


@contextlib.contextmanager
def ministack(*, auth: bool = False, state: Path | None = None) -> Iterator[str]:
    """Run ministack while the block lasts and yield its address.

    `auth` makes it enforce IAM; `state` is a folder that it begins with, and leaves what it holds in.
    """
    port = free_port()
    endpoint_url = f"http://127.0.0.1:{port}"
    logger.info("starting the local stack on %s", endpoint_url)
    with tempfile.TemporaryFile("w+") as log, _started(port, log, auth=auth, state=state) as janitor:
        try:
            _wait_until_ready(janitor, endpoint_url, log)
            yield endpoint_url
        finally:
            # The janitor ends with its input, and leaving the `with` waits for that.
            janitor.communicate()


def _started(port: int, log: IO[str], *, auth: bool, state: Path | None) -> subprocess.Popen[str]:
    folder = tempfile.mkdtemp(prefix="redeliver-stack-")
    settings = {
        "AUTH": "true" if auth else "false",
        # It would listen on every interface otherwise.
        "BIND_HOST": "127.0.0.1",
        "GATEWAY_PORT": str(port),
        "MINISTACK_HOST": "127.0.0.1",
        "MINISTACK_REGION": REGION,
        "TMPDIR": folder,
        "LAMBDA_EXECUTOR": "local",
        # It tidies up containers on its way out; a Docker engine on this machine is none of its business.
        "DOCKER_HOST": f"unix://{folder}/no-docker.sock",
    }
    if state is not None:
        settings |= {"PERSIST_STATE": "1", "STATE_DIR": str(state), "GENTLY": str(SAVED_WITHIN_SECONDS)}
    return subprocess.Popen(
        [sys.executable, str(JANITOR), folder, str(PYTHON), str(WRAPPER)],
        env=aws_environment(f"http://127.0.0.1:{port}") | settings,
        text=True,
        # Ctrl-C is for the starter, who then closes the input.
        process_group=0,
        stdin=subprocess.PIPE,
        stdout=log,
        stderr=subprocess.STDOUT,
    )


def _wait_until_ready(janitor: subprocess.Popen[str], endpoint_url: str, log: IO[str]) -> None:
    # Not through a proxy that the environment may name.
    opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
    deadline = time.monotonic() + READY_WITHIN_SECONDS
    while time.monotonic() < deadline and janitor.poll() is None:
        with contextlib.suppress(OSError):
            opener.open(f"{endpoint_url}/_ministack/ready", timeout=2).close()
            return
        time.sleep(0.05)
    log.seek(0)
    raise CommandFailedError(f"the local stack did not start:\n{log.read()}")
