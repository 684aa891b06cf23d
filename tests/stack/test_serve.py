"""`make local`, as its user starts and stops it."""

import json
import re
import signal
import subprocess
import sys
import time
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import boto3

from infra.local.processes import CREDENTIALS, REGION, ROOT
from infra.local.serve import CHANNEL
from infra.local.stack import STACK
from tests.stack.scene import until

NOTIFICATION = {"channel": CHANNEL, "dedup_key": "hello", "kind": "demo", "subject": "Hello", "body": "It works."}


@contextmanager
def running(state: Path) -> Iterator[Any]:
    """Run it, give a function that makes clients once it says that it is there, and stop it as Ctrl-C does."""
    log = state.parent / "serve.log"
    with log.open("w") as output:
        program = subprocess.Popen(
            [sys.executable, "-m", "infra.local.serve", str(state)],
            cwd=ROOT, stdout=output, stderr=subprocess.STDOUT, process_group=0,
        )  # fmt: skip
        try:
            until(lambda: "Ctrl-C stops it" in log.read_text() or program.poll() is not None, 120)
            assert program.poll() is None, log.read_text()
            (page,) = re.findall(r"dashboard shows it on AWS: (http://127\.0\.0\.1:\d+/)", log.read_text())
            with urllib.request.urlopen(page, timeout=10) as answer:
                assert answer.status == 200
            address = json.loads((state / "running.json").read_text())["endpoint_url"]
            yield lambda service: boto3.client(service, endpoint_url=address, region_name=REGION, **CREDENTIALS)  # type: ignore[call-overload]
        finally:
            program.send_signal(signal.SIGINT)
            program.wait(60)
    assert program.returncode == 0
    assert "what it holds is kept" in log.read_text()


def run(module: str, state: Path) -> subprocess.CompletedProcess[str]:
    """Run one of the programs to its end."""
    command = [sys.executable, "-m", f"infra.local.{module}", str(state)]
    return subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)


def send(client: Any) -> str:
    """Send the notification and return the result."""
    outputs = client("cloudformation").describe_stacks(StackName=STACK)["Stacks"][0]["Outputs"]
    (function,) = (output["OutputValue"] for output in outputs if output["OutputKey"] == "SendFunction")
    answer = client("lambda").invoke(FunctionName=function, Payload=json.dumps(NOTIFICATION))
    result: str = json.loads(answer["Payload"].read())["results"][0]["result"]
    return result


def test_what_it_holds_is_kept_from_one_time_to_the_next(tmp_path: Path) -> None:
    state = tmp_path / "state"
    with running(state) as client:
        again = run("serve", state)
        assert (again.returncode, again.stderr.startswith("it is running already: http")) == (1, True)
        command = [sys.executable, "-m", "infra.local.logs", str(state)]
        logs = subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        time.sleep(2)  # until it follows
        assert send(client) == "sent"
        assert logs.stdout is not None
        lines = iter(logs.stdout.readline, "")
        assert next(line for line in lines if "notification_sent" in line).startswith("send ")
    rest, _ = logs.communicate(timeout=60)
    assert (logs.returncode, rest.splitlines()[-1]) == (0, "the stack has stopped")
    with running(state) as client:
        assert send(client) == "duplicate"
    gone = run("logs", state)
    assert (gone.returncode, "start one with `make local`" in gone.stderr) == (1, True)
