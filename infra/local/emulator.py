"""AWS's stand-in as a process of its own: started on a free loopback port, ended with all it started and wrote."""

import contextlib
import logging
import subprocess
import tempfile
import time
import urllib.request
from collections.abc import Iterator
from pathlib import Path

from infra.local.processes import REGION, ROOT, CommandFailedError, aws_environment, end_group, free_port

READY_WITHIN_SECONDS = 30
PYTHON = ROOT / ".tools" / "stack" / "bin" / "python"
WRAPPER = ROOT / "infra" / "local" / "ministack_wrapper.py"

logger = logging.getLogger(__name__)


@contextlib.contextmanager
def ministack(*, auth: bool = False) -> Iterator[str]:
    """Run ministack while the block lasts and yield its address; `auth` makes it enforce IAM."""
    # Functions may still write while they are ended, and the wrapper removes the folder too.
    with tempfile.TemporaryDirectory(prefix="redeliver-stack-", ignore_cleanup_errors=True) as folder:
        port = free_port()
        endpoint_url = f"http://127.0.0.1:{port}"
        log = Path(folder, "ministack.log")
        logger.info("starting the local stack on %s", endpoint_url)
        child = _start(port, Path(folder), log, auth=auth)
        try:
            _wait_until_ready(child, endpoint_url, log)
            yield endpoint_url
        finally:
            end_group(child)


def _start(port: int, folder: Path, log: Path, *, auth: bool) -> subprocess.Popen[str]:
    settings = {
        "AUTH": "true" if auth else "false",
        # It would listen on every interface otherwise.
        "BIND_HOST": "127.0.0.1",
        "GATEWAY_PORT": str(port),
        "MINISTACK_HOST": "127.0.0.1",
        "MINISTACK_REGION": REGION,
        "TMPDIR": str(folder),
        "LAMBDA_EXECUTOR": "local",
        # It tidies up containers on its way out; a Docker engine on this machine is none of its business.
        "DOCKER_HOST": f"unix://{folder}/no-docker.sock",
    }
    with log.open("w") as output:
        return subprocess.Popen(
            [str(PYTHON), str(WRAPPER), str(folder)],
            cwd=folder,
            env=aws_environment(f"http://127.0.0.1:{port}") | settings,
            text=True,
            process_group=0,
            stdin=subprocess.PIPE,
            stdout=output,
            stderr=subprocess.STDOUT,
        )


def _wait_until_ready(child: subprocess.Popen[str], endpoint_url: str, log: Path) -> None:
    # Not through a proxy that the environment may name.
    opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
    deadline = time.monotonic() + READY_WITHIN_SECONDS
    while time.monotonic() < deadline and child.poll() is None:
        with contextlib.suppress(OSError):
            opener.open(f"{endpoint_url}/_ministack/ready", timeout=2).close()
            return
        time.sleep(0.05)
    raise CommandFailedError(f"the local stack did not start:\n{log.read_text()}")
